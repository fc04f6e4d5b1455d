//! `straggler mpi validate` as typed.

use crate::args::count::count;
use clap::Args;
use std::path::PathBuf;
use straggler_model::Time;
use straggler_mpi::validate::Options;

const EXAMPLES: &str = "\
EXAMPLES
  mpirun -n 2 --bind-to core straggler mpi validate

  mpirun -n 16 --bind-to core straggler mpi validate --detours 25us \\
      --work 0s,1ms -o validation.json";

/// Compare the simulation with real collectives on this machine
///
/// Runs barriers (dissemination), allreduces (recursive doubling) and broadcasts (binomial tree) made of its own messages,
/// with detours injected into the ranks at known times. Simulates the same runs with LogGP parameters measured in between,
/// the same detours, and those of the machine itself. Prints the predicted and the measured slowdown of every case. Each
/// rank needs a core of its own.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Validate {
    /// Approximate length of each run, with and without detours
    #[arg(long, value_name = "TIME", default_value = "30ms")]
    pub length: Time,
    /// Repetitions of each case, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = count::<usize>(1..=100_000))]
    pub repetitions: usize,
    /// Lengths of the detours, each a case of its own
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', default_value = "16us,50us,100us,200us")]
    pub detours: Vec<Time>,
    /// Time from one detour of a rank to the next
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub period: Time,
    /// Work of a rank between two collectives; 0s means back to back
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', default_value = "0s,100us")]
    pub work: Vec<Time>,
    /// Write the JSON object to a file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl Validate {
    pub fn options(self, seed: u64) -> Options {
        Options {
            length: self.length,
            repetitions: self.repetitions,
            detours: self.detours,
            period: self.period,
            work: self.work,
            seed,
            output: self.output,
        }
    }
}
