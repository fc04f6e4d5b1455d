//! The part of `straggler-mpi assess` that needs no MPI. Every process makes the same plan; the first one reads, writes and
//! prints.

pub use crate::args::nodes::AssessNodes;
pub use crate::commands::nodes::Measurement;

use super::{Common, muted};
use crate::commands::nodes::{self, Prepared};
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use crate::interrupt::{self, Orderly};
use crate::invocation::command_line;
use crate::plan::nodes::Plan;
use crate::threads::use_threads;
use std::sync::atomic::AtomicBool;
use straggler_measure::noise::Kernel;
use straggler_measure::sources::Wish;
use straggler_model::Time;

/// One assessment, on one process. While it exists, the first signal only sets a flag.
pub struct Assessment {
    plan: Plan,
    console: Console,
    prepared: Option<Prepared>,
    _orderly: Orderly,
}

impl std::fmt::Debug for Assessment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Assessment").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Assessment {
    /// Prepares an assessment. A failure is already printed, so only its exit code is returned. Only the first process
    /// touches files.
    pub fn new(typed: AssessNodes, common: &Common, first: bool) -> Result<Assessment, u8> {
        interrupt::listen();
        let orderly = Orderly::begin();
        let console = Console::new(common);
        let console = if first { console } else { muted(console) };
        let planned = || -> Outcome<(Plan, Option<Prepared>)> {
            let plan = Plan::new(typed, common)?;
            let prepared = if first { Some(nodes::prepare(&plan)?) } else { None };
            Ok((plan, prepared))
        };
        let (plan, prepared) = planned().map_err(|failure| told(&console, &failure))?;
        use_threads(common);
        Ok(Assessment { plan, console, prepared, _orderly: orderly })
    }

    pub fn kernel(&self) -> Kernel {
        self.plan.kernel
    }

    pub fn length(&self) -> Time {
        self.plan.length
    }

    pub fn sources(&self) -> Wish {
        self.plan.sources
    }

    /// Prints progress on stderr, on the first process only.
    pub fn note(&self, text: &str) {
        self.console.note(text);
    }

    /// The command line, quoted for a shell.
    pub fn command_line() -> String {
        command_line()
    }

    /// Set by a signal.
    pub fn stop(&self) -> &'static AtomicBool {
        interrupt::flag()
    }

    /// Whether an existing measurement is used.
    pub fn is_measured(&self) -> bool {
        self.plan.from.is_some()
    }

    /// Analyses the measurement on the first process and returns the exit code. Without a measurement, reads the one in the
    /// given folder.
    pub fn conclude(mut self, measured: Option<Measurement>) -> u8 {
        let Some(prepared) = self.prepared.take() else { return 0 };
        let measured = match (measured, &self.plan.from) {
            (Some(measured), _) => Ok(measured),
            (None, Some(folder)) => Measurement::read(folder),
            (None, None) => Ok(Measurement::default()),
        };
        let done =
            measured.and_then(|measured| nodes::conclude(&self.plan, prepared, measured, &self.console));
        match done {
            Ok(()) => 0,
            Err(failure) => told(&self.console, &failure),
        }
    }
}

/// Prints the error and returns the exit code.
fn told(console: &Console, failure: &Failure) -> u8 {
    console.fail(failure);
    failure.exit as u8
}
