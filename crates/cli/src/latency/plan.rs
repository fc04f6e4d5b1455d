//! `straggler latency measure` as typed.

use crate::kernel::exit::{Failure, Outcome};
use crate::kernel::typed::{CoreList, cores_list, count};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use straggler_measure::latency::{Effort, Kernel, Remote};
use straggler_model::latency::Bins;
use straggler_model::units::Bytes;

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

/// MeasurePlan the latency distribution of communication, system calls or a command
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
    /// MeasurePlan to a host that runs --listen, with the tcp kernel
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
