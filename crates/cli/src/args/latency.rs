//! `straggler measure latency` as typed.

use super::cores::{CoreList, cores_list};
use crate::args::count::count;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use straggler_model::latency::Bins;
use straggler_model::units::Bytes;

const EXAMPLES: &str = "\
EXAMPLES
  Round trips of 1 byte and of 4 KiB over the loopback interface:
  straggler measure latency --kernel tcp --size 1B,4KiB --trials 200 -o tcp.lat

  Wake-ups between all pairs of cores:
  straggler measure latency --kernel futex --trials 200 -o cores.lat

  Run time of a command:
  straggler measure latency --trials 5 --cycles 2 -- true

BETWEEN TWO HOSTS
  Run this on one host, with an address that the other can reach. It prints the
  other's command:
    straggler measure latency --listen 10.0.0.1:7000

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
pub struct Latency {
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
