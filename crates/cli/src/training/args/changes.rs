//! Changes to a training job, as `straggler whatif` takes them.

use crate::kernel::typed::count;
use crate::training::faults::{TypedFault, fix, link, lose, slow, stall};
use crate::whatif::args::JOB;
use clap::Args;
use std::path::PathBuf;

/// What may happen to workers, in a synthetic job or in a changed one.
#[derive(Debug, Args)]
pub struct Faults {
    /// Multiply the computing time of a worker by this factor
    #[arg(long, value_name = "WHO:TIMES[@STEP]", value_parser = slow)]
    pub slow: Vec<TypedFault>,
    /// Multiply the time of all transfers of a worker, or only of those between two workers
    #[arg(long, value_name = "WHO[-WORKER]:TIMES[@STEP]", value_parser = link)]
    pub link: Vec<TypedFault>,
    /// Delay the host of a worker by this time, once per step
    #[arg(long, value_name = "WHO:TIME[@STEP]", value_parser = stall)]
    pub stall: Vec<TypedFault>,
}

impl Faults {
    pub fn iter(&self) -> impl Iterator<Item = &TypedFault> {
        [&self.slow, &self.link, &self.stall].into_iter().flatten()
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = JOB)]
pub struct JobChanges {
    #[command(flatten)]
    pub faults: Faults,
    /// Lose a worker: the job continues without its data-parallel rank
    #[arg(long, value_name = "WHO[@STEP]", value_parser = lose)]
    pub lose: Vec<TypedFault>,
    /// Fix a worker: give it the times of a typical worker of its stage. Applied before the other changes
    #[arg(long, alias = "mend", value_name = "WHO[@STEP]", value_parser = fix)]
    pub fix: Vec<TypedFault>,
    /// Put this many copies of the job side by side, along the data-parallel dimension
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = count::<u32>(1..=65536))]
    pub copies: u32,
    /// Number of random draws [default: 100 if anything is random]
    #[arg(long, value_name = "COUNT", value_parser = count::<u32>(1..=1_000_000))]
    pub draws: Option<u32>,
    /// Write the changed job as a .csv or .parquet table, without workers that are lost from the first step on
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl JobChanges {
    /// All changes, in the order in which they are applied.
    pub fn all_faults(&self) -> impl Iterator<Item = &TypedFault> {
        self.fix.iter().chain(self.faults.iter()).chain(&self.lose)
    }
}
