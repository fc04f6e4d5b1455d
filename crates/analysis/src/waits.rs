//! Wait states: time that ranks spent in MPI because other ranks were late.
//!
//! The patterns and their limits are those of Scalasca's trace analyser, as its documentation describes them and
//! version 2.6 counts them (Wolf, Geimer et al.; scalasca.org). A wait belongs to the call in which the rank waited;
//! for nonblocking messages, the call that completed them. If one call completes many, only the longest wait counts,
//! so that no wait exceeds its call and none is counted twice.
//!
//! The same code analyses recorded and simulated runs.

mod activities;
mod causes;
mod collectives;
mod critical_path;
mod efficiency;
mod explanation;
mod late;
mod late_receivers;
mod locations;
mod meetings;
mod messages;
mod missing;
mod regions;
#[cfg(test)]
mod tests;
mod times;
mod unanalysed;

pub use activities::{Activities, Activity};
pub use causes::{Cause, root_causes};
pub use critical_path::{CriticalPath, PathActivity, PathPart, Stretch};
pub use efficiency::Efficiency;
pub use explanation::Explanation;
pub(crate) use meetings::is_ordered;
pub use messages::messages_by_receiver;
pub use missing::{Missing, MissingRank};
pub use regions::{RegionWaits, Regions, WaitsIn};
pub use times::RankTimes;
pub use unanalysed::unanalysed;

use rayon::prelude::*;
use std::cmp::Reverse;
use straggler_model::{Time, parallel};
use straggler_trace::messages::{CallPlace, Message};
use straggler_trace::operations::Operations;
use straggler_trace::{Class, Trace};

/// Why a rank waited.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Pattern {
    /// A receive was entered before its send.
    LateSender,
    /// A send stayed in its call until the receive was posted.
    LateReceiver,
    /// In a barrier: the wait until the last rank has entered, and the time from when the first has left.
    WaitAtBarrier,
    BarrierCompletion,
    /// The same in other collectives in which every rank needs the data of all others.
    WaitAtNxn,
    NxnCompletion,
    /// Waited for the root of a broadcast or scatter.
    LateBroadcast,
    /// The root of a reduction or gather waited for the last sender.
    EarlyReduce,
    /// Waited for a lower rank in a prefix reduction.
    EarlyScan,
}

impl Pattern {
    pub const ALL: [Pattern; 9] = [
        Pattern::LateSender,
        Pattern::LateReceiver,
        Pattern::WaitAtBarrier,
        Pattern::BarrierCompletion,
        Pattern::WaitAtNxn,
        Pattern::NxnCompletion,
        Pattern::LateBroadcast,
        Pattern::EarlyReduce,
        Pattern::EarlyScan,
    ];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Pattern::LateSender => "late_sender",
            Pattern::LateReceiver => "late_receiver",
            Pattern::WaitAtBarrier => "wait_at_barrier",
            Pattern::BarrierCompletion => "barrier_completion",
            Pattern::WaitAtNxn => "wait_at_nxn",
            Pattern::NxnCompletion => "nxn_completion",
            Pattern::LateBroadcast => "late_broadcast",
            Pattern::EarlyReduce => "early_reduce",
            Pattern::EarlyScan => "early_scan",
        }
    }
}

/// A wait of one rank in one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    pub place: CallPlace,
    pub pattern: Pattern,
    pub time: Time,
    /// The call of the late rank, if there is one.
    pub cause: Option<CallPlace>,
    /// For a late sender: a message sent earlier was received later.
    pub wrong_order: bool,
}

/// All waits of a run, by rank and call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WaitStates {
    pub waits: Vec<Wait>,
    pub ranks: Vec<RankTimes>,
}

/// Number and total time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Total {
    pub count: u64,
    pub time: Time,
}

impl WaitStates {
    pub fn new(trace: &Trace) -> WaitStates {
        let operations: Vec<Operations<'_>> = parallel::map_list(&trace.ranks, Operations::new);
        let messages = messages_by_receiver(trace, &operations);
        WaitStates::with(trace, &operations, &messages)
    }

    /// The same with operations and [messages](messages_by_receiver) that were computed before.
    pub fn with(trace: &Trace, operations: &[Operations<'_>], messages: &[Vec<Message>]) -> WaitStates {
        let of_messages =
            || (messages::waits(trace, messages), late_receivers::waits(trace, operations, messages));
        let ((senders, receivers), (mut blocking, mut nonblocking)) =
            rayon::join(of_messages, || collectives::waits(trace, operations));
        blocking.par_sort_unstable_by_key(|wait| (wait.place, wait.pattern));
        nonblocking.par_sort_unstable_by_key(|wait| (wait.place, wait.pattern));
        let mut waits = one_a_call(trace, [senders, receivers, nonblocking].concat());
        waits.extend(blocking);
        // A stable sort, because it profits from lists that are already sorted.
        waits.sort_by_key(|wait| wait.place);
        let ranks = times::of_ranks(trace, &waits);
        WaitStates { waits, ranks }
    }

    /// Number and time of waits, by rank and by pattern in the order of [`Pattern::ALL`], and of late senders in wrong
    /// order.
    pub fn totals(&self) -> Vec<Totals> {
        let mut all = vec![Totals::default(); self.ranks.len()];
        for wait in &self.waits {
            let of_rank = &mut all[wait.place.rank as usize];
            of_rank.patterns[wait.pattern as usize].add(wait.time);
            if wait.wrong_order {
                of_rank.wrong_order.add(wait.time);
            }
        }
        all
    }

    /// The same over all ranks.
    pub fn total(&self) -> Totals {
        self.totals().iter().fold(Totals::default(), |mut sum, of_rank| {
            let pairs = sum.patterns.iter_mut().zip(&of_rank.patterns);
            pairs
                .chain([(&mut sum.wrong_order, &of_rank.wrong_order)])
                .for_each(|(sum, more)| sum.join(more));
            sum
        })
    }
}

/// If a call waited for several ranks, only the longest wait counts. In a wait for requests, a late receiver counts
/// only if nothing else does, as in Scalasca, which ignores late receivers there.
fn one_a_call(trace: &Trace, mut waits: Vec<Wait>) -> Vec<Wait> {
    waits.sort_by_key(|wait| wait.place);
    let goes_last = |wait: &Wait| {
        let class = trace.call(wait.place).map(|call| call.function.class());
        wait.pattern == Pattern::LateReceiver && matches!(class, Some(Class::Wait(_)))
    };
    let together = waits.chunk_by(|one, next| one.place == next.place);
    let first = together.filter_map(|together| match together {
        [one] => Some(*one),
        many => many.iter().min_by_key(|wait| (goes_last(wait), Reverse(wait.time), wait.pattern)).copied(),
    });
    first.collect()
}

/// The waits of one rank or of all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    patterns: [Total; Pattern::ALL.len()],
    /// Included in the late senders.
    pub wrong_order: Total,
}

impl Totals {
    pub fn get(&self, pattern: Pattern) -> Total {
        self.patterns[pattern as usize]
    }
}

impl Total {
    pub fn add(&mut self, time: Time) {
        self.join(&Total { count: 1, time });
    }

    fn join(&mut self, other: &Total) {
        *self = Total { count: self.count + other.count, time: self.time + other.time };
    }
}
