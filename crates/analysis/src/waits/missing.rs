//! Ranks of which calls are missing, and the calls of others that may have waited for them.
//!
//! A stream is missing or empty, or ends before the run does: the file was cut, the disk was full, the process died. What
//! others did with such a rank after its last recorded call has no partner in the trace. How long they waited for it is
//! unknown, so they are not to blame for these calls.

use super::meetings::Meetings;
use straggler_model::{Rank, Time, parallel};
use straggler_trace::messages::{CallPlace, Messages, Received, Sent};
use straggler_trace::operations::Operations;
use straggler_trace::{Class, RankTrace, Trace};

/// A rank of which calls are missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct MissingRank {
    pub rank: Rank,
    /// When its last recorded call ended, since the first call of the run; none if it has no calls.
    #[serde(rename = "end_seconds", serialize_with = "straggler_model::time::in_seconds")]
    pub end: Option<Time>,
}

/// What is missing of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Missing {
    pub ranks: Vec<MissingRank>,
    /// From the first to the last call of all ranks.
    pub length: Time,
    /// By rank: the calls that may have waited for a call that is missing, ascending. Empty if nothing is missing.
    calls: Vec<Vec<u32>>,
}

/// Ranks that lack less than this share of the run are not listed: a process that is killed loses its last calls.
const LITTLE: f64 = 0.01;

impl Missing {
    pub fn new(trace: &Trace) -> Missing {
        let open: Vec<bool> = parallel::map_list(&trace.ranks, is_open);
        if !open.contains(&true) {
            return Missing::default();
        }
        let operations: Vec<Operations<'_>> = parallel::map_list(&trace.ranks, Operations::new);
        let mut found = Lacking { open, lacks: vec![false; trace.ranks.len()], calls: Vec::new() };
        found.messages(&Messages::of_operations(trace, &operations));
        for meetings in Meetings::new(trace, &operations) {
            found.collectives(&meetings, &operations);
        }
        let begin = trace.ranks.iter().filter_map(|rank| Some(rank.calls.first()?.enter)).min();
        let begin = begin.unwrap_or_default();
        let end = |rank: &RankTrace| Some(rank.calls.iter().map(|call| call.exit).max()?.since(begin));
        let length = trace.ranks.iter().filter_map(end).max().unwrap_or_default();
        let ranks = (0..).zip(&trace.ranks).filter_map(|(rank, traced)| match end(traced) {
            None => Some(MissingRank { rank, end: None }),
            end => found.lacks[rank as usize].then_some(MissingRank { rank, end }),
        });
        let ranks = ranks.filter(|missing| missing.share(length) >= LITTLE).collect();
        Missing { ranks, length, calls: found.by_rank(trace.ranks.len()) }
    }

    /// Whether a call may have waited for a call that is missing.
    pub fn holds(&self, place: CallPlace) -> bool {
        let of_rank = self.calls.get(place.rank as usize);
        of_rank.is_some_and(|calls| calls.binary_search(&place.call).is_ok())
    }

    /// The largest share of the run that is missing of a rank.
    pub fn share(&self) -> f64 {
        self.ranks.iter().map(|missing| missing.share(self.length)).fold(0.0, f64::max)
    }
}

impl MissingRank {
    fn share(&self, length: Time) -> f64 {
        let end = self.end.unwrap_or_default().seconds();
        if length > Time::ZERO { 1.0 - end / length.seconds() } else { 1.0 }
    }
}

/// Whether calls may follow the last one.
fn is_open(rank: &RankTrace) -> bool {
    !rank.calls.iter().rev().any(|call| call.function.class() == Class::Finalize)
}

/// What lacks a partner.
struct Lacking {
    /// By rank: whether calls may be missing.
    open: Vec<bool>,
    /// By rank: whether another rank has calls without a partner there.
    lacks: Vec<bool>,
    calls: Vec<CallPlace>,
}

impl Lacking {
    fn without(&mut self, partner: Rank, calls: impl IntoIterator<Item = CallPlace>) {
        let at = partner as usize;
        if self.open.get(at) == Some(&true) {
            self.lacks[at] = true;
            self.calls.extend(calls);
        }
    }

    fn messages(&mut self, messages: &Messages) {
        for sent @ Sent { place, to, .. } in &messages.lost {
            let done = sent.done().map(|call| CallPlace { call, ..*place });
            self.without(*to, done.into_iter().chain([*place]));
        }
        for received @ Received { place, from, .. } in &messages.awaited {
            let done = received.done().map(|call| CallPlace { call, ..*place });
            self.without(*from, done.into_iter().chain([*place]));
        }
    }

    /// Collectives that some members have called and others have not.
    fn collectives(&mut self, meetings: &Meetings, operations: &[Operations<'_>]) {
        for &rank in &meetings.lacking {
            let places =
                meetings.alone(operations).flat_map(|part| part.completed.into_iter().chain([part.come]));
            self.without(rank, places);
        }
    }

    fn by_rank(mut self, ranks: usize) -> Vec<Vec<u32>> {
        self.calls.sort_unstable();
        self.calls.dedup();
        let mut all = vec![Vec::new(); ranks];
        for place in self.calls {
            all.get_mut(place.rank as usize).into_iter().for_each(|calls| calls.push(place.call));
        }
        all
    }
}
