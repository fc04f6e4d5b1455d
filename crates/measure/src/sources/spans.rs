//! Determines from kernel events who had a core when.
//!
//! Activities nest: a softirq runs inside an interrupt, an interrupt inside the run of a thread. At any
//! instant the innermost has the core, so each gets the time it had for itself, and the spans of a core never
//! overlap. While the measuring thread runs undisturbed there is no span.
//!
//! There are two kinds of events. Most mark beginnings and ends, which a stack tracks. The osnoise tracer
//! reports only an end and the duration net of interruptions; going back from the end over time not yet
//! assigned finds where the activity ran (`net.rs`).

use super::ftrace_text::{Activity, Event, FtraceKind};
use super::names::{self, Names};
use std::collections::HashMap;

mod net;

pub use net::resolve_net;

/// A span in which something other than the measuring thread had the core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    pub start: u64,
    pub end: u64,
    /// A number in the list of names.
    pub name: u32,
}

/// The activities of one core.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CoreSpans {
    /// Sorted, never overlapping.
    pub spans: Vec<Span>,
    /// When page faults of the measuring thread began.
    pub faults: Vec<u64>,
}

impl CoreSpans {
    fn push(&mut self, start: u64, end: u64, name: u32) {
        if start >= end {
            return;
        }
        match self.spans.last_mut() {
            Some(last) if last.end == start && last.name == name => last.end = end,
            _ => self.spans.push(Span { start, end, name }),
        }
    }
}

/// Processes the events of one core, in order of time. `worker` is the measuring thread there, `units_per_ns`
/// the number of units of the events' clock per nanosecond.
pub fn resolve(events: &[Event<'_>], worker: Option<i32>, units_per_ns: f64, names: &mut Names) -> CoreSpans {
    let mut core = Following::new(worker, units_per_ns, names);
    for event in events {
        core.follow(event);
    }
    core.found
}

struct Frame<'a> {
    activity: Activity<'a>,
    name: u32,
}

struct Following<'a, 'n> {
    names: &'n mut Names,
    worker: Option<i32>,
    units_per_ns: f64,
    /// The thread that has the core below all interrupts; `None` until the first event.
    thread: Option<i32>,
    /// Whether the measuring thread was still runnable when it lost the core.
    worker_runnable: bool,
    threads: HashMap<i32, u32>,
    stack: Vec<Frame<'a>>,
    /// Softirqs of threads that lost the core in the middle of one (kernels with PREEMPT_RT).
    suspended: HashMap<i32, Vec<Frame<'a>>>,
    since: u64,
    found: CoreSpans,
}

impl<'a, 'n> Following<'a, 'n> {
    fn new(worker: Option<i32>, units_per_ns: f64, names: &'n mut Names) -> Self {
        Following {
            names,
            worker,
            units_per_ns,
            thread: None,
            worker_runnable: true,
            threads: HashMap::new(),
            stack: Vec::new(),
            suspended: HashMap::new(),
            since: 0,
            found: CoreSpans::default(),
        }
    }

    fn follow(&mut self, event: &Event<'a>) {
        // Events of one core are in order; clocks that step back must not make spans overlap.
        let at = event.at.max(self.since);
        if let FtraceKind::Took { nanoseconds, activity, .. } = event.what {
            return self.took(at, nanoseconds, &activity);
        }
        self.give(at);
        if self.thread != Some(event.thread) {
            // The first event, or a switch was lost: every event states the running thread. Some kernels
            // never report a switch away from an idle core.
            self.run(event.thread);
            self.know(event.thread, event.name);
        }
        match event.what {
            FtraceKind::Enter(activity) => self.enter(activity),
            FtraceKind::Leave(activity) => self.leave(&activity),
            FtraceKind::Switch { from, from_runnable, to, name } => {
                self.switch(from, from_runnable, to, name)
            }
            // Faults of others are part of their run.
            FtraceKind::PageFault if self.worker == Some(event.thread) => self.found.faults.push(at),
            FtraceKind::PageFault => {}
            FtraceKind::Took { .. } | FtraceKind::Sample { .. } | FtraceKind::Mark(_) => {}
        }
    }

    /// Charges the time since the last event to the activity that had the core.
    fn give(&mut self, at: u64) {
        if let Some(name) = self.owner() {
            self.found.push(self.since, at, name);
        }
        self.since = at;
    }

    fn owner(&mut self) -> Option<u32> {
        if let Some(frame) = self.stack.last() {
            return Some(frame.name);
        }
        let thread = self.thread?;
        if self.worker == Some(thread) {
            return None;
        }
        if thread == 0 {
            let idle = if self.worker_runnable { names::QUOTA } else { names::ASLEEP };
            return Some(self.names.number(idle));
        }
        self.threads.get(&thread).copied()
    }

    /// Records a thread's name from its event, unless a switch has already given one.
    fn know(&mut self, thread: i32, name: &[u8]) {
        if thread != 0 && !name.is_empty() && !self.threads.contains_key(&thread) {
            let number = self.names.thread(thread, name);
            self.threads.insert(thread, number);
        }
    }

    fn run(&mut self, thread: i32) {
        self.thread = Some(thread);
        self.stack.clear();
    }

    fn enter(&mut self, activity: Activity<'a>) {
        // Entered again inside itself: the end of the first was lost.
        if let Some(open) = self.stack.iter().position(|frame| frame.activity.same(&activity)) {
            self.stack.truncate(open);
        }
        let name = self.names.activity(&activity);
        self.stack.push(Frame { activity, name });
    }

    fn leave(&mut self, activity: &Activity<'a>) {
        // An end without a beginning began before the trace.
        if let Some(open) = self.stack.iter().rposition(|frame| frame.activity.same(activity)) {
            self.stack.truncate(open);
        }
    }

    fn switch(&mut self, from: i32, from_runnable: bool, to: i32, name: &[u8]) {
        if self.worker == Some(from) {
            self.worker_runnable = from_runnable;
        }
        // Interrupts end before a thread can lose the core; only softirqs can be interrupted by a switch.
        let mut open = std::mem::take(&mut self.stack);
        open.retain(|frame| matches!(frame.activity, Activity::Softirq(_)));
        if !open.is_empty() {
            self.suspended.insert(from, open);
        }
        let number = self.names.thread(to, name);
        self.threads.insert(to, number);
        self.run(to);
        self.stack = self.suspended.remove(&to).unwrap_or_default();
    }

    /// Adds an activity that is reported only at its end and was not interrupted.
    fn took(&mut self, at: u64, nanoseconds: u64, activity: &Activity<'_>) {
        let length = (nanoseconds as f64 * self.units_per_ns) as u64;
        self.give(at.saturating_sub(length).max(self.since));
        let name = self.names.activity(activity);
        self.found.push(self.since, at, name);
        self.since = at;
    }
}

#[cfg(test)]
mod tests;
