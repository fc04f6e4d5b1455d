//! `straggler assess`, validated.

use super::measure;
use super::traced::TraceRequest;
use crate::args::Common;
use crate::args::assess::Assess as Typed;
use crate::args::checks::ChecksOption;
use crate::args::device::TypedDevice;
use crate::devices;
use crate::exit::{Failure, Outcome};
use crate::metrics::{refuse_unknown, slowdown};
use crate::places::refuse_unwritable;
use std::path::PathBuf;
use straggler_analysis::study::FIT;
use straggler_model::units::Bytes;
use straggler_schedule::workloads::Only;

/// Default numbers of copies of a trace.
const COPIES: [u32; 5] = [1, 4, 16, 64, 256];
const NETWORK: &str = "slingshot-11";

#[derive(Debug)]
pub struct Plan {
    pub noise: Origin,
    pub what: Assessed,
    /// None: fitted to the trace.
    pub network: Option<String>,
    pub threshold: f64,
    pub seed: u64,
    pub threads: Option<usize>,
    /// Where replicas run.
    pub device: TypedDevice,
    pub output: PathBuf,
    /// Noise sources to ignore.
    pub ignore: Vec<String>,
    pub checks: ChecksOption,
}

/// Where the noise comes from.
#[derive(Debug)]
pub enum Origin {
    Measured(Box<measure::Plan>),
    /// A file or a noise spec.
    Given(String),
}

/// The workload whose slowdown is assessed.
#[derive(Debug)]
pub enum Assessed {
    /// Collectives of this size on up to this number of processes.
    Collectives { processes: u32, bytes: u64 },
    /// A traced program in these numbers of copies, ascending.
    Trace(TraceRequest, Vec<u32>),
    /// A schedule for each number of processes.
    Goal(Vec<PathBuf>),
}

impl Plan {
    pub fn new(typed: Typed, common: &Common) -> Outcome<Plan> {
        devices::refuse_missing(typed.device.device)?;
        refuse_unknown(&typed.checks, slowdown::OF_ASSESS)?;
        refuse_unwritable(&typed.output)?;
        let what = Assessed::new(&typed)?;
        let noise = match typed.noise {
            Some(text) => Origin::Given(text),
            None => {
                let cores = typed.cores.map(|list| list.0);
                Origin::Measured(Box::new(measure::Plan::of_detours(typed.time, cores, typed.sources)?))
            }
        };
        let fits = matches!(what, Assessed::Trace(..));
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
            checks: typed.checks,
        })
    }
}

impl Assessed {
    fn new(typed: &Typed) -> Outcome<Assessed> {
        if typed.trace.is_none() && typed.reading.is_given() {
            return Err(Failure::usage("--begin and --drop-unmatched need --trace: remove them"));
        }
        // clap does not check this if --goal is given too.
        if typed.trace.is_none() && !typed.copies.is_empty() {
            return Err(Failure::usage(
                "--copies needs --trace: a schedule has a fixed number of processes; give one --goal per number",
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
                Assessed::Trace(request, copies)
            }
            None if typed.goal.is_empty() => Assessed::Collectives { processes: typed.processes, bytes },
            None => Assessed::Goal(typed.goal.clone()),
        })
    }
}
