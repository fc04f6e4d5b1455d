//! `straggler mpi assess` as typed.

use crate::assess::nodes;
use crate::assess::nodes::Plan;
use crate::kernel::devices::use_threads;
use crate::kernel::typed::{count, text};
use crate::kernel::{Outcome, command_line};
use crate::mpi::Process;
use crate::noise::measure::SourcesName;
use clap::Args;
use std::path::PathBuf;
use straggler_analysis::nodes::Measurement;
use straggler_model::Time;
use straggler_model::units::Bytes;
use straggler_mpi::assess;
use straggler_mpi::assess::Options;

const EXAMPLES: &str = "\
EXAMPLES
  Which node slows down the job? One process per core, all nodes at the same
  time:
  mpirun straggler mpi assess
  srun --ntasks-per-node=1 straggler mpi assess --time 60s --scale 1024,65536

  Is any node noisier or slower than last week? The exit code is 5 if so:
  mpirun straggler mpi assess -o today --baseline last-week/assess.json

  Simulate the same measurement on another network, without measuring again:
  straggler mpi assess --from today --network chic -o on-chic

WHAT IT DOES
  1. Measures noise on all cores that the processes of the job may use, and
     records what the kernel does meanwhile. All nodes start at the same
     moment, by clocks compared over MPI. Each core is measured once, by one of
     the processes that may use it.
  2. Simulates an allreduce with this noise, at the number of measured cores
     and at each --scale: with all noise, with the worst nodes replaced by a
     median node, and without one source on one node.
  3. Reports which nodes differ from the others, which are slow rather than
     noisy, and whether noise hits nodes at the same moment.
  It writes the measurement, all numbers and a page to a folder. On one node it
  compares cores.";

/// Find the nodes that slow down a job, and why
///
/// Run it with the same launcher, nodes and processes as the job.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct AssessNodes {
    /// How long to measure
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub time: Time,
    /// Numbers of processes to simulate besides the number of measured cores; for larger ones, each node stands for several
    /// similar nodes
    #[arg(long, value_name = "P,…", value_delimiter = ',', default_value = "65536", value_parser = count::<u32>(2..=1 << 24))]
    pub scale: Vec<u32>,
    /// The network: LogGOPS parameters, a preset or a .toml file
    #[arg(long, value_name = "NETWORK", default_value = "slingshot-11", value_parser = text())]
    pub network: String,
    /// Size of the allreduce
    #[arg(long, value_name = "BYTES", default_value = "8")]
    pub size: Bytes,
    /// How to identify what took the CPU
    #[arg(long, value_enum, default_value_t)]
    pub sources: SourcesName,
    /// Compare with the assess.json of an earlier assessment; the exit code is 5 if a node became noisier or slower
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Use the measurement in the folder of an earlier assessment instead of measuring
    #[arg(long, value_name = "DIR", conflicts_with_all = ["time", "sources"])]
    pub from: Option<PathBuf>,
    /// Folder for measurement, JSON and page, on the host of rank 0
    #[arg(short, long, value_name = "DIR", default_value = "straggler-cluster")]
    pub output: PathBuf,
}

pub fn run(process: &Process<'_>, typed: AssessNodes) -> anyhow::Result<Outcome<()>> {
    let Process { session, console, common } = process;
    // Only the first process touches files; all end if it cannot go on.
    let prepared = Plan::new(typed, common).and_then(|plan| {
        let prepared = if session.is_first() { Some(nodes::prepare(&plan)?) } else { None };
        Ok((plan, prepared))
    });
    let failed = session.any(prepared.is_err());
    let (plan, prepared) = match prepared {
        Ok(prepared) if !failed => prepared,
        // The first process, or all of them, have printed why.
        Ok(_) => return Ok(Ok(())),
        Err(failure) => return Ok(Err(failure)),
    };
    use_threads(common);
    let measured = match &plan.from {
        Some(_) => None,
        None => assess::run(session, &options(&plan), &|text| process.note(text))?,
    };
    Ok(match prepared {
        Some(prepared) => measured_or_read(&plan, measured)
            .and_then(|measured| nodes::conclude(&plan, prepared, measured, console)),
        None => Ok(()),
    })
}

/// The measurement, or an earlier one in a folder.
fn measured_or_read(plan: &Plan, measured: Option<Measurement>) -> Outcome<Measurement> {
    match (measured, &plan.from) {
        (Some(measured), _) => Ok(measured),
        (None, Some(folder)) => nodes::read(folder),
        (None, None) => Ok(Measurement::default()),
    }
}

fn options(plan: &Plan) -> Options {
    Options { kernel: plan.kernel, length: plan.length, sources: plan.sources, command: command_line() }
}
