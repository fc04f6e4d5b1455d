//! `straggler mpi assess`, validated.

use crate::args::Common;
use crate::kernel::Outcome;
use crate::mpi::assess::AssessNodes as Typed;
use crate::noise::measure::plan;
use std::path::PathBuf;
use straggler_measure::noise::Kernel;
use straggler_measure::sources::Wish;
use straggler_model::Time;
use straggler_model::units::Bytes;

#[derive(Debug)]
pub struct Plan {
    pub kernel: Kernel,
    pub length: Time,
    pub sources: Wish,
    /// An existing measurement.
    pub from: Option<PathBuf>,
    pub scales: Vec<u32>,
    pub bytes: u64,
    pub network: String,
    pub baseline: Option<PathBuf>,
    pub output: PathBuf,
    pub seed: u64,
    pub threads: Option<usize>,
}

impl Plan {
    pub fn new(typed: Typed, common: &Common) -> Outcome<Plan> {
        let plan::Plan { kernel, length, sources, .. } =
            plan::Plan::of_detours(typed.time, None, typed.sources)?;
        let Bytes(bytes) = typed.size;
        Ok(Plan {
            kernel,
            length,
            sources,
            from: typed.from,
            scales: typed.scale,
            bytes,
            network: typed.network,
            baseline: typed.baseline,
            output: typed.output,
            seed: common.seed,
            threads: common.threads.map(Into::into),
        })
    }
}
