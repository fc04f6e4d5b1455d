//! `straggler assess` as typed.

use crate::kernel::devices::{self, DeviceOption, TypedDevice};
use crate::kernel::gates::{ChecksOption, limits_help, refuse_unknown};
use crate::kernel::prelude::*;
use crate::kernel::typed::{CoreList, cores_list, count, text};
use crate::noise::measure::{self, SourcesName};
use crate::{args::Common, kernel::metrics, trace::file::ReadingOptions, trace::traced::TraceRequest};
use straggler_analysis::study::{FIT, share};
use straggler_schedule::workloads::Only;

const EXAMPLES: &str = concat!(
    "\
EXAMPLES
  What does this node's noise cost at scale? Takes one to one and a half
  minutes; as root it names all sources:
  straggler assess

  A quick look in a few seconds, up to 4,096 processes:
  straggler assess --quick --time 500ms --processes 4096

  Noise measured elsewhere, or a built-in signature, on another network:
  straggler assess fixtures/noise/selfish.0 --network chic --processes 4096
  straggler assess altix --network altix --processes 1024

  A program that synchronises its processes every 500 us or every 5 ms:
  straggler assess altix --processes 1024 --interval 500us,5ms

  What would it cost my program? Replay a trace of a few processes in many
  copies:
  straggler assess --time 500ms --trace fixtures/traces/halo --copies 1,16,256
  straggler assess altix \\
      --goal fixtures/conformance/eager-00.goal

  A gate for the health check of a node, with metrics for Prometheus:
  straggler assess fixtures/noise/selfish.0 --network chic --processes 1024 \\
      --fail-if 'slowdown@1024>3x' --prometheus noise.prom

METRICS  for --fail-if and --prometheus
  program_slowdown@P
                mean slowdown on P processes, per interval:
                'program_slowdown[1ms]@1024>10%'
  slowdown@P    T/T0 - 1 of the median on P processes, per operation:
                'slowdown[barrier]@1024>50%', 'slowdown@1024>2x'
  inflection    processes from which noise costs more than the threshold:
                'inflection<4096'
  noise_share   share of time lost to noise: 'noise_share>0.1%'
",
    limits_help!(),
    "

WHAT IT DOES
  1. Measures noise on all cores that the process may use, and records what the
     kernel does meanwhile. It measures five batches with pauses between them,
     to sample more than one moment.
  2. Simulates programs that compute for an interval, synchronise with an
     allreduce, and so on: the mean slowdown by processes and interval. It
     simulates until the 95 % interval of the mean is narrow or the time for
     it is over; a wide interval takes the place of the number.
  3. Simulates a single allreduce, barrier and broadcast over 2, 4, 8, …
     processes, or your program. Every process has this noise from a random
     offset on. The number of replicas depends on the precision of the median.
  4. Finds the inflection point: the smallest number of processes at which
     noise makes the median more than 10 % slower, with 95 % confidence.
  5. Removes the sources with the largest effect one at a time, at the
     inflection point and at the largest scale, and ranks them by the gain.
  It writes figures, the recording and all numbers to a folder.
  On a busy machine the simulations do not take longer: they stop at a smaller
  scale, and the result says which one and how to simulate the rest."
);

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
    /// Simulate a twentieth as much: a first look in seconds, with wider intervals and fewer large scales
    #[arg(long)]
    pub quick: bool,
    /// Times between two synchronisations of a program, each a column of the answer
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', default_value = "100us,1ms,10ms,100ms", conflicts_with_all = ["trace", "goal"])]
    pub interval: Vec<Time>,
    /// Size of the allreduce and the broadcast
    #[arg(long, value_name = "BYTES", default_value = "1")]
    pub size: Bytes,
    /// Slowdown above which noise counts as the bottleneck
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

/// Default numbers of copies of a trace.
const COPIES: [u32; 5] = [1, 4, 16, 64, 256];
const NETWORK: &str = "slingshot-11";

#[derive(Debug)]
pub struct Plan {
    pub noise: Origin,
    pub what: Assessed,
    /// Whether a first look is enough.
    pub quick: bool,
    /// Times between two synchronisations, ascending.
    pub intervals: Vec<Time>,
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
    pub fn new(typed: Assess, common: &Common) -> Outcome<Plan> {
        devices::refuse_missing(typed.device.device)?;
        refuse_unknown(&typed.checks, metrics::OF_ASSESS)?;
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
            quick: typed.quick,
            intervals: intervals(typed.interval)?,
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

fn intervals(mut typed: Vec<Time>) -> Outcome<Vec<Time>> {
    typed.sort_unstable();
    typed.dedup();
    match typed.first() {
        Some(&Time::ZERO) => {
            Err(Failure::usage("--interval 0: give times above 0, as in --interval 500us,1ms"))
        }
        _ => Ok(typed),
    }
}

impl Assessed {
    fn new(typed: &Assess) -> Outcome<Assessed> {
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
