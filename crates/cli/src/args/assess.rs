//! `straggler assess` as typed.

use super::cores::{CoreList, cores_list};
use super::device::DeviceOption;
use super::measure::SourcesName;
use super::predict::ReadingOptions;
use crate::args::checks::ChecksOption;
use crate::args::count::count;
use crate::args::typed_text::text;
use clap::Args;
use std::path::PathBuf;
use straggler_analysis::study::share;
use straggler_model::Time;
use straggler_model::units::Bytes;

const EXAMPLES: &str = "\
EXAMPLES
  What does this node's noise cost at scale? Takes about a minute; as root it
  names all sources:
  straggler assess

  A quick look in a few seconds, up to 4,096 processes:
  straggler assess --time 500ms --processes 4096

  Noise measured elsewhere, or a built-in signature, on another network:
  straggler assess fixtures/noise/selfish.0 --network chic --processes 4096
  straggler assess altix --network altix --processes 1024

  What would it cost my program? Replay a trace of a few processes in many
  copies:
  straggler assess --time 500ms --trace fixtures/traces/halo --copies 1,16,256
  straggler assess altix \\
      --goal fixtures/conformance/eager-00.goal

  A gate for the health check of a node, with metrics for Prometheus:
  straggler assess fixtures/noise/selfish.0 --network chic --processes 1024 \\
      --fail-if 'slowdown@1024>2' --prometheus noise.prom

METRICS  for --fail-if and --prometheus
  slowdown@P    T/T0 - 1 of the median on P processes, per operation:
                'slowdown[barrier]@1024>50%', 'slowdown@1024>2x'
  inflection    processes from which noise costs more than the threshold:
                'inflection<4096'
  noise_share   share of time lost to noise: 'noise_share>0.1%'
  A limit is exceeded if the whole 95 % interval is beyond it. The exit code is
  then 5. If only the value is beyond it, a warning says so.

WHAT IT DOES
  1. Measures noise on all cores that the process may use, and records what the
     kernel does meanwhile. It measures five batches with pauses between them,
     to sample more than one moment.
  2. Simulates an allreduce, a barrier and a broadcast over 2, 4, 8, …
     processes, or your program. Every process has this noise from a random
     offset on. The number of replicas depends on the precision of the median.
  3. Finds the inflection point: the smallest number of processes at which
     noise makes the median more than 10 % slower, with 95 % confidence.
  4. Removes the sources with the largest effect one at a time, at the
     inflection point and at the largest scale, and ranks them by the gain.
  It writes figures, the recording and all numbers to a folder.
  On a busy machine the simulations do not take longer: they stop at a smaller
  scale, and the result says which one and how to simulate the rest.";

/// Estimate what this node's noise costs at scale, and which source to remove first
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Assess {
    /// Assess this noise instead of measuring: a recording, a trace, or a noise spec
    #[arg(value_name = "FILE|SPEC", value_parser = text())]
    pub noise: Option<String>,
    /// How long to measure; a second or more is split into five batches with pauses of up to 5 s
    #[arg(long, value_name = "TIME", default_value = "10s", conflicts_with = "noise")]
    pub time: Time,
    /// Cores to measure, for example 0-3,8 [default: all that this process may use]
    #[arg(long, value_name = "LIST", value_parser = cores_list, conflicts_with = "noise")]
    pub cores: Option<CoreList>,
    /// How to identify what took the CPU
    #[arg(long, value_enum, default_value_t, conflicts_with = "noise")]
    pub sources: SourcesName,
    /// Ignore the source with this name in the tables; for the row `other jobs`, name its programs; repeatable
    #[arg(long, value_name = "NAME")]
    pub ignore: Vec<String>,
    /// The network: LogGOPS parameters, a preset or a .toml file [default: slingshot-11; with --trace `fit`, the network
    /// fitted to the trace]
    #[arg(long, value_name = "NETWORK", value_parser = text())]
    pub network: Option<String>,
    /// Assess this traced program instead of collectives: the folder of a trace, or a file in it
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["goal", "processes", "size"])]
    pub trace: Option<PathBuf>,
    /// Numbers of copies of the traced processes to simulate [default: 1,4,16,64,256]
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "trace", value_parser = count::<u32>(1..))]
    pub copies: Vec<u32>,
    /// Assess this GOAL schedule instead of collectives; repeat it for schedules of several numbers of processes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["processes", "size"])]
    pub goal: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: ReadingOptions,
    /// Table that selects the algorithms of the collectives in the trace: paper, mpich, open-mpi or a file [default: paper]
    #[arg(long, value_name = "PRESET|FILE.toml", requires = "trace", value_parser = text())]
    pub algorithms: Option<String>,
    /// Largest number of processes; simulates the powers of two up to it, and above 65,536 every other one
    #[arg(long, value_name = "P", default_value_t = 1 << 20, value_parser = count::<u32>(2..=1 << 26))]
    pub processes: u32,
    /// Size of the allreduce and the broadcast
    #[arg(long, value_name = "BYTES", default_value = "1")]
    pub size: Bytes,
    /// Slowdown of the median above which noise counts as the bottleneck
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = share)]
    pub threshold: f64,
    /// Folder for the results: JSON, figures and the recording
    #[arg(short, long, value_name = "DIR", default_value = "straggler-assessment")]
    pub output: PathBuf,
    #[command(flatten)]
    pub checks: ChecksOption,
    #[command(flatten)]
    pub device: DeviceOption,
}
