//! `straggler assess`, validated.

use super::measure;
use super::traced::TraceRequest;
use crate::args::Common;
use crate::args::assess::Assess as Typed;
use crate::args::device::TypedDevice;
use crate::exit::{Failure, Outcome};
use std::path::PathBuf;
use straggler_analysis::study::FIT;
use straggler_model::units::Bytes;
use straggler_schedule::workloads::Only;

/// Copies of a trace if nobody says otherwise.
const COPIES: [u32; 5] = [1, 4, 16, 64, 256];
const NETWORK: &str = "slingshot-11";

#[derive(Debug)]
pub struct Plan {
    pub noise: Origin,
    pub what: What,
    /// Fitted from the trace unless given.
    pub network: Option<String>,
    pub threshold: f64,
    pub seed: u64,
    pub threads: Option<usize>,
    /// Where replicas run.
    pub device: TypedDevice,
    pub output: PathBuf,
    /// Sources of noise that are left out.
    pub ignore: Vec<String>,
}

/// Where the noise comes from.
#[derive(Debug)]
pub enum Origin {
    Measured(Box<measure::Plan>),
    /// A file or a description.
    Given(String),
}

/// What the noise is held against.
#[derive(Debug)]
pub enum What {
    /// Collectives of so many bytes on up to so many processes.
    Collectives { processes: u32, bytes: u64 },
    /// A traced program in these numbers of copies, ascending.
    Trace(TraceRequest, Vec<u32>),
    /// A schedule for each number of processes.
    Goal(Vec<PathBuf>),
}

impl Plan {
    pub fn new(typed: Typed, common: &Common) -> Outcome<Plan> {
        let what = What::new(&typed)?;
        let noise = match typed.noise {
            Some(text) => Origin::Given(text),
            None => {
                let cores = typed.cores.map(|list| list.0);
                Origin::Measured(Box::new(measure::Plan::of_detours(typed.time, cores, typed.sources)?))
            }
        };
        let fits = matches!(what, What::Trace(..));
        Ok(Plan {
            noise,
            what,
            network: match typed.network {
                Some(name) if fits && name == FIT => None,
                given => given.or_else(|| (!fits).then(|| NETWORK.into())),
            },
            threshold: typed.threshold,
            seed: common.seed,
            threads: common.threads.map(Into::into),
            device: typed.device.device,
            output: typed.output,
            ignore: typed.ignore,
        })
    }
}

impl What {
    fn new(typed: &Typed) -> Outcome<What> {
        if typed.trace.is_none() && typed.reading.is_given() {
            return Err(Failure::usage("--begin and --drop-unmatched belong to --trace: leave them out"));
        }
        // clap does not see this where --goal is given besides.
        if typed.trace.is_none() && !typed.copies.is_empty() {
            return Err(Failure::usage(
                "--copies belongs to --trace: a schedule has the processes that it has; give a --goal for each number",
            ));
        }
        let Bytes(bytes) = typed.size;
        Ok(match &typed.trace {
            Some(path) => {
                let options = typed.reading.options(Only::All);
                let mut request = TraceRequest::plain(path.clone(), options);
                request.algorithms = typed.algorithms.clone();
                let mut copies = if typed.copies.is_empty() { COPIES.to_vec() } else { typed.copies.clone() };
                copies.sort_unstable();
                copies.dedup();
                What::Trace(request, copies)
            }
            None if typed.goal.is_empty() => What::Collectives { processes: typed.processes, bytes },
            None => What::Goal(typed.goal.clone()),
        })
    }
}
