//! Command-line arguments.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use straggler::on_cluster::assess::AssessNodes;
use straggler::on_cluster::{Common, Redundancy, Replay, Simulate, Study};
use straggler_model::Time;
use straggler_model::units::Bytes;

/// straggler in an MPI job: measures networks and nodes, and simulates, studies and replays on many nodes.
#[derive(Parser, Debug)]
#[command(
    name = "straggler-mpi",
    version,
    after_help = "Example:\n  mpirun -n 4 straggler-mpi latency -o four.lat\n  straggler diagnose four.lat"
)]
pub struct Arguments {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    Assess(Box<AssessNodes>),
    /// Measures latencies between all pairs of processes, as distributions
    ///
    /// Every process cycles through all of its peers, in an order in which no process has to wait for a third, and exchanges
    /// messages with each (Settlemyer et al., "Confidence"). Times are kept as histograms, by pair and by class of pairs.
    #[command(after_help = "Examples:\n  mpirun -n 4 straggler-mpi latency -o four.lat\n  \
        mpirun -n 8 straggler-mpi latency --sweep --trials 10000 -o sweep.lat\n  \
        mpirun -n 4 straggler-mpi latency --kernel allreduce --sizes 8,64KiB -o allreduce.lat")]
    Latency(LatencyOptions),
    /// Measures the parameters of LogGP between two processes, for `straggler … --network`
    ///
    /// L, o_s, o_r, g, G, O and S of the model, with confidence intervals, from trains of messages with and without
    /// computation between them (Hoefler et al., "Low-overhead LogGP parameter assessment"). Rank 0 measures with the first
    /// process on another node; further processes are idle. Where protocols change with the size, each gets its own line.
    #[command(
        name = "loggp",
        after_help = "Examples:\n  mpirun -n 2 straggler-mpi loggp\n  \
        straggler predict run --network measured\n  \
        mpirun -n 2 --map-by node straggler-mpi loggp --largest 1MiB -o net.toml"
    )]
    LogGp(LogGpOptions),
    /// Re-enacts a traced run with real messages, as it was or with a hypothesis of `straggler whatif`
    ///
    /// Needs as many processes as the trace has ranks. Messages, requests and collectives are real; a process computes by keeping
    /// its core busy or by sleeping for as long as the traced one did, or would with the hypothesis. Calls that cannot be re-enacted
    /// (one-sided, files) are named and take the time they took. Writes a trace of the new run, and shows it beside the measured
    /// and the simulated one.
    #[command(after_help = "Examples:\n  straggler trace -o run -- mpirun -n 4 ./program\n  \
        mpirun -n 4 straggler-mpi replay run -o again\n  \
        mpirun -n 4 straggler-mpi replay run --balance solve -o balanced\n  \
        straggler whatif run --balance solve --replayed balanced\n  \
        mpirun -n 4 straggler-mpi replay run --scale all=0.5 --mode recorded --compute sleep -o half")]
    Replay(Box<Replay>),
    /// Compares the simulation with real collectives on this machine
    ///
    /// Runs barriers (dissemination), allreduces (recursive doubling) and broadcasts (binomial tree) of messages of its own, with detours
    /// injected into the ranks at known times, and simulates the same runs: with LogGP parameters measured between them, the same detours,
    /// and those that the machine added itself. Prints predicted and measured slowdown of every case. Each rank needs a core of
    /// its own.
    #[command(after_help = "Examples:\n  mpirun -n 2 --bind-to core straggler-mpi validate\n  \
        mpirun -n 16 --bind-to core straggler-mpi validate --detours 25us --work 0s,1ms -o validation.json")]
    Validate(ValidateOptions),
    /// Runs a schedule, a collective or a workload on simulated processes that all ranks of the job share
    ///
    /// Takes the options of `straggler simulate` and gives the same finish times, whatever the number of ranks; each rank holds
    /// its share of the processes, so a job can simulate more than fits into the memory of one node.
    #[command(
        after_help = "Examples:\n  mpirun -n 4 straggler-mpi simulate --collective allreduce --processes 4194304 \\\n      \
        --network chic --threads 1\n  mpirun -n 2 straggler-mpi simulate big.bin --network chic --finish-times finish.csv"
    )]
    Simulate(Box<Simulate>),
    /// Shows how much of the cost of noise redundant messages recover, on simulated processes that all ranks share
    ///
    /// Takes the options of `straggler redundancy` and gives the same numbers, whatever the number of ranks.
    #[command(
        after_help = "Example:\n  mpirun -n 4 straggler-mpi redundancy --processes 1048576 --network chic --compute 100us \\\n      \
        --noise poisson:rate=1kHz,duration=50us"
    )]
    Redundancy(Box<Redundancy>),
    /// Runs a study with its simulations spread over the ranks of the job
    ///
    /// Takes the options of `straggler study run`, saves results as they arrive, resumes after an interruption, and writes the
    /// same bytes into results.parquet.
    #[command(
        after_help = "Example:\n  mpirun -n 4 straggler-mpi study examples/studies/allreduce.toml -o allreduce"
    )]
    Study(Study),
}

#[derive(Args, Debug)]
pub struct ValidateOptions {
    /// Approximate length of each run; a run is repeated with and without detours
    #[arg(long, value_name = "TIME", default_value = "30ms")]
    pub length: Time,
    /// How often each case is measured; the median counts
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = at_least::<1>)]
    pub repetitions: usize,
    /// Lengths of the detours, one case each
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', default_value = "16us,50us,100us,200us")]
    pub detours: Vec<Time>,
    /// Time from one detour of a rank to the next
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub period: Time,
    /// Work of a rank between two collectives; 0s is back to back
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', default_value = "0s,100us")]
    pub work: Vec<Time>,
    /// Also writes the result to this file, as JSON
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct LogGpOptions {
    /// The largest message
    #[arg(long, value_name = "BYTES", default_value = "4MiB")]
    pub largest: Bytes,
    /// How often all experiments are run; confidence intervals need six
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = at_least::<6>)]
    pub batches: usize,
    /// How often each experiment is repeated in a batch; the lower quartile counts
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = at_least::<1>)]
    pub repetitions: usize,
    /// Name of the network in reports [default: the name of the file]
    #[arg(long)]
    pub name: Option<String>,
    /// File for the network; `--network measured` finds the default
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
    /// What is timed
    #[arg(long, value_enum, default_value_t = Kernel::Exchange)]
    pub kernel: Kernel,
    /// Bytes of a message; several sizes are measured one after the other
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', default_value = "1")]
    pub sizes: Vec<Bytes>,
    /// Passes through all peers in each cycle
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub trials: u64,
    /// Cycles; the minimum of each is kept separately
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub cycles: u32,
    /// Number of peers that each process exchanges messages with; several numbers are measured one after the other [default: all]
    #[arg(long, value_name = "N,…", value_delimiter = ',', conflicts_with = "sweep")]
    pub peers: Vec<u32>,
    /// How many processes of each node communicate, while the others wait [default: all]
    #[arg(long, value_name = "N,…", value_delimiter = ',', conflicts_with = "sweep")]
    pub per_node: Vec<u32>,
    /// Measures 1, 2, 4, … processes per node, each with 1, 2, 4, … peers, and on 1, 2, 4, … switches where Slurm reports them
    #[arg(long)]
    pub sweep: bool,
    /// Stops after this many seconds and keeps what was measured
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub time_limit: Option<u64>,
    /// File for the distributions
    #[arg(short, long, value_name = "FILE", default_value = "latency.lat")]
    pub output: PathBuf,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kernel {
    /// MPI_Sendrecv between both of a pair
    Exchange,
    /// A message there and one back
    PingPong,
    /// MPI_Irecv and MPI_Isend, then MPI_Wait for both, between both of a pair
    Nonblocking,
    /// MPI_Barrier
    Barrier,
    /// MPI_Bcast from the first process
    Bcast,
    /// MPI_Allreduce
    Allreduce,
    /// MPI_Alltoall, this many bytes to each
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
