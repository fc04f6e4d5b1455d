//! `straggler training whatif` as typed.

use crate::kernel::typed::{count, noise};
use crate::report::ReportOption;
use crate::training::faults::{TypedFault, fix, link, lose, slow, stall, who_help};
use clap::Args;
use std::path::PathBuf;
use straggler_model::noise::NoiseSpec;

const EXAMPLES: &str = concat!(
    "\
EXAMPLES
  What would it cost if rank 3 computed 1.5 times as long from step 5 on?
  straggler training whatif fixtures/training/last-stage.csv --slow 3:1.5@5

  The same on 16 times as many workers: for one random worker, or for each with
  a probability of 1 %
  straggler training whatif fixtures/training/last-stage.csv --copies 16 \\
      --slow any:1.5
  straggler training whatif fixtures/training/last-stage.csv --copies 16 \\
      --slow 1%:1.5

  What if rank 6 were fixed, or lost? If the link between ranks 2 and 6 were
  slow? With noise?
  straggler training whatif fixtures/training/slow-worker.csv --fix 6
  straggler training whatif fixtures/training/slow-worker.csv --lose 6
  straggler training whatif fixtures/training/slow-worker.csv --link 2-6:10
  straggler training whatif fixtures/training/slow-worker.csv --draws 20 \\
      --noise periodic:rate=100Hz,duration=1ms

",
    who_help!(),
    "

Collectives keep their recorded times for any number of copies. To simulate
their algorithms on a network, write the changed job with -o, then:
straggler simulate JOB --copies 256 --network NAME"
);

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct WhatIf {
    /// The recording of a job, as `training show` reads it
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Multiply the computing time of a worker by this factor
    #[arg(long, value_name = "WHO:TIMES[@STEP]", value_parser = slow)]
    pub slow: Vec<TypedFault>,
    /// Multiply the time of all transfers of a worker, or only of those between two workers
    #[arg(long, value_name = "WHO[-WORKER]:TIMES[@STEP]", value_parser = link)]
    pub link: Vec<TypedFault>,
    /// Delay the host of a worker by this time, once per step
    #[arg(long, value_name = "WHO:TIME[@STEP]", value_parser = stall)]
    pub stall: Vec<TypedFault>,
    /// Lose a worker: the job continues without its data-parallel rank
    #[arg(long, value_name = "WHO[@STEP]", value_parser = lose)]
    pub lose: Vec<TypedFault>,
    /// Fix a worker: give it the times of a typical worker of its stage. Applied before the other changes
    #[arg(long, alias = "mend", value_name = "WHO[@STEP]", value_parser = fix)]
    pub fix: Vec<TypedFault>,
    /// Add noise to everything except transfers: a recording of `straggler noise measure`, or a noise spec
    #[arg(long, value_name = "FILE|SPEC", value_parser = noise())]
    pub noise: Vec<NoiseSpec>,
    /// Put this many copies of the job side by side, along the data-parallel dimension
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = count::<u32>(1..=65536))]
    pub copies: u32,
    /// Number of random draws [default: 100 if anything is random]
    #[arg(long, value_name = "COUNT", value_parser = count::<u32>(1..=1_000_000))]
    pub draws: Option<u32>,
    /// Write the changed job as a .csv or .parquet table, without workers that are lost from the first step on
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub report: ReportOption,
}

impl WhatIf {
    /// All changes, in the order in which they are applied.
    pub fn faults(&self) -> impl Iterator<Item = &TypedFault> {
        [&self.fix, &self.slow, &self.link, &self.stall, &self.lose].into_iter().flatten()
    }
}
