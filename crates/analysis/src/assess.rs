//! What a node's noise costs a collective at scale, and which of its causes to remove first.
//!
//! ```text
//!  Noise (detours with causes) ─► curves: slowdown over processes ─► inflection point
//!                              └► the same without each cause, at two scales ─► ranking
//! ```
//! Every run of a removal meets the same draws as the run it is compared with: traces keep their places and
//! lengths, so that only the removed detours are missing. How many replicas a point gets depends on the
//! numbers alone, never on the speed of the machine.

mod curve;
mod noise;
mod removal;

pub use curve::{Curve, Point};
pub use noise::{CauseId, CauseName, Noise, Stream};
pub use removal::{Ranking, Removal};

use crate::inflection::{LEAST_REPLICAS, inflection_point};
use std::ops::Range;
use straggler_model::Time;
use straggler_model::noise::{DetoursError, Injection, Phases, Source};
use straggler_schedule::collectives::{Collective, CollectiveError, Job, Operation, barrier};
use straggler_schedule::steps::Steps;
use straggler_schedule::workloads::choose_default;
use straggler_sim::outcome::RunError;
use straggler_sim::{Replicas, Workload};

/// What is to be assessed, and how thoroughly.
#[derive(Debug)]
pub struct Question<'a> {
    /// Without noise: that is what is asked about.
    pub runner: Replicas<'a>,
    pub seed: u64,
    pub noise: &'a Noise,
    /// Removals are tried on the first of them.
    pub operations: &'a [Operation],
    /// Of the data of each operation but the barrier.
    pub bytes: u64,
    /// Numbers of processes, ascending.
    pub scales: &'a [u32],
    /// Noise is the bottleneck where the median slowdown is above this.
    pub threshold: f64,
    pub effort: Effort,
}

/// How much is simulated.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Effort {
    /// A point has no more replicas than this,
    pub most_replicas: u32,
    /// nor so many that they deliver more messages than this, unless an interval needs them.
    pub messages: u64,
    /// A point is settled when its interval is narrower than this share of the slowdown.
    pub precision: f64,
    /// Causes whose removal is simulated at each scale.
    pub causes: usize,
    /// A curve ends where its next point would cost more than so many messages without noise.
    pub point_work: u64,
    /// The removals at the largest scale may cost as much as so many messages without noise; if they would
    /// cost more, they are done at a smaller scale.
    pub removal_work: u64,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort {
            most_replicas: 60,
            messages: 10_000_000,
            precision: 0.2,
            causes: 4,
            point_work: 3_000_000_000,
            removal_work: 1_000_000_000,
        }
    }
}

/// What was found.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Answer {
    pub curves: Vec<Curve>,
    /// At the inflection point of the first operation, and at the largest scale at which it is affordable.
    pub rankings: Vec<Ranking>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AssessError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Collective(#[from] CollectiveError),
    #[error(transparent)]
    Detours(#[from] DetoursError),
}

impl Question<'_> {
    pub fn answer(&self) -> Result<Answer, AssessError> {
        let sources = self.noise.sources(&[])?;
        let mut curves: Vec<Curve> = Vec::with_capacity(self.operations.len());
        for &operation in self.operations {
            let twin = curves.iter().find(|curve| self.alike(operation, curve.operation));
            let curve = match twin {
                Some(twin) => twin.shared_by(operation),
                None => self.curve(operation, &sources)?,
            };
            curves.push(curve);
        }
        let rankings = match curves.first() {
            Some(first) => self.rankings(first)?,
            None => Vec::new(),
        };
        Ok(Answer { curves, rankings })
    }

    /// Messages that will be delivered, at most: the effort's limit, or what the least replicas need.
    pub fn messages(&self) -> u64 {
        let points = self.operations.iter().flat_map(|&operation| {
            let twin = self.operations.iter().take_while(|&&other| other != operation);
            let shared = twin.clone().any(|&other| self.alike(operation, other));
            self.scales.iter().filter(move |_| !shared).map(move |&processes| (operation, processes))
        });
        let curves: u64 =
            points.map(|(operation, processes)| self.point_messages(operation, processes)).sum();
        let removals = match (self.operations.first(), self.scales.last()) {
            (Some(&operation), Some(&processes)) => self.point_messages(operation, processes),
            _ => 0,
        };
        curves.saturating_add(removals.saturating_mul(self.effort.causes as u64 + removal::STEPS as u64 - 1))
    }

    /// When all have finished, for each replica of these sources.
    fn makespans(
        &self,
        collective: &Collective,
        sources: &[Source],
        replicas: Range<u32>,
    ) -> Result<Vec<Time>, RunError> {
        let phases = Phases::Drawn { seed: self.seed, replica: 0 };
        let sources = sources.to_vec();
        let noise = Injection { sources, phases, wallclock: false, computation_only: false };
        self.runner.with_noise(&noise).makespans(&Workload::once(collective.clone()), replicas)
    }

    fn point_messages(&self, operation: Operation, processes: u32) -> u64 {
        self.collective(operation, processes).map_or(0, |collective| {
            let each = collective.messages();
            each.saturating_mul(u64::from(self.most_replicas(&collective)) + 1)
        })
    }

    fn most_replicas(&self, collective: &Collective) -> u32 {
        let affordable = self.effort.messages / collective.messages().max(1);
        (affordable.min(u64::from(self.effort.most_replicas)) as u32).max(LEAST_REPLICAS)
    }

    fn collective(&self, operation: Operation, processes: u32) -> Result<Collective, CollectiveError> {
        let bytes = if operation == Operation::Barrier { barrier::BYTES } else { self.bytes };
        let job = Job::new(processes, bytes);
        choose_default(operation, &job).build(operation, &job)
    }

    /// Whether two operations are the same schedule at every scale: a barrier and an allreduce of one byte
    /// by dissemination are.
    fn alike(&self, one: Operation, other: Operation) -> bool {
        self.scales.iter().all(|&processes| {
            match (self.collective(one, processes), self.collective(other, processes)) {
                (Ok(Collective::Dissemination(one)), Ok(Collective::Dissemination(other))) => one == other,
                _ => false,
            }
        })
    }

    /// What the removals at one scale cost, in messages of a run without noise.
    fn removal_work(&self, operation: Operation, point: &Point) -> u64 {
        let messages = self.collective(operation, point.processes).map_or(0, |all| all.messages());
        let runs = u64::from(point.replicas) * (self.effort.causes + removal::STEPS - 1) as u64;
        work(messages.saturating_mul(runs), point.slowdown.median)
    }

    fn rankings(&self, curve: &Curve) -> Result<Vec<Ranking>, AssessError> {
        let affordable =
            |point: &&Point| self.removal_work(curve.operation, point) <= self.effort.removal_work;
        let largest = curve.points.iter().rev().find(affordable).map(|point| point.processes);
        let mut scales: Vec<u32> = curve.inflection.into_iter().chain(largest).collect();
        scales.dedup();
        let points = curve.points.iter().filter(|point| scales.contains(&point.processes));
        points.map(|point| self.ranking(curve.operation, point)).collect()
    }
}

impl Curve {
    fn new(operation: Operation, points: Vec<Point>, threshold: f64) -> Curve {
        let slowdowns: Vec<_> = points.iter().map(|point| (point.processes, point.slowdown)).collect();
        Curve { operation, same_as: None, inflection: inflection_point(&slowdowns, threshold), points }
    }
}

/// What messages cost when noise slows them down, in messages without noise: noise scatters them over the time
/// it adds, and a slowdown of 50 was seen to double the cost of a message.
fn work(messages: u64, slowdown: f64) -> u64 {
    (messages as f64 * (1.0 + slowdown.max(0.0) / 50.0)) as u64
}

/// Core time that a run exposes to noise.
fn exposure(processes: u32, makespan: Time) -> f64 {
    f64::from(processes) * makespan.seconds()
}

#[cfg(test)]
mod tests;
