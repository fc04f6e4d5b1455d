//! Waits that another rank caused, by rank and call.

use super::Wait;
use straggler_model::{Rank, Time, parallel};
use straggler_trace::Trace;
use straggler_trace::messages::CallPlace;

/// A wait that another rank caused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Late {
    pub(super) place: CallPlace,
    pub(super) cause: CallPlace,
    pub(super) time: Time,
    /// When it ended, but not before earlier waits of the rank.
    pub(super) end: Time,
}

/// The waits of all ranks in one list.
pub(super) struct Lates {
    pub(super) list: Vec<Late>,
    /// The first wait of each rank.
    starts: Vec<usize>,
}

impl Lates {
    pub(super) fn new(trace: &Trace, waits: &[Wait]) -> Lates {
        let late = |wait: &Wait| {
            let cause = wait.cause.filter(|&cause| trace.call(cause).is_some())?;
            let end = trace.call(wait.place)?.enter + wait.time;
            Some(Late { place: wait.place, cause, time: wait.time, end })
        };
        let mut list: Vec<Late> = parallel::flat_map(waits.len(), |at| late(&waits[at]));
        // Calls of several threads may overlap.
        for at in 1..list.len() {
            let before = list[at - 1];
            if before.place.rank == list[at].place.rank {
                list[at].end = list[at].end.max(before.end);
            }
        }
        let start = |rank: Rank| list.partition_point(|wait| wait.place.rank < rank);
        Lates { starts: (0..=trace.processes()).map(start).collect(), list }
    }

    /// The waits of a rank in calls from one to before another, as a range of the list.
    pub(super) fn between(&self, rank: Rank, from: u32, to: u32) -> std::ops::Range<usize> {
        let place = |rank: Rank| self.starts.get(rank as usize).copied().unwrap_or(self.list.len());
        let (start, end) = (place(rank), place(rank.saturating_add(1)));
        let waits = &self.list[start..end];
        let end = start + waits.partition_point(|wait| wait.place.call < to);
        // Most ranges are short: search for the start backwards from the end, in doubling steps.
        let mut step = 1;
        while end >= start + step && self.list[end - step].place.call >= from {
            step *= 2;
        }
        let low = end.saturating_sub(step).max(start);
        low + self.list[low..end].partition_point(|wait| wait.place.call < from)..end
    }
}
