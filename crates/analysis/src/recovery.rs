//! How much redundant exchanges recover of the time that noise in communication costs (Chen and Suda).
//!
//! Three runs with the same noise: the conventional butterfly, the redundant one, and a quiet one in which noise
//! affects computation but not communication. No change to the exchange can beat the quiet run, so the recovery ratio
//! is (conventional - redundant) / (conventional - quiet).

use std::ops::Range;
use straggler_model::Time;
use straggler_model::stats::{CONFIDENCE, MeanInterval, mean_interval};
use straggler_noise::Injection;
use straggler_sim::outcome::RunError;
use straggler_sim::programs::{Butterfly, Redundancy};
use straggler_sim::{Replicas, Workload};

/// A butterfly in cycles, and when its redundant form sends additional messages.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    pub conventional: Butterfly,
    pub redundancy: Redundancy,
}

/// One run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    pub makespan: Time,
    pub messages: u64,
}

/// Three runs with the same noise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trial {
    pub conventional: Case,
    pub redundant: Case,
    pub quiet: Case,
}

impl Trial {
    /// The share of the loss that is recovered; none if noise in communication costs nothing.
    pub fn ratio(&self) -> Option<f64> {
        let [conventional, redundant, quiet] =
            [self.conventional, self.redundant, self.quiet].map(|case| case.makespan.ps() as f64);
        (conventional > quiet).then(|| (conventional - redundant) / (conventional - quiet))
    }
}

impl Experiment {
    fn redundant(&self) -> Butterfly {
        self.conventional.with_redundancy(self.redundancy)
    }

    /// Upper limit on the messages of a trial.
    pub fn messages(&self) -> u64 {
        self.conventional.messages().saturating_mul(2).saturating_add(self.redundant().messages())
    }

    /// Runs all three cases for each replica of the noise.
    pub fn trials(
        &self,
        runner: &Replicas<'_>,
        noise: &Injection,
        replicas: Range<u32>,
    ) -> Result<Vec<Trial>, RunError> {
        let processes = Workload::Butterfly(self.conventional).processes();
        runner.spread(processes, replicas, |replica, threads| {
            let noise = noise.of_replica(replica);
            let spared = Injection { computation_only: true, ..noise.clone() };
            Ok(Trial {
                conventional: case(runner, self.conventional, Some(&noise), threads)?,
                redundant: case(runner, self.redundant(), Some(&noise), threads)?,
                quiet: case(runner, self.conventional, Some(&spared), threads)?,
            })
        })
    }

    /// The conventional and the redundant butterfly without noise: the cost of redundancy.
    pub fn undisturbed(&self, runner: &Replicas<'_>) -> Result<[Case; 2], RunError> {
        let threads = runner.threads;
        Ok([case(runner, self.conventional, None, threads)?, case(runner, self.redundant(), None, threads)?])
    }
}

/// Runs one butterfly.
fn case(
    runner: &Replicas<'_>,
    butterfly: Butterfly,
    noise: Option<&Injection>,
    threads: usize,
) -> Result<Case, RunError> {
    let outcome = runner.run(&Workload::Butterfly(butterfly), noise, threads)?.outcome;
    Ok(Case { makespan: outcome.makespan(), messages: outcome.messages })
}

/// The mean recovery ratio of all trials with something to recover.
pub fn mean_ratio(trials: &[Trial]) -> Option<MeanInterval> {
    let ratios: Vec<f64> = trials.iter().filter_map(Trial::ratio).collect();
    mean_interval(&ratios, CONFIDENCE)
}
