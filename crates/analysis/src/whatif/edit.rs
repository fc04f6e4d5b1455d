//! Edits traces: removes, inserts or changes calls. The time of a removed call disappears; the computation before it
//! moves before the next call.

use std::collections::HashMap;
use straggler_model::Time;
use straggler_trace::{Call, Class, Details, Marks, RankTrace};

/// The calls of a rank during editing.
pub struct Editor {
    rank: RankTrace,
    /// The details of its marks.
    marks: Marks,
    threads: HashMap<u16, Thread>,
}

#[derive(Default)]
struct Thread {
    /// Its position in the original trace, and in the edited one.
    traced: Time,
    now: Time,
    /// Start and end of its last call in the original trace, and the start in the edited one.
    last: Option<(Time, Time, Time)>,
    /// Marks since the last call, each with the computation before it: a mark does not end a computation.
    marks: Vec<(Time, Call, Option<Details>)>,
    /// The computation after these marks.
    computed: Time,
}

impl Editor {
    /// Starts with a rank that has no calls.
    pub fn new(traced: &RankTrace) -> Editor {
        let rank = RankTrace {
            host: traced.host.clone(),
            cores: traced.cores.clone(),
            clock: traced.clock,
            unknown: traced.unknown.clone(),
            usage: traced.usage,
            ..RankTrace::default()
        };
        Editor { rank, marks: Marks::default(), threads: HashMap::new() }
    }

    fn thread(&mut self, call: &Call) -> &mut Thread {
        let (traced, now) = (call.enter, call.enter);
        self.threads.entry(call.thread).or_insert(Thread { traced, now, ..Thread::default() })
    }

    /// Adds the computation of the thread up to a call.
    pub fn compute_up_to(&mut self, call: &Call) {
        let thread = self.thread(call);
        thread.computed += call.enter.since(thread.traced);
        thread.traced = thread.traced.max(call.exit);
    }

    /// Adds computation to the thread of a call.
    pub fn compute(&mut self, call: &Call, time: Time) {
        self.thread(call).computed += time;
    }

    /// The computation of the thread since its last call.
    pub fn computed(&self, thread: u16) -> Time {
        let Some(thread) = self.threads.get(&thread) else { return Time::ZERO };
        thread.marks.iter().fold(thread.computed, |sum, (before, ..)| sum + *before)
    }

    /// Appends a call after `part` of the pending computation; the rest follows the call.
    pub fn push_after(&mut self, mut part: Time, call: &Call, details: Option<Details>) {
        let thread = self.thread(call);
        let mut marks = std::mem::take(&mut thread.marks);
        let count = marks
            .iter()
            .take_while(|(before, ..)| {
                let fits = *before <= part;
                part = if fits { part.since(*before) } else { part };
                fits
            })
            .count();
        let later = marks.split_off(count);
        for (before, mark, details) in marks {
            self.place(before, &mark, details);
        }
        let thread = self.thread(call);
        thread.marks = later;
        let rest = thread.marks.first_mut().map_or(&mut thread.computed, |(before, ..)| before);
        let part = part.min(*rest);
        *rest = rest.since(part);
        self.place(part, call, details);
    }

    /// Appends a call after all pending computation.
    pub fn push(&mut self, call: &Call, details: Option<Details>) {
        if call.function.class() == Class::Mark {
            let thread = self.thread(call);
            let before = std::mem::take(&mut thread.computed);
            thread.marks.push((before, *call, details));
        } else {
            self.push_after(self.computed(call.thread), call, details);
        }
    }

    /// Appends a call `after` the end of the last one of its thread.
    fn place(&mut self, after: Time, call: &Call, details: Option<Details>) {
        let (length, old) = (call.exit.since(call.enter), call.enter);
        let thread = self.thread(call);
        // Calls that overlap because they were counted together keep their relative position.
        let beside =
            thread.last.filter(|(began, ended, _)| after == Time::ZERO && (*began..*ended).contains(&old));
        let enter = beside.map_or(thread.now + after, |(began, _, now)| now + old.since(began));
        thread.now = thread.now.max(enter + length);
        thread.last = Some((old, call.exit, enter));
        let call = Call { enter, exit: enter + length, details: Call::NO_DETAILS, ..*call };
        match details {
            Some(mut details) => {
                details.move_moment(old, enter);
                let details = self.marks.place(call.function, details, &mut self.rank.details);
                self.rank.push(Call { details, ..call });
            }
            None => self.rank.push(call),
        }
    }

    pub fn finish(mut self) -> RankTrace {
        let left = self.threads.values_mut().flat_map(|thread| std::mem::take(&mut thread.marks));
        for (before, mark, details) in left.collect::<Vec<_>>() {
            self.place(before, &mark, details);
        }
        self.rank
    }
}
