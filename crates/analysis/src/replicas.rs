//! Runs of one schedule with noise drawn again and again. Small ones go side by side, large ones one after
//! another on all threads; the numbers are the same either way. [`Subject::run`] is the one place in which
//! assessments and studies run anything.

use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use straggler_model::noise::{Injection, Phases, Source};
use straggler_model::{Network, Time};
use straggler_schedule::collectives::Collective;
use straggler_schedule::workloads::Application;
use straggler_schedule::{Cycles, Script, Steps};
use straggler_sim::outcome::RunError;
use straggler_sim::{Control, Progress, Simulation};

/// Up to this many processes a run is too small to keep several threads busy.
pub(crate) const SMALL: u32 = 1 << 16;

/// What is run.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A collective, done several times, each after some computation.
    Collective {
        collective: Collective,
        cycles: u32,
        compute: Time,
    },
    Application(Application),
}

impl Subject {
    pub fn once(collective: Collective) -> Subject {
        Subject::Collective { collective, cycles: 1, compute: Time::ZERO }
    }

    pub fn processes(&self) -> u32 {
        match self {
            Subject::Collective { collective, .. } => collective.processes(),
            Subject::Application(application) => Script::processes(application),
        }
    }

    /// Messages of one run.
    pub fn messages(&self) -> u64 {
        match self {
            Subject::Collective { collective, cycles, compute } => {
                Cycles::new(collective, *cycles, *compute).messages()
            }
            Subject::Application(application) => Script::messages(application),
        }
    }

    /// When all have finished.
    pub fn run(&self, simulation: &Simulation<'_>, control: &mut Control<'_>) -> Result<Time, RunError> {
        let run = match self {
            Subject::Collective { collective, cycles, compute } => {
                simulation.run_collective(collective, *cycles, *compute, control)?
            }
            Subject::Application(application) => simulation.run_application(application, control)?,
        };
        Ok(run.outcome.makespan())
    }
}

/// The injection of one replica after another: sources are shared, only the replica changes.
#[derive(Debug)]
pub struct Redrawn {
    injection: Injection,
}

impl Redrawn {
    pub fn new(sources: &[Source], seed: u64, cosched: bool, wallclock: bool) -> Redrawn {
        let phases = match cosched {
            true => Phases::Together { seed, replica: 0 },
            false => Phases::Drawn { seed, replica: 0 },
        };
        let injection = Injection { sources: sources.to_vec(), phases, wallclock, computation_only: false };
        Redrawn { injection }
    }

    pub fn replica(&mut self, number: u32) -> &Injection {
        match &mut self.injection.phases {
            Phases::Drawn { replica, .. } | Phases::Together { replica, .. } => *replica = number,
            Phases::Given(_) => {}
        }
        &self.injection
    }
}

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
        self.run(&Subject::once(collective.clone()), None, self.threads)
    }

    /// When all have finished, for each replica.
    pub fn makespans(
        &self,
        collective: &Collective,
        noise: &[Source],
        replicas: Range<u32>,
    ) -> Result<Vec<Time>, RunError> {
        let subject = Subject::once(collective.clone());
        let redrawn = || Redrawn::new(noise, self.seed, false, false);
        let one = |redrawn: &mut Redrawn, replica, threads| {
            self.run(&subject, Some(redrawn.replica(replica)), threads)
        };
        if subject.processes() <= SMALL && self.threads > 1 && replicas.len() > 1 {
            replicas.into_par_iter().map_init(redrawn, |noise, replica| one(noise, replica, 1)).collect()
        } else {
            let mut noise = redrawn();
            replicas.map(|replica| one(&mut noise, replica, self.threads)).collect()
        }
    }

    fn run(&self, subject: &Subject, noise: Option<&Injection>, threads: usize) -> Result<Time, RunError> {
        let mut seen = 0;
        let mut progress = |progress: Progress| {
            (self.advance)(progress.messages.saturating_sub(seen));
            seen = progress.messages;
        };
        let mut control = Control::new(threads, self.stop, &mut progress);
        subject.run(&Simulation { noise, ..Simulation::new(self.network) }, &mut control)
    }
}
