//! `straggler assess` as typed.

use super::device::DeviceOption;
use super::measure::{CoreList, SourcesName, cores_list};
use super::predict::ReadingOptions;
use crate::args::count::count;
use clap::Args;
use std::path::PathBuf;
use straggler_analysis::study::share;
use straggler_model::Time;
use straggler_model::units::Bytes;

const EXAMPLES: &str = "\
EXAMPLES
  What will this node's noise cost at scale? About a minute; as root it names the sources best:
  straggler assess

  A first look in a few seconds, up to 4,096 processes:
  straggler assess --time 500ms --processes 4096

  Noise that was measured elsewhere, or is only described, on another network:
  straggler assess fixtures/noise/selfish.0 --network chic --processes 4096
  straggler assess altix --network altix --processes 1024

  What would it cost my program? The trace of a run on a few processes, replayed in copies:
  straggler assess --time 500ms --trace fixtures/traces/halo --copies 1,16,256
  straggler assess altix \\
      --goal fixtures/conformance/eager-00.goal

WHAT IT DOES
  1. Measures noise on all cores the process may use, and asks the kernel what it did meanwhile. The
     time is cut into five batches with pauses between them, so that it tells more than one moment.
  2. Simulates an allreduce, a barrier and a broadcast over 2, 4, 8, … processes, or your program,
     with every process suffering this noise from a randomly drawn moment on, in as many replicas as
     the median needs.
  3. Finds the inflection point: the smallest number of processes at which noise makes the median
     more than 10 % slower, with 95 % confidence.
  4. Takes away the sources of noise that reach farthest, one at a time, at that point and at the
     largest scale, and ranks them by what that gives.
  Pictures, the recording and all numbers are written to a folder.
  On a busy machine the simulations take no longer: they end at a smaller scale, and the verdict says
  which one and how to simulate the rest.";

/// What this node's noise costs at scale, and which source of it to remove first
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Assess {
    /// Assess this noise instead of measuring: a recording, a trace, or a description as --noise takes it
    #[arg(value_name = "FILE|SPEC")]
    pub noise: Option<String>,
    /// How long to measure; from a second on in five batches, with pauses of up to 5 s between them
    #[arg(long, value_name = "TIME", default_value = "10s", conflicts_with = "noise")]
    pub time: Time,
    /// The cores to measure, as in 0-3,8; all that this process may use unless given
    #[arg(long, value_name = "LIST", value_parser = cores_list, conflicts_with = "noise")]
    pub cores: Option<CoreList>,
    /// How to find out what took the CPU
    #[arg(long, value_enum, default_value_t, conflicts_with = "noise")]
    pub sources: SourcesName,
    /// Leave out the noise of this source: a job that happened to run, as the tables name it, without "other jobs". May be
    /// given several times
    #[arg(long, value_name = "NAME")]
    pub ignore: Vec<String>,
    /// The network: LogGOPS parameters, a preset or a .toml file; slingshot-11 unless given, or with --trace `fit`, the
    /// network that is fitted from the trace
    #[arg(long, value_name = "NETWORK")]
    pub network: Option<String>,
    /// Ask about this traced program instead of collectives: the folder of a trace, or a file of it
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["goal", "processes", "size"])]
    pub trace: Option<PathBuf>,
    /// Simulate this many times the traced processes: a list; 1,4,16,64,256 unless given
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "trace", value_parser = count::<u32>(1..))]
    pub copies: Vec<u32>,
    /// Ask about this GOAL schedule instead of collectives; for several numbers of processes give it several times
    #[arg(long, value_name = "FILE", conflicts_with_all = ["processes", "size"])]
    pub goal: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: ReadingOptions,
    /// The table that finds the algorithms of a trace's collectives: paper (unless given), mpich, open-mpi or a file
    #[arg(long, value_name = "PRESET|FILE.toml", requires = "trace")]
    pub algorithms: Option<String>,
    /// The largest number of processes; simulated are the powers of two up to it, beyond 65,536 every other one
    #[arg(long, value_name = "P", default_value_t = 1 << 20, value_parser = count::<u32>(2..=1 << 26))]
    pub processes: u32,
    /// Data of the allreduce and the broadcast
    #[arg(long, value_name = "BYTES", default_value = "1")]
    pub size: Bytes,
    /// Noise is the bottleneck where it makes the median slower by more than this
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = share)]
    pub threshold: f64,
    /// The folder for the report: JSON, pictures, and the recording
    #[arg(short, long, value_name = "DIR", default_value = "straggler-assessment")]
    pub output: PathBuf,
    #[command(flatten)]
    pub device: DeviceOption,
}
