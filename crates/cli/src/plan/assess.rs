//! `straggler assess`, validated.

use super::measure;
use crate::args::Common;
use crate::args::assess::Assess as Typed;
use crate::exit::Outcome;
use std::path::PathBuf;
use straggler_model::units::Bytes;

#[derive(Debug)]
pub struct Plan {
    pub noise: Origin,
    pub network: String,
    pub processes: u32,
    pub bytes: u64,
    pub threshold: f64,
    pub seed: u64,
    pub threads: Option<usize>,
    pub output: PathBuf,
}

/// Where the noise comes from.
#[derive(Debug)]
pub enum Origin {
    Measured(Box<measure::Plan>),
    /// A file or a description.
    Given(String),
}

impl Plan {
    pub fn new(typed: Typed, common: &Common) -> Outcome<Plan> {
        let noise = match typed.noise {
            Some(text) => Origin::Given(text),
            None => {
                let cores = typed.cores.map(|list| list.0);
                Origin::Measured(Box::new(measure::Plan::of_detours(typed.time, cores, typed.sources)?))
            }
        };
        let Bytes(bytes) = typed.size;
        Ok(Plan {
            noise,
            network: typed.network,
            processes: typed.processes,
            bytes,
            threshold: typed.threshold,
            seed: common.seed,
            threads: common.threads.map(Into::into),
            output: typed.output,
        })
    }
}
