//! What a node's noise costs a collective or a program at scale, and which of its causes to remove first.
//!
//! ```text
//!  Noise (detours with causes) ─► programs: slowdown over processes and interval between synchronisations
//!                              │   └► one of them without each cause
//!                              ├► curves: slowdown of one operation over processes ─► inflection point
//!                              └► the same without each cause, at two scales ─► ranking
//! ```
//! A run without a cause meets the same draws as the run it is compared with: traces keep their places and lengths, so
//! only the removed detours are missing. The number of replicas of a point depends on the results alone. The speed of
//! the machine only limits the largest scale that is simulated (`limit.rs`).

mod ahead;
mod asked;
mod curve;
mod limit;
mod noise;
mod program_removal;
mod programs;
mod rarity;
mod removal;
mod repeated;
mod variation;

pub use ahead::Stage;
pub use asked::Asked;
pub use curve::{Curve, LeftOut, Point, Why};
pub use limit::TimeLimit;
use noise::MOST_IN_WALLCLOCK;
pub use noise::{CauseId, CauseName, Noise, Stream};
pub use program_removal::{ProgramRanking, ProgramRemoval};
pub use programs::{INTERVALS, ProgramPoint};
pub use removal::{Ranking, Removal};
pub use repeated::cost_of_repeating;
pub use variation::{Part, Variation};

use crate::inflection::{LEAST_REPLICAS, inflection_point};
use std::ops::Range;
use straggler_model::Time;
use straggler_noise::{DetoursError, Injection, Phases, Source};
use straggler_schedule::collectives::CollectiveError;
use straggler_sim::outcome::RunError;
use straggler_sim::{Replicas, Run, Stuck, Workload};

/// The question: what to assess, and how thoroughly.
pub struct Question<'a> {
    /// Has no noise; the assessment adds it.
    pub runner: Replicas<'a>,
    pub seed: u64,
    pub noise: &'a Noise,
    /// Removals are simulated for the first of them only.
    pub asked: &'a [Asked],
    /// Computation between two of the first of them, for programs that repeat it.
    pub intervals: &'a [Time],
    /// Noise is the bottleneck where the median slowdown is above this.
    pub threshold: f64,
    pub effort: Effort,
    /// Time limit for all simulations.
    pub limit: TimeLimit<'a>,
    /// Called before each simulation.
    pub begins: &'a dyn Fn(Stage<'_>),
}

impl std::fmt::Debug for Question<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Question")
            .field("asked", &self.asked)
            .field("effort", &self.effort)
            .finish_non_exhaustive()
    }
}

/// How much is simulated.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Effort {
    /// Most replicas of a point.
    pub most_replicas: u32,
    /// Replicas of a point deliver at most this many messages, unless the fewest replicas deliver more.
    pub messages: u64,
    /// A point is settled when its interval is narrower than this share of the slowdown.
    pub precision: f64,
    /// Causes whose removal is simulated at each scale.
    pub causes: usize,
    /// A point gets no more replicas when they would cost more than this many messages without noise.
    pub point_work: u64,
    /// A curve ends where the extra cost of noise at its points exceeds this many messages without noise. The cost of
    /// the requested runs without noise does not count.
    pub curve_work: u64,
    /// The removals at one scale may cost this many messages without noise; otherwise a smaller scale is used.
    pub removal_work: u64,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort {
            most_replicas: 60,
            messages: 10_000_000,
            precision: 0.2,
            causes: 4,
            point_work: 200_000_000,
            curve_work: 400_000_000,
            removal_work: 300_000_000,
        }
    }
}

impl Effort {
    /// A twentieth of the work, for a first look: wider intervals.
    pub fn quick() -> Effort {
        let all = Effort::default();
        Effort {
            messages: all.messages / 20,
            point_work: all.point_work / 20,
            curve_work: all.curve_work / 20,
            removal_work: all.removal_work / 20,
            ..all
        }
    }
}

/// The result of an assessment.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct AssessAnswer {
    /// By ascending number of processes, then in the order of the intervals; empty for a schedule or a trace.
    pub programs: Vec<ProgramPoint>,
    /// One of them without each of the largest causes.
    pub program_ranking: Option<ProgramRanking>,
    pub curves: Vec<Curve>,
    /// At the inflection point of the first curve, and at the largest affordable scale.
    pub rankings: Vec<Ranking>,
    /// How much the answer depends on when the noise was measured; none for noise that was not measured.
    pub variation: Option<Variation>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AssessError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Detours(#[from] DetoursError),
    #[error(transparent)]
    Collective(#[from] CollectiveError),
    #[error("on {processes} processes some ranks never finish, or messages are never received")]
    Stuck { processes: u32, stuck: Box<Stuck> },
}

impl Question<'_> {
    pub fn answer(&self) -> Result<AssessAnswer, AssessError> {
        let sources = self.noise.sources(&[])?;
        let programs = match self.asked.first() {
            Some(asked) => self.programs(asked, &sources)?,
            None => Vec::new(),
        };
        let program_ranking = match self.asked.first() {
            Some(asked) => self.program_ranking(asked, &programs)?,
            None => None,
        };
        let mut curves: Vec<Curve> = Vec::with_capacity(self.asked.len());
        for (index, asked) in self.asked.iter().enumerate() {
            let curve = match self.twin(index).and_then(|twin| curves.get(twin)) {
                Some(twin) => twin.shared_by(&asked.name),
                None => self.curve(index, asked, &sources)?,
            };
            curves.push(curve);
        }
        let rankings = match (self.asked.first(), curves.first()) {
            (Some(asked), Some(curve)) => {
                self.rankings(asked, curve, program_ranking.as_ref().map(|ranking| &ranking.all))?
            }
            _ => Vec::new(),
        };
        let variation = match (self.asked.first(), curves.first()) {
            (Some(asked), Some(curve)) => self.variation(asked, curve)?,
            _ => None,
        };
        Ok(AssessAnswer { programs, program_ranking, curves, rankings, variation })
    }

    fn begin(&self, what: &str, processes: u32, ahead: u64) {
        (self.begins)(Stage { what, processes, ahead });
    }

    /// Memory of the largest runs in bytes, including those that run in parallel.
    pub fn memory_bytes(&self) -> u64 {
        // Any noise will do: only its presence matters.
        let runner = self.runner.with_noise(Injection::QUIET);
        let all = self.asked.iter().flat_map(|asked| &asked.scales);
        let each = |workload| runner.memory_bytes(workload, self.most_replicas(workload) as usize);
        all.map(each).max().unwrap_or(0)
    }

    /// The first earlier entry with the same schedule at every scale.
    fn twin(&self, index: usize) -> Option<usize> {
        let asked = self.asked.get(index)?;
        self.asked.iter().take(index).position(|other| asked.is_same_as(other))
    }

    /// The makespan of each replica with these sources.
    fn makespans(
        &self,
        workload: &Workload,
        sources: &[Source],
        replicas: Range<u32>,
    ) -> Result<Vec<Time>, AssessError> {
        let phases = Phases::Drawn { seed: self.seed, replica: 0 };
        let sources = sources.to_vec();
        let mut noise = Injection { sources, phases, wallclock: false, computation_only: false };
        // A part of the measurement can have more noise than all of it.
        noise.wallclock = self.noise.is_in_wallclock() && noise.largest_share() <= MOST_IN_WALLCLOCK;
        let runs = self
            .runner
            .with_noise(&noise)
            .each_makespan(workload, replicas, |_, run| finished(workload, run))?;
        runs.into_iter().collect()
    }

    fn most_replicas(&self, workload: &Workload) -> u32 {
        let affordable = self.effort.messages / workload.messages().max(1);
        (affordable.min(u64::from(self.effort.most_replicas)) as u32).max(LEAST_REPLICAS)
    }

    /// The cost of the removals at one scale, in messages without noise.
    fn removal_work(&self, workload: &Workload, point: &Point) -> u64 {
        let runs = u64::from(point.replicas) * (self.effort.causes + removal::STEPS - 1) as u64;
        work(workload.messages().saturating_mul(runs), point.slowdown.median)
    }

    /// If a program was ranked, the same causes are removed.
    fn rankings(
        &self,
        asked: &Asked,
        curve: &Curve,
        program: Option<&ProgramPoint>,
    ) -> Result<Vec<Ranking>, AssessError> {
        let points: Vec<_> = curve.points.iter().zip(&asked.scales).collect();
        let in_time = |point: &Point| self.has_time_for_removals(point);
        let affordable = |(point, workload): &&(&Point, &Workload)| {
            self.removal_work(workload, point) <= self.effort.removal_work && in_time(point)
        };
        let largest = points.iter().rev().find(affordable).map(|(point, _)| point.processes);
        let inflection = curve.inflection.filter(|&at| curve.at(at).is_some_and(in_time));
        let mut scales: Vec<u32> = inflection.into_iter().chain(largest).collect();
        scales.dedup();
        let mut points = points.into_iter().filter(|(point, _)| scales.contains(&point.processes)).peekable();
        let mut rankings = Vec::with_capacity(scales.len());
        while let Some((point, workload)) = points.next() {
            let later = points.peek().map_or(0, |(point, workload)| self.ranking_messages(workload, point));
            let later = later.saturating_add(self.of_variation(asked));
            rankings.push(self.ranking(workload, point, program, later)?);
        }
        Ok(rankings)
    }
}

/// The makespan; an error if a process never finishes or a message is never received.
fn finished(workload: &Workload, run: Run) -> Result<Time, AssessError> {
    let processes = workload.processes();
    match run.outcome.stuck {
        Some(stuck) => Err(AssessError::Stuck { processes, stuck: Box::new(stuck) }),
        None => Ok(run.outcome.makespan()),
    }
}

impl Curve {
    fn new(name: &str, points: Vec<Point>, threshold: f64) -> Curve {
        let slowdowns: Vec<_> = points.iter().map(|point| (point.processes, point.slowdown)).collect();
        let inflection = inflection_point(&slowdowns, threshold);
        Curve { name: name.into(), same_as: None, inflection, points, left_out: None }
    }
}

/// The cost of messages under noise, in messages without noise. Noise spreads them over a longer time; in
/// measurements, a slowdown of 50 doubled the cost of a message. Once a message is alone in its window, its cost no
/// longer grows.
fn work(messages: u64, slowdown: f64) -> u64 {
    (messages as f64 * (1.0 + slowdown.clamp(0.0, MOST_SCATTERED) / 50.0)) as u64
}

/// A slowdown at which every message is alone in its window.
const MOST_SCATTERED: f64 = 500.0;

/// Core time that a run exposes to noise.
fn exposure(processes: u32, makespan: Time) -> f64 {
    f64::from(processes) * makespan.seconds()
}

#[cfg(test)]
mod tests;
