//! `straggler latency measure`: runs the kernel, prints and writes the distributions.

use crate::kernel::prelude::*;
use crate::kernel::typed::{CoreList, cores_list, count};
use crate::{latency::words, serve};
use straggler_measure::latency::{Effort, Kernel, Options, Remote, Server, Watch, measure};
use straggler_measure::{cores, noise::MeasureError, timer};
use straggler_model::latency::{Bins, Histogram, Labels, Measurement, Outside, Process, Series, write};
use straggler_model::provenance::{Machine, Timer};

const EXAMPLES: &str = "\
EXAMPLES
  Round trips of 1 byte and of 4 KiB over the loopback interface:
  straggler latency measure --kernel tcp --size 1B,4KiB --trials 200 -o tcp.lat

  Wake-ups between all pairs of cores:
  straggler latency measure --kernel futex --trials 200 -o cores.lat

  Run time of a command:
  straggler latency measure --trials 5 --cycles 2 -- true

BETWEEN TWO HOSTS
  Run this on one host, with an address that the other can reach. It prints the
  other's command:
    straggler latency measure --listen 10.0.0.1:7000

BINS
  hdr[:BITS]           2^BITS bins per power of two [default: 7 bits]
  fixed:LONGEST/BINS   bins of equal width, such as fixed:100us/1000
  log:SIZE/BINS        the first bin is SIZE wide, bin i is e^(SIZE i) - 1
                       wide, in microseconds

HOW TO READ IT
  The minimum cost of reading the timer is subtracted from every trial. A
  quantile is reported if at least ten trials lie beyond it. The file keeps the
  whole distribution and each cycle's minimum.";

/// Measure the latency distribution of communication, system calls or a command
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Measure {
    /// What to measure
    #[arg(long, value_enum, value_name = "NAME")]
    pub kernel: Option<KernelName>,
    /// Trials in each cycle [default: enough for a few seconds in total]
    #[arg(long, value_name = "N", value_parser = count::<u64>(1..=1_000_000_000_000))]
    pub trials: Option<u64>,
    /// Number of cycles; the minimum of each is kept
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count::<u32>(1..=1_000_000))]
    pub cycles: u32,
    /// Size of a message, a file access or a copy [default: 1B, 4KiB for file, 64KiB for copy]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub size: Vec<Bytes>,
    /// Cores, for example 0-3,8: the first measures, the second answers; futex uses all pairs, --listen the first core
    #[arg(long, value_name = "LIST", value_parser = cores_list)]
    pub cores: Option<CoreList>,
    /// Histogram bins: hdr, fixed:LONGEST/BINS or log:SIZE/BINS
    #[arg(long, value_name = "LAYOUT", default_value = "hdr")]
    pub bins: Bins,
    /// Folder in which the file kernel creates its file [default: the current folder]
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// Answer clients at this address until Ctrl-C; without an address, only clients on this host
    #[arg(long, value_name = "HOST:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:0",
        conflicts_with_all = ["kernel", "connect", "output", "program", "size", "trials"])]
    pub listen: Option<String>,
    /// Measure to a host that runs --listen, with the tcp kernel
    #[arg(long, value_name = "HOST:PORT", requires = "token")]
    pub connect: Option<String>,
    /// The token that the listening host printed; or, with --listen, 32 letters and digits of your own
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// Write the distributions to a .lat file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The program to time, with its arguments (the command kernel)
    #[arg(last = true, value_name = "COMMAND")]
    pub program: Vec<String>,
}

/// The kernels by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KernelName {
    /// Round trip over TCP, on this host or to another
    Tcp,
    /// Round trip over a Unix socket
    UnixSocket,
    /// Round trip over a pair of pipes
    Pipe,
    /// Wake a thread that sleeps on another core, and be woken by it
    Futex,
    /// getpid, clock_gettime as a real system call, a read of one byte
    SystemCalls,
    /// A write with fsync, and a read
    File,
    /// Memory copy
    Copy,
    /// The program after --
    Command,
}

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    Measure(MeasurePlan),
    /// Answer clients that measure.
    Listen {
        address: String,
        token: Option<String>,
        /// The first of these cores answers.
        cores: Option<Vec<u32>>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasurePlan {
    pub kernel: Kernel,
    pub sizes: Vec<u64>,
    pub cores: Option<Vec<u32>>,
    pub effort: Effort,
    pub bins: Bins,
    pub output: Option<PathBuf>,
}

impl Plan {
    pub fn new(typed: Measure) -> Outcome<Plan> {
        if let Some(address) = typed.listen {
            let cores = typed.cores.map(|list| list.0);
            return Ok(Plan::Listen { address, token: typed.token, cores });
        }
        let kernel = kernel(&typed)?;
        Ok(Plan::Measure(MeasurePlan {
            sizes: sizes(&typed, &kernel)?,
            cores: typed.cores.map(|list| list.0),
            effort: Effort {
                trials: typed.trials.unwrap_or_else(|| kernel.usual_trials()),
                cycles: typed.cycles,
            },
            bins: typed.bins,
            output: typed.output,
            kernel,
        }))
    }
}

fn kernel(typed: &Measure) -> Outcome<Kernel> {
    let name = match (typed.kernel, typed.program.is_empty()) {
        (None | Some(KernelName::Command), false) => KernelName::Command,
        (Some(KernelName::Command), true) => {
            return Err(Failure::usage(
                "the command kernel needs a command: write it after --, for example `-- true`",
            ));
        }
        (Some(_), false) => {
            return Err(Failure::usage("a command after -- selects the command kernel: remove --kernel"));
        }
        (Some(name), true) => name,
        (None, true) if typed.connect.is_some() => KernelName::Tcp,
        (None, true) => {
            return Err(Failure::usage(
                "nothing to measure: give --kernel NAME, or a command after --; see `--help` for the names",
            ));
        }
    };
    if typed.connect.is_some() && name != KernelName::Tcp {
        return Err(Failure::usage("--connect is for the tcp kernel: remove it, or use --kernel tcp"));
    }
    if typed.folder.is_some() && name != KernelName::File {
        return Err(Failure::usage("--folder is for the file kernel: remove it, or use --kernel file"));
    }
    Ok(match name {
        KernelName::Tcp => Kernel::Tcp { remote: remote(typed) },
        KernelName::UnixSocket => Kernel::UnixSocket,
        KernelName::Pipe => Kernel::Pipe,
        KernelName::Futex => Kernel::Futex,
        KernelName::SystemCalls => Kernel::SystemCalls,
        KernelName::File => Kernel::File { folder: typed.folder.clone().unwrap_or_else(|| ".".into()) },
        KernelName::Copy => Kernel::Copy,
        KernelName::Command => Kernel::Command { program: typed.program.clone() },
    })
}

fn remote(typed: &Measure) -> Option<Remote> {
    let (address, token) = typed.connect.clone().zip(typed.token.clone())?;
    Some(Remote { address, token })
}

fn sizes(typed: &Measure, kernel: &Kernel) -> Outcome<Vec<u64>> {
    let Some(usual) = kernel.usual_size() else {
        if typed.size.is_empty() {
            return Ok(Vec::new());
        }
        return Err(Failure::usage(format!("the kernel {} has no sizes: remove --size", kernel.name())));
    };
    let mut sizes: Vec<u64> = typed.size.iter().map(|size| size.0).collect();
    if sizes.contains(&0) {
        return Err(Failure::usage("--size 0 would move no data: give at least 1B"));
    }
    sizes.sort_unstable();
    sizes.dedup();
    Ok(if sizes.is_empty() { vec![usual] } else { sizes })
}

pub fn run(plan: &Plan, console: &Console) -> Outcome<()> {
    match plan {
        Plan::Measure(plan) => measure_and_tell(plan, console),
        Plan::Listen { address, token, cores } => {
            if let Some(list) = cores {
                pin_to_first(list)?;
            }
            listen(address, token.clone(), console)
        }
    }
}

/// The answering side runs on the first core of the list.
fn pin_to_first(list: &[u32]) -> Outcome<()> {
    let allowed = cores::allowed().map_err(MeasureError::from)?;
    let chosen = cores::choose(Some(list), &allowed).map_err(MeasureError::from)?;
    chosen.first().map_or(Ok(()), |&core| cores::pin(core)).map_err(MeasureError::from)?;
    Ok(())
}

fn measure_and_tell(plan: &MeasurePlan, console: &Console) -> Outcome<()> {
    let _orderly = Orderly::begin();
    plan.output.iter().try_for_each(|path| refuse_missing_folder(path))?;
    let allowed = cores::allowed().map_err(MeasureError::from)?;
    let cores = cores::choose(plan.cores.as_deref(), &allowed).map_err(MeasureError::from)?;
    let timer = timer::examine().map_err(|fault| Failure::bad_input(fault.to_string()))?;
    let options = Options {
        kernel: plan.kernel.clone(),
        sizes: plan.sizes.clone(),
        cores,
        effort: plan.effort,
        bins: plan.bins,
    };
    if let Kernel::Command { .. } = &plan.kernel {
        let runs = counted(plan.effort.warm_up(), "run that does", "runs that do");
        console.note(&format!("Warm-up: {runs} not count."));
    }
    let meter = Meter::new(console, options.trials());
    let watch = Watch { stop: interrupt::flag(), progress: &|more| meter.advance(more) };
    let measurement = measure(&options, &without_token(&plan.kernel, command_line()), &timer, watch);
    drop(meter);
    finish(plan, &measurement, console)
}

/// Hides the token of a listening host.
fn without_token(kernel: &Kernel, command: String) -> String {
    match kernel {
        Kernel::Tcp { remote: Some(remote) } if !remote.token.is_empty() => {
            command.replace(&remote.token, "TOKEN")
        }
        _ => command,
    }
}

/// Writes and prints the measurement, even if it is incomplete.
fn finish(plan: &MeasurePlan, measurement: &Measurement, console: &Console) -> Outcome<()> {
    let is_empty = measurement.series.is_empty();
    if let Some(path) = plan.output.as_ref().filter(|_| !is_empty) {
        write(path, measurement)?;
    }
    if !is_empty {
        match console.json {
            true => console.print_json(&MeasureLatencyAnswer::new(measurement))?,
            false => {
                // A measurement that ended early is an error below.
                measurement
                    .doubts()
                    .iter()
                    .skip(measurement.interruptions.len())
                    .for_each(|doubt| console.warn(doubt));
                console.print(&words::summary(measurement))?;
            }
        }
    }
    let Some(reason) = measurement.interruptions.first() else {
        if let Some(path) = &plan.output {
            let series = counted(measurement.series.len() as u64, "distribution", "distributions");
            console.note(&format!("{series} written to {}", path.display()));
        }
        return Ok(());
    };
    let kept = match (&plan.output, is_empty) {
        (_, true) => "nothing was measured".to_string(),
        (Some(path), false) => format!("the measurement so far is in {}", path.display()),
        (None, false) => "the measurement so far is above; -o FILE would save it".to_string(),
    };
    let exit = if interrupt::check().is_err() { Exit::Interrupted } else { Exit::BadInput };
    Err(Failure::new(exit, anyhow::Error::msg(format!("{reason}; {kept}"))))
}

#[derive(Serialize)]
struct ListenAnswer<'a> {
    address: String,
    token: &'a str,
    command: &'a str,
}

/// Answers clients until a signal ends the program.
fn listen(address: &str, token: Option<String>, console: &Console) -> Outcome<()> {
    let token = token.map_or_else(serve::token, Ok)?;
    interrupt::expect();
    let bound = Server::bind(address, token.clone()).and_then(|server| {
        let address = server.address().map_err(|fault| straggler_measure::latency::ServerError::Address {
            address: address.into(),
            fault,
        })?;
        Ok((server, address.to_string()))
    });
    let (server, address) = bound.map_err(|fault| Failure::new(Exit::Usage, fault))?;
    let command = format!("straggler latency measure --kernel tcp --connect {address} --token {token}");
    match console.json {
        true => console.print_json(&ListenAnswer { address, token: &token, command: &command })?,
        false => {
            console.print_verbatim(&format!("{command}\n"))?;
            console.note(
                "Run this on the other host; an address that begins with 127. works on this host only. \
                 Press Ctrl-C to stop.",
            );
        }
    }
    server.serve(interrupt::flag());
    Ok(())
}

#[derive(Debug, Serialize)]
pub struct MeasureLatencyAnswer<'a> {
    pub kernel: &'a str,
    pub finished: bool,
    pub interruptions: &'a [String],
    pub notes: &'a [String],
    pub processes: &'a [Process],
    pub series: Vec<SeriesAnswer<'a>>,
    pub timers: &'a [Timer],
    pub machines: &'a [Machine],
    pub warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct SeriesAnswer<'a> {
    #[serde(flatten)]
    pub labels: &'a Labels,
    pub count: u64,
    /// Trials shorter than the subtracted timer cost, and trials beyond the last bin.
    pub underflow: u64,
    pub overflow: u64,
    pub min_ps: u64,
    pub max_ps: u64,
    pub mean_ps: f64,
    pub sd_ps: Option<f64>,
    /// Quantiles with at least ten trials beyond them.
    pub quantiles: Vec<QuantileAnswer>,
    pub cycle_minima_ps: Vec<u64>,
    /// The subtracted cost of the timer, and its cost during the run.
    pub timer_subtracted_ps: Option<u64>,
    pub timer_median_ps: Option<u64>,
    pub timer_max_ps: Option<u64>,
}

/// A quantile and its bounds.
#[derive(Debug, Serialize)]
pub struct QuantileAnswer {
    pub quantile: f64,
    pub low_ps: u64,
    pub high_ps: u64,
    /// Its bound if it lies outside the bins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Outside>,
}

impl<'a> MeasureLatencyAnswer<'a> {
    pub fn new(measurement: &'a Measurement) -> MeasureLatencyAnswer<'a> {
        MeasureLatencyAnswer {
            kernel: &measurement.kernel,
            finished: measurement.is_finished(),
            interruptions: &measurement.interruptions,
            notes: &measurement.notes,
            processes: &measurement.processes,
            series: measurement.series.iter().map(SeriesAnswer::new).collect(),
            timers: &measurement.timers,
            machines: &measurement.machines,
            warnings: measurement.doubts(),
        }
    }
}

impl<'a> SeriesAnswer<'a> {
    fn new(series: &'a Series) -> SeriesAnswer<'a> {
        let trials = &series.trials;
        let calls = &series.timer.calls;
        SeriesAnswer {
            labels: &series.labels,
            count: trials.count(),
            underflow: trials.underflow(),
            overflow: trials.overflow(),
            min_ps: trials.min().unwrap_or_default().ps(),
            max_ps: trials.max().unwrap_or_default().ps(),
            mean_ps: trials.mean_ps().unwrap_or(0.0),
            sd_ps: trials.variance_ps2().map(f64::sqrt),
            quantiles: QUANTILES
                .iter()
                .filter_map(|&quantile| QuantileAnswer::new(trials, quantile))
                .collect(),
            cycle_minima_ps: series.minima.iter().map(|time| time.ps()).collect(),
            timer_subtracted_ps: series.timer.subtracted.map(|bounds| bounds.low.ps()),
            timer_median_ps: calls.quantile(0.5).map(|bounds| bounds.middle().ps()),
            timer_max_ps: calls.max().map(|time| time.ps()),
        }
    }
}

impl QuantileAnswer {
    fn new(trials: &Histogram, quantile: f64) -> Option<QuantileAnswer> {
        let bounds = trials.quantile(quantile).filter(|_| is_supported(trials.count(), quantile))?;
        let outside = trials.outside(quantile);
        Some(QuantileAnswer { quantile, low_ps: bounds.low.ps(), high_ps: bounds.high.ps(), outside })
    }
}

/// Quantiles reported if there are enough trials.
pub const QUANTILES: [f64; 8] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999];

/// A quantile with fewer trials beyond it is mostly chance.
const BEYOND: f64 = 10.0;

pub fn is_supported(count: u64, quantile: f64) -> bool {
    // Slightly less, to allow for the rounding of 1 - 0.99.
    count as f64 * (1.0 - quantile) >= BEYOND * (1.0 - 1e-6)
}
