//! `straggler measure latency` as typed.

use super::measure::{CoreList, cores_list};
use crate::args::count::count;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use straggler_model::latency::Bins;
use straggler_model::units::Bytes;

const EXAMPLES: &str = "\
EXAMPLES
  Round trips of 1 byte and of 4 KiB over the loopback interface:
  straggler measure latency --kernel tcp --size 1B,4KiB --trials 200 -o tcp.lat

  Hand-overs between all pairs of cores:
  straggler measure latency --kernel futex --trials 200 -o cores.lat

  How long a command takes, from its start to its end:
  straggler measure latency --trials 5 --cycles 2 -- true

BETWEEN TWO HOSTS
  On one host, at an address that the other can reach; it prints the command for the other:
    straggler measure latency --listen 10.0.0.1:7000

BINS
  hdr[:BITS]           2^BITS bins between a power of two and the next, 7 unless given
  fixed:LONGEST/BINS   bins of equal width, such as fixed:100us/1000
  log:SIZE/BINS        the first bin is SIZE wide, bin i is e^(SIZE i) - 1 wide, in microseconds

HOW TO READ IT
  What reading the timer costs at best is taken off every trial. A quantile is told if at least
  ten trials lie beyond it. The file keeps the whole distribution, and the minimum of every cycle.";

/// How long communication, system calls or a command take, as a distribution
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Latency {
    /// What to measure
    #[arg(long, value_enum, value_name = "NAME")]
    pub kernel: Option<KernelName>,
    /// Trials in each cycle [default: so many that it takes some seconds]
    #[arg(long, value_name = "N", value_parser = count::<u64>(1..=1_000_000_000_000))]
    pub trials: Option<u64>,
    /// Cycles, each with a minimum of its own
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count::<u32>(1..=1_000_000))]
    pub cycles: u32,
    /// Bytes of a message, a file access or a copy [default: 1B, 4KiB for file, 64KiB for copy]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub size: Vec<Bytes>,
    /// Where to measure, as in 0-3,8: the first core measures, the second answers; futex takes all pairs, --listen the first
    #[arg(long, value_name = "LIST", value_parser = cores_list)]
    pub cores: Option<CoreList>,
    /// How times are sorted into bins: hdr, fixed:LONGEST/BINS or log:SIZE/BINS
    #[arg(long, value_name = "LAYOUT", default_value = "hdr")]
    pub bins: Bins,
    /// Where the file kernel makes its file [default: the current folder]
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// Answer clients on other hosts at this address until Ctrl-C; without one, clients on this host only
    #[arg(long, value_name = "HOST:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:0",
        conflicts_with_all = ["kernel", "connect", "output", "program", "size", "trials"])]
    pub listen: Option<String>,
    /// Measure to a host that listens, with the tcp kernel
    #[arg(long, value_name = "HOST:PORT", requires = "token")]
    pub connect: Option<String>,
    /// What a listening host has printed; or, with --listen, 32 letters and digits of your own
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// Write the distributions to a file, FILE.lat
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The command kernel: a program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub program: Vec<String>,
}

/// The kernels by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KernelName {
    /// A message over TCP and back, on this host or to another
    Tcp,
    /// A message over a Unix socket and back
    UnixSocket,
    /// A message over a pipe and back over another
    Pipe,
    /// Waking a thread that sleeps on another core, and being woken by it
    Futex,
    /// getpid, clock_gettime as a real system call, a read of one byte
    SystemCalls,
    /// A write with fsync, and a read
    File,
    /// A copy of memory
    Copy,
    /// The program behind --
    Command,
}
