//! When threads are in the regions that the program marks.

use crate::Function;
use crate::trace::RankTrace;
use straggler_model::Time;

/// A region, from the call that enters it to the one that leaves it, or to the end of its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionSpan<'a> {
    /// The call that enters it.
    pub call: u32,
    pub thread: u16,
    pub name: &'a str,
    pub start: Time,
    pub end: Time,
}

impl<'a> RegionSpan<'a> {
    /// The regions of a rank, in the order in which they are entered. A leave ends the last region of its name.
    pub fn new(rank: &'a RankTrace) -> Vec<RegionSpan<'a>> {
        let mut found: Vec<RegionSpan<'a>> = Vec::new();
        // The open regions of all threads, and when each thread ends.
        let (mut open, mut ends): (Vec<usize>, Vec<Time>) = (Vec::new(), Vec::new());
        for (number, call) in (0..).zip(&rank.calls) {
            let thread = usize::from(call.thread);
            ends.resize(ends.len().max(thread + 1), Time::ZERO);
            ends[thread] = ends[thread].max(call.exit);
            let name = || rank.details(call).and_then(|details| details.text.as_deref()).unwrap_or_default();
            match call.function {
                Function::RegionEnter => {
                    open.push(found.len());
                    let (start, end) = (call.enter, Time::NEVER);
                    found.push(RegionSpan { call: number, thread: call.thread, name: name(), start, end });
                }
                Function::RegionLeave => {
                    let is_it = |&at: &usize| found[at].thread == call.thread && found[at].name == name();
                    if let Some(place) = open.iter().rposition(is_it) {
                        found[open.remove(place)].end = call.enter;
                    }
                }
                _ => {}
            }
        }
        for at in open {
            found[at].end = ends[usize::from(found[at].thread)];
        }
        found
    }
}
