//! Command-line arguments.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use straggler::on_cluster::assess::AssessNodes;
use straggler::on_cluster::{Common, Redundancy, Replay, Simulate, Study};
use straggler_model::Time;
use straggler_model::units::Bytes;

const EXAMPLES: &str = "\
EXAMPLES
  mpirun -n 4 straggler-mpi latency -o four.lat
  straggler diagnose four.lat";

/// Measure networks and nodes from within an MPI job, and simulate, study
/// and replay on many nodes
#[derive(Parser, Debug)]
#[command(name = "straggler-mpi", version, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    Assess(Box<AssessNodes>),
    /// Measure the latency distributions between all pairs of processes
    ///
    /// Every process cycles through all of its peers, in an order in which no
    /// process has to wait for a third, and exchanges messages with each
    /// (Settlemyer et al., "Confidence"). Times are kept as histograms, by
    /// pair and by class of pairs.
    #[command(after_help = LATENCY_EXAMPLES)]
    Latency(LatencyOptions),
    /// Measure the LogGP parameters between two processes, for --network
    ///
    /// Measures L, o_s, o_r, g, G, O and S of the model, with confidence
    /// intervals, from trains of messages with and without computation between
    /// them (Hoefler et al., "Low-overhead LogGP parameter assessment"). Rank 0
    /// measures with the first process on another node; all other processes
    /// are idle. If the protocol changes with the message size, each protocol
    /// gets its own line.
    #[command(name = "loggp", after_help = LOGGP_EXAMPLES)]
    LogGp(LogGpOptions),
    /// Run a trace again with real messages, unchanged or with the changes of
    /// `straggler whatif`
    ///
    /// Needs as many processes as the trace has ranks. Messages, requests and
    /// collectives are real. A process computes by keeping its core busy, or by
    /// sleeping, for as long as the traced one did, or would with the changes.
    /// Calls that cannot be repeated (one-sided, files) are named and take
    /// their traced time. Writes a trace of the new run, and compares it with
    /// the measured and the simulated one.
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(Box<Replay>),
    /// Compare the simulation with real collectives on this machine
    ///
    /// Runs barriers (dissemination), allreduces (recursive doubling) and
    /// broadcasts (binomial tree) made of its own messages, with detours
    /// injected into the ranks at known times. Simulates the same runs with
    /// LogGP parameters measured in between, the same detours, and those of the
    /// machine itself. Prints the predicted and the measured slowdown of every
    /// case. Each rank needs a core of its own.
    #[command(after_help = VALIDATE_EXAMPLES)]
    Validate(ValidateOptions),
    /// Simulate a schedule, a collective or a workload, with the simulated
    /// processes divided among the ranks
    ///
    /// Takes the options of `straggler simulate` and gives the same finish
    /// times, whatever the number of ranks. Each rank holds its share of the
    /// processes, so a job can simulate more than fits into the memory of one
    /// node.
    #[command(after_help = SIMULATE_EXAMPLES)]
    Simulate(Box<Simulate>),
    /// Measure how much of the cost of noise redundant exchanges recover, with
    /// the simulated processes divided among the ranks
    ///
    /// Takes the options of `straggler redundancy` and gives the same numbers,
    /// whatever the number of ranks.
    #[command(after_help = REDUNDANCY_EXAMPLES)]
    Redundancy(Box<Redundancy>),
    /// Run a parameter study, with its simulations divided among the ranks
    ///
    /// Takes the options of `straggler study run`, saves results as they
    /// arrive, resumes after an interruption, and writes the same bytes to
    /// results.parquet.
    #[command(after_help = STUDY_EXAMPLES)]
    Study(Study),
}

const LATENCY_EXAMPLES: &str = "\
EXAMPLES
  mpirun -n 4 straggler-mpi latency -o four.lat

  mpirun -n 8 straggler-mpi latency --sweep --trials 10000 -o sweep.lat

  mpirun -n 4 straggler-mpi latency --kernel allreduce --sizes 8,64KiB \\
      -o allreduce.lat";

const LOGGP_EXAMPLES: &str = "\
EXAMPLES
  mpirun -n 2 straggler-mpi loggp
  straggler predict run --network measured

  mpirun -n 2 --map-by node straggler-mpi loggp --largest 1MiB -o net.toml";

const REPLAY_EXAMPLES: &str = "\
EXAMPLES
  straggler trace -o run -- mpirun -n 4 ./program
  mpirun -n 4 straggler-mpi replay run -o again

  mpirun -n 4 straggler-mpi replay run --balance solve -o balanced
  straggler whatif run --balance solve --replayed balanced

  mpirun -n 4 straggler-mpi replay run --scale all=0.5 --mode recorded \\
      --compute sleep -o half";

const VALIDATE_EXAMPLES: &str = "\
EXAMPLES
  mpirun -n 2 --bind-to core straggler-mpi validate

  mpirun -n 16 --bind-to core straggler-mpi validate --detours 25us \\
      --work 0s,1ms -o validation.json";

const SIMULATE_EXAMPLES: &str = "\
EXAMPLES
  mpirun -n 4 straggler-mpi simulate --collective allreduce \\
      --processes 4194304 --network chic --threads 1

  mpirun -n 2 straggler-mpi simulate big.bin --network chic \\
      --finish-times finish.csv";

const REDUNDANCY_EXAMPLES: &str = "\
EXAMPLES
  mpirun -n 4 straggler-mpi redundancy --processes 1048576 --network chic \\
      --compute 100us --noise poisson:rate=1kHz,duration=50us";

const STUDY_EXAMPLES: &str = "\
EXAMPLES
  mpirun -n 4 straggler-mpi study examples/studies/allreduce.toml \\
      -o allreduce";

#[derive(Args, Debug)]
pub struct ValidateOptions {
    /// Approximate length of each run, with and without detours
    #[arg(long, value_name = "TIME", default_value = "30ms")]
    pub length: Time,
    /// Repetitions of each case, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = at_least::<1>)]
    pub repetitions: usize,
    /// Lengths of the detours, each a case of its own
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', default_value = "16us,50us,100us,200us")]
    pub detours: Vec<Time>,
    /// Time from one detour of a rank to the next
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub period: Time,
    /// Work of a rank between two collectives; 0s means back to back
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', default_value = "0s,100us")]
    pub work: Vec<Time>,
    /// Write the JSON object to a file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct LogGpOptions {
    /// Size of the largest message
    #[arg(long, value_name = "BYTES", default_value = "4MiB")]
    pub largest: Bytes,
    /// Runs of all experiments; confidence intervals need six
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = at_least::<6>)]
    pub batches: usize,
    /// Repetitions of each experiment in a batch, of which the lower
    /// quartile counts
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = at_least::<1>)]
    pub repetitions: usize,
    /// Name of the network in reports [default: the file name]
    #[arg(long)]
    pub name: Option<String>,
    /// File for the network; `--network measured` reads the default one
    #[arg(short, long, value_name = "FILE", default_value = straggler_model::network::MEASURED_FILE)]
    pub output: PathBuf,
}

fn at_least<const LEAST: usize>(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if (LEAST..=100_000).contains(&number) => Ok(number),
        _ => Err(format!("give a number from {LEAST} to 100000")),
    }
}

#[derive(Args, Debug)]
pub struct LatencyOptions {
    /// What to time
    #[arg(long, value_enum, default_value_t = Kernel::Exchange)]
    pub kernel: Kernel,
    /// Sizes of the messages, measured one after the other
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', default_value = "1")]
    pub sizes: Vec<Bytes>,
    /// Passes through all peers in each cycle
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub trials: u64,
    /// Number of cycles; the minimum of each is kept
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub cycles: u32,
    /// Numbers of peers per process, measured one after the other
    /// [default: all]
    #[arg(long, value_name = "N,…", value_delimiter = ',', conflicts_with = "sweep")]
    pub peers: Vec<u32>,
    /// Numbers of processes per node that communicate while the others
    /// wait, measured one after the other [default: all]
    #[arg(long, value_name = "N,…", value_delimiter = ',', conflicts_with = "sweep")]
    pub per_node: Vec<u32>,
    /// Measure 1, 2, 4, … processes per node, each with 1, 2, 4, … peers,
    /// and on 1, 2, 4, … switches if Slurm reports them
    #[arg(long)]
    pub sweep: bool,
    /// Stop after this many seconds and keep what was measured
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub time_limit: Option<u64>,
    /// File for the distributions
    #[arg(short, long, value_name = "FILE", default_value = "latency.lat")]
    pub output: PathBuf,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kernel {
    /// MPI_Sendrecv between the two processes of a pair
    Exchange,
    /// One message there and one back
    PingPong,
    /// MPI_Irecv and MPI_Isend between a pair, then MPI_Wait for both
    Nonblocking,
    /// MPI_Barrier
    Barrier,
    /// MPI_Bcast from the first process
    Bcast,
    /// MPI_Allreduce
    Allreduce,
    /// MPI_Alltoall, with --sizes bytes to each process
    Alltoall,
}

impl Kernel {
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Exchange => "sendrecv",
            Kernel::PingPong => "ping-pong",
            Kernel::Nonblocking => "isend-irecv",
            Kernel::Barrier => "barrier",
            Kernel::Bcast => "bcast",
            Kernel::Allreduce => "allreduce",
            Kernel::Alltoall => "alltoall",
        }
    }

    /// Whether all processes take part together.
    pub fn is_collective(self) -> bool {
        matches!(self, Kernel::Barrier | Kernel::Bcast | Kernel::Allreduce | Kernel::Alltoall)
    }
}
