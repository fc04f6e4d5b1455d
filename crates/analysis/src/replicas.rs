//! Runs of one collective with noise drawn again and again: small ones side by side, large ones one after
//! another on all threads. The numbers are the same either way.

use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use straggler_model::noise::{Injection, Phases, Source};
use straggler_model::{Network, Time};
use straggler_schedule::collectives::Collective;
use straggler_schedule::steps::Steps;
use straggler_sim::outcome::RunError;
use straggler_sim::{Control, Progress, Simulation};

/// Up to this many processes a run is too small to keep several threads busy.
const SMALL: u32 = 1 << 16;

/// What runs have in common.
pub struct Runner<'a> {
    pub network: &'a Network,
    pub seed: u64,
    pub threads: usize,
    pub stop: &'a AtomicBool,
    /// Told how many more messages were delivered.
    pub advance: &'a (dyn Fn(u64) + Sync),
}

impl std::fmt::Debug for Runner<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner")
            .field("seed", &self.seed)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

impl Runner<'_> {
    /// When all have finished without noise.
    pub fn quiet(&self, collective: &Collective) -> Result<Time, RunError> {
        self.run(collective, None, self.threads)
    }

    /// When all have finished, for each replica.
    pub fn makespans(
        &self,
        collective: &Collective,
        noise: &[Source],
        replicas: Range<u32>,
    ) -> Result<Vec<Time>, RunError> {
        let one = |replica, threads| {
            let phases = Phases::Drawn { seed: self.seed, replica };
            let injection =
                Injection { sources: noise.to_vec(), phases, wallclock: false, computation_only: false };
            self.run(collective, Some(&injection), threads)
        };
        if collective.processes() <= SMALL && self.threads > 1 && replicas.len() > 1 {
            replicas.into_par_iter().map(|replica| one(replica, 1)).collect()
        } else {
            replicas.map(|replica| one(replica, self.threads)).collect()
        }
    }

    fn run(
        &self,
        collective: &Collective,
        noise: Option<&Injection>,
        threads: usize,
    ) -> Result<Time, RunError> {
        let mut seen = 0;
        let mut progress = |progress: Progress| {
            (self.advance)(progress.messages.saturating_sub(seen));
            seen = progress.messages;
        };
        let mut control = Control::new(threads, self.stop, &mut progress);
        let simulation = Simulation { noise, ..Simulation::new(self.network) };
        let run = simulation.run_collective(collective, 1, Time::ZERO, &mut control)?;
        Ok(run.outcome.makespan())
    }
}
