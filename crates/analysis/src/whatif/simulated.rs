//! Turns a replay into a trace: the same calls, at the times of the simulation, with the decisions made there. This
//! also applies to runs re-enacted with real messages.
//!
//! Calls that are part of the replay get its times. The others, whose time is part of the computation, keep their
//! proportional positions between these. So every analysis of recorded runs also works for simulated ones: wait
//! states, profiles, timelines.

mod decided;
mod unneeded;

use std::collections::HashMap;
use straggler_model::Time;
use straggler_schedule::traced::{Instruction, TracedRank, TracedRun};
use straggler_sim::programs::Replayed;
use straggler_trace::{Class, RankTrace, Trace};

/// The note in a simulated trace.
const SIMULATED: &str = "synthetic: simulated from a trace, no program was run";

/// The simulated run of `recording`, which was read from `trace`, with or without noise. The trace is changed into
/// this run.
pub fn simulated(trace: Trace, recording: &TracedRun, replayed: &[Replayed], noiseless: bool) -> Trace {
    let mut trace = retimed(trace, recording, replayed, noiseless);
    if !trace.notes.iter().any(|note| note.starts_with("synthetic")) {
        trace.notes.push(SIMULATED.to_owned());
    }
    trace
}

/// The note in a re-enacted trace.
const REENACTED: &str = "replayed: the messages of a trace are real, its computation is waiting for as long";

/// The run in which processes re-enacted `recording`, which was read from `trace`, with real messages.
pub fn reenacted(trace: Trace, recording: &TracedRun, replayed: &[Replayed]) -> Trace {
    let mut trace = retimed(trace, recording, replayed, false);
    trace.notes.retain(|note| !note.starts_with("replayed: "));
    trace.notes.push(REENACTED.to_owned());
    trace
}

fn retimed(mut trace: Trace, recording: &TracedRun, replayed: &[Replayed], noiseless: bool) -> Trace {
    let origin = recording.origin();
    for ((rank, recorded), replayed) in trace.ranks.iter_mut().zip(recording.ranks()).zip(replayed) {
        Known::new(rank, recorded, replayed, origin, noiseless).retime(rank);
    }
    decided::apply(&mut trace, recording, replayed);
    for ((recorded, replayed), rank) in recording.ranks().iter().zip(replayed).zip(&mut trace.ranks) {
        unneeded::remove(recorded, replayed, rank);
        // Processor usage of the traced run does not apply to this one.
        rank.usage = None;
    }
    trace
}

/// The simulated times of a rank's calls.
struct Known {
    /// Start and end of each call; none if it is not part of the simulation.
    times: Vec<Option<(Time, Time)>>,
    /// Where the clock of the recording starts in the trace.
    origin: Time,
    /// The end of the simulation of this rank.
    end: Time,
}

/// A moment on the clock of the trace, and the same on that of the simulation.
#[derive(Clone, Copy)]
struct Anchor {
    traced: Time,
    simulated: Time,
}

impl Known {
    fn new(
        traced: &RankTrace,
        recorded: &TracedRank,
        replayed: &Replayed,
        origin: Time,
        noiseless: bool,
    ) -> Known {
        let mut times: Vec<Option<(Time, Time)>> = vec![None; traced.calls.len()];
        let mut end = origin;
        let both = replayed.entered.iter().zip(&replayed.left);
        // The last call.
        let mut before = None;
        for ((number, instruction), (&entered, &left)) in (0..).zip(recorded.instructions()).zip(both) {
            if entered == Time::NEVER || left == Time::NEVER {
                continue;
            }
            let (entered, left) = (origin + entered, origin + left);
            end = end.max(left);
            match *instruction {
                Instruction::Poll { .. } => {}
                // Time beyond the computation itself is overhead of earlier messages and belongs to the last call.
                Instruction::Calc(time) if noiseless => {
                    let began = left - time;
                    let last = before.take().and_then(|call: usize| times[call].as_mut());
                    last.into_iter().for_each(|(_, last)| *last = began.max(*last));
                }
                Instruction::Calc(_) => before = None,
                _ => {
                    let call = recorded.origin(number) as usize;
                    let Some(times) = times.get_mut(call) else { continue };
                    let (first, last) = times.unwrap_or((entered, left));
                    *times = Some((first.min(entered), last.max(left)));
                    before = Some(call);
                }
            }
        }
        Known { times, origin, end }
    }

    /// Gives the calls of a rank their new times.
    fn retime(&self, rank: &mut RankTrace) {
        // The calls of each thread, in order.
        let mut threads: HashMap<u16, Vec<usize>> = HashMap::new();
        for (number, call) in rank.calls.iter().enumerate() {
            threads.entry(call.thread).or_default().push(number);
        }
        for calls in threads.values() {
            self.retime_thread(calls, rank);
        }
        for details in &mut rank.details {
            details.moment = None;
        }
    }

    fn retime_thread(&self, calls: &[usize], rank: &mut RankTrace) {
        let mut before = Anchor { traced: self.origin, simulated: self.origin };
        let mut from = 0;
        for (place, &number) in calls.iter().enumerate() {
            let traced = rank.calls[number];
            let is_end = traced.function.class() == Class::Finalize;
            let known = self.times[number].or(is_end.then_some((self.end, self.end)));
            let Some((enter, exit)) = known else { continue };
            let after = Anchor { traced: traced.enter, simulated: enter.max(before.simulated) };
            calls[from..place].iter().for_each(|&between| move_call(rank, between, before, after));
            let call = &mut rank.calls[number];
            (call.enter, call.exit) = (after.simulated, exit.max(after.simulated));
            before = Anchor { traced: traced.exit, simulated: call.exit };
            from = place + 1;
        }
        for &number in calls.get(from..).unwrap_or_default() {
            let call = &mut rank.calls[number];
            (call.enter, call.exit) = (later(call.enter, before), later(call.exit, before));
        }
    }
}

/// A time after the last anchor.
fn later(time: Time, before: Anchor) -> Time {
    before.simulated + time.since(before.traced)
}

fn move_call(rank: &mut RankTrace, number: usize, before: Anchor, after: Anchor) {
    let call = &mut rank.calls[number];
    let old = call.exit.since(call.enter);
    call.enter = between(call.enter, before, after);
    call.exit = between(call.exit, before, after);
    let new = call.exit.since(call.enter);
    // If calls were counted together, the time inside them shrinks in proportion.
    let details = rank.details.get_mut(call.details as usize);
    if let Some(repeated) = details.and_then(|details| details.rare.get_mut()?.repeated.as_mut()) {
        repeated.inside = share_of(repeated.inside, new, old);
    }
}

/// `part`·`new`/`old`.
fn share_of(part: Time, new: Time, old: Time) -> Time {
    match old.ps() {
        0 => Time::ZERO,
        old => Time((u128::from(part.ps()) * u128::from(new.ps()) / u128::from(old)) as u64),
    }
}

/// A time between two anchors, in proportion. Times before the start of the clock stay.
fn between(time: Time, before: Anchor, after: Anchor) -> Time {
    if time < before.traced {
        return time.min(before.simulated);
    }
    let (whole, part) = (after.traced.since(before.traced).ps(), time.since(before.traced).ps());
    let length = after.simulated.since(before.simulated);
    before.simulated + share_of(length, Time(part.min(whole)), Time(whole))
}
