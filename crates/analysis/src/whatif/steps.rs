//! The steps of a run: what ranks compute between synchronisations.
//!
//! A step ends at a blocking collective of all ranks. If there are none, it ends where ranks wait for messages, provided
//! that all ranks do so equally often.

use super::computation::Gaps;
use super::regions::Presence;
use straggler_model::{Time, parallel};
use straggler_trace::{Call, Class, RankTrace, Start, Trace};

/// With fewer steps, nothing can be said about how they differ.
const FEWEST: u32 = 4;
/// Computation varies from step to step if one distribution for all steps leaves less than this share of the imbalance.
const FIXED: f64 = 0.5;
/// And if another rank is slowest than in the step before in at least this share of the uneven steps.
const CHANGES: f64 = 0.1;

/// By rank and call: the step that the computation before the call belongs to.
pub(super) struct Steps {
    ranks: Vec<Vec<u32>>,
    count: u32,
}

impl Steps {
    /// None if ranks do not synchronise equally often, or too rarely.
    pub fn new(trace: &Trace) -> Option<Steps> {
        let is_of_all = |call: &Call| {
            trace
                .communicators
                .get(call.comm.index())
                .is_some_and(|comm| comm.members.len() == trace.ranks.len())
        };
        let together = |call: &Call| {
            matches!(call.function.class(), Class::Collective(_, Start::Blocking)) && is_of_all(call)
        };
        Steps::ending(trace, together).or_else(|| Steps::ending(trace, waits))
    }

    fn ending(trace: &Trace, ends: impl Fn(&Call) -> bool + Sync) -> Option<Steps> {
        let of_rank = |rank: &RankTrace| {
            let mut step = 0;
            let number = |call: &Call| {
                let own = step;
                step += u32::from(ends(call));
                own
            };
            (rank.calls.iter().map(number).collect::<Vec<u32>>(), step)
        };
        let (ranks, counts): (Vec<Vec<u32>>, Vec<u32>) =
            parallel::map_list(&trace.ranks, of_rank).into_iter().unzip();
        let count = *counts.first()?;
        let alike = counts.iter().all(|&other| other == count);
        (alike && count >= FEWEST).then_some(Steps { ranks, count: count + 1 })
    }

    /// The selected computation of a rank, as entries by step.
    pub fn entries(&self, rank: usize, chosen: &Presence) -> Presence {
        chosen.iter().zip(&self.ranks[rank]).map(|(chosen, &step)| chosen.map(|_| step)).collect()
    }
}

/// Whether a call waits for messages.
fn waits(call: &Call) -> bool {
    matches!(
        call.function.class(),
        Class::Wait(_)
            | Class::Recv(Start::Blocking)
            | Class::Sendrecv(Start::Blocking)
            | Class::Collective(_, Start::Blocking)
    )
}

/// How unevenly ranks compute.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Variation {
    /// What the slowest rank of each step computes beyond the mean of the ranks, summed over all steps.
    pub by_step: f64,
    /// What the slowest rank of the whole run computes beyond the mean, in seconds like the above.
    pub overall: f64,
    /// The share of uneven steps in which another rank is slowest than in the uneven step before.
    changes: f64,
}

impl Variation {
    /// None if the run has no steps.
    pub fn new(trace: &Trace) -> Option<Variation> {
        let steps = Steps::new(trace)?;
        let gaps = Gaps::new(trace);
        let ranks = trace.ranks.len() as f64;
        // By step: the longest computation and its rank, and the sum over all ranks.
        let mut longest = vec![(Time::ZERO, 0); steps.count as usize];
        let mut sums = vec![0.0; steps.count as usize];
        let mut most: f64 = 0.0;
        for (rank, own) in steps.ranks.iter().enumerate() {
            let mut times = vec![Time::ZERO; steps.count as usize];
            own.iter().zip(gaps.of_rank(rank)).for_each(|(&step, &gap)| times[step as usize] += gap);
            most = most.max(times.iter().map(|time| time.seconds()).sum());
            for ((longest, sum), time) in longest.iter_mut().zip(&mut sums).zip(times) {
                *longest = (*longest).max((time, rank));
                *sum += time.seconds();
            }
        }
        let uneven: Vec<f64> =
            longest.iter().zip(&sums).map(|((time, _), sum)| time.seconds() - sum / ranks).collect();
        let by_step: f64 = uneven.iter().sum();
        let typical = by_step / uneven.len() as f64;
        let slowest = longest.iter().zip(&uneven).filter(|(_, uneven)| **uneven >= typical / 2.0);
        let slowest: Vec<usize> = slowest.map(|((_, rank), _)| *rank).collect();
        let changes = slowest.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let changes = changes as f64 / (slowest.len().max(2) - 1) as f64;
        Some(Variation { by_step, overall: most - sums.iter().sum::<f64>() / ranks, changes })
    }

    /// Whether ranks take turns in being slow, so that no fixed distribution balances them.
    pub fn is_from_step_to_step(&self) -> bool {
        self.overall < FIXED * self.by_step && self.changes >= CHANGES
    }
}
