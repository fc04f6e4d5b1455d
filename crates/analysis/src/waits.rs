//! Wait states: time that ranks spent in MPI because others were not there yet.
//!
//! The patterns and their limits are those of Scalasca's trace analyser, as its documentation describes them and version 2.6
//! counts them (Wolf, Geimer et al.; scalasca.org). A wait belongs to the call in which the rank stayed: of nonblocking
//! messages, the call that completed them. Of one call that completes many, only the longest wait counts, so that no
//! wait exceeds its call and none is counted twice.
//!
//! The same code looks at recorded runs and at simulated ones.

mod collectives;
mod messages;
#[cfg(test)]
mod tests;

use straggler_model::Time;
use straggler_trace::Trace;
use straggler_trace::messages::Place;
use straggler_trace::operations::Operations;
use straggler_trace::profile::Profile;

/// Why a rank waited.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Pattern {
    /// A receive was entered before its send.
    LateSender,
    /// A send stayed in its call until the receive was posted.
    LateReceiver,
    /// In a barrier: until the last had come, and from when the first had left.
    WaitAtBarrier,
    BarrierCompletion,
    /// The same in other collectives in which everybody needs everybody's data.
    WaitAtNxn,
    NxnCompletion,
    /// Waited for the root of a broadcast or scatter.
    LateBroadcast,
    /// The root of a reduction or gather waited for the last that sends.
    EarlyReduce,
    /// Waited for a rank before it in a prefix reduction.
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

    /// As programs know it.
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

/// How well a run used its processes (the POP project's factors): each is one at best.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Efficiency {
    /// The mean computation of a rank, as a share of that of the busiest.
    pub load_balance: f64,
    /// The computation of the busiest rank, as a share of the run.
    pub communication: f64,
    /// The product of the two: the share of the run in which ranks compute.
    pub parallel: f64,
}

/// One rank waited in one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    pub place: Place,
    pub pattern: Pattern,
    pub time: Time,
    /// The call of the rank that came late, where there is one.
    pub cause: Option<Place>,
    /// Of a late sender: another message that had been sent before was received later.
    pub wrong_order: bool,
}

/// All waits of a run, by rank and call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WaitStates {
    pub waits: Vec<Wait>,
    pub ranks: Vec<RankTimes>,
}

/// How a rank spent its run: computing, waiting, and in MPI otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RankTimes {
    pub run: Time,
    pub computation: Time,
    pub waiting: Time,
    pub communication: Time,
}

/// How often, and how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Total {
    pub count: u64,
    pub time: Time,
}

impl WaitStates {
    pub fn of(trace: &Trace) -> WaitStates {
        let operations = Operations::of_trace(trace);
        let mut waits = messages::waits(trace, &operations);
        waits.extend(collectives::waits(trace));
        waits.sort_by_key(|wait| (wait.place, wait.pattern));
        let mut waiting = vec![Time::ZERO; trace.ranks.len()];
        for wait in &waits {
            waiting[wait.place.rank as usize] += wait.time;
        }
        let ranks = Profile::of(trace).ranks.into_iter().zip(waiting).map(|(rank, waiting)| RankTimes {
            run: rank.application(),
            computation: rank.application().since(rank.mpi),
            waiting,
            communication: rank.mpi.since(waiting),
        });
        WaitStates { waits, ranks: ranks.collect() }
    }

    /// Of the ranks that are there; none where nobody computed.
    pub fn efficiency(&self) -> Option<Efficiency> {
        let there: Vec<&RankTimes> = self.ranks.iter().filter(|rank| rank.run > Time::ZERO).collect();
        let of = |time: fn(&RankTimes) -> Time| there.iter().map(move |rank| time(rank).seconds());
        let run = of(|rank| rank.run).fold(0.0, f64::max);
        let most = of(|rank| rank.computation).fold(0.0, f64::max);
        let mean = of(|rank| rank.computation).sum::<f64>() / there.len().max(1) as f64;
        let efficiency =
            Efficiency { load_balance: mean / most, communication: most / run, parallel: mean / run };
        (most > 0.0).then_some(efficiency)
    }

    /// How often and how long ranks waited, by rank and pattern in the order of [`Pattern::ALL`], and of late senders in
    /// wrong order.
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

    /// The same of all ranks together.
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

/// The waits of a rank or of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    patterns: [Total; Pattern::ALL.len()],
    /// A part of the late senders.
    pub wrong_order: Total,
}

impl Totals {
    pub fn of(&self, pattern: Pattern) -> Total {
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
