//! `straggler simulate` as typed.

use crate::kernel::gates::{ChecksOption, limits_help};
use crate::kernel::prelude::*;
pub use crate::kernel::typed::{RankRanges, TimeRange};
use crate::kernel::typed::{count, noise, text};
use crate::simulate::collective::{DataOptions, Repetition};
use crate::{
    kernel::devices::DeviceOption, latency::drawn::LatencyOptions, report::ReportOption,
    simulate::links::ChangedLink, simulate::workload::WorkloadOptions, trace::file::ReplayOptions,
};
use straggler_model::{network::Factor, units};
use straggler_noise::NoiseSpec;
use straggler_schedule::collectives::Choice;

const EXAMPLES: &str = concat!(
    "\
EXAMPLES
  straggler simulate fixtures/conformance/eager-00.goal --network chic

  straggler simulate fixtures/conformance/dissemination-noise-00.goal \\
      --noise fixtures/conformance/dissemination-noise-00.noise \\
      --network chic --finish-times finish.csv --json

  straggler simulate --collective allreduce:ring --processes 64 --size 1MiB \\
      --network slingshot-11 --noise periodic:rate=1kHz,duration=25us \\
      --compare-quiet

  straggler simulate --collective barrier --processes 4096 --cycles 100 \\
      --compute 1ms --network chic --replicas 20 \\
      --noise 'poisson:rate=10Hz,duration=lognormal(median=50us,sigma=1)'

  straggler simulate --collective bcast --processes 1024 --size 8 --explain \\
      --network chic --noise delay:rank=0,at=0us,duration=1ms

  straggler simulate --collective allgatherv --sizes 1KiB,8KiB --processes 48 \\
      --network chic --algorithms mpich

  straggler simulate --workload pop --processes 128 --network chic

  straggler simulate --collective alltoall:pairwise --processes 64 \\
      --size 64KiB --network slingshot-11 --topology fat-tree:radix=16,taper=2

  How long does a traced program take by the model, and in the trace?
  straggler simulate fixtures/traces/halo --fail-if 'error>20%'

  straggler simulate fixtures/traces/halo --copies 64 --network chic \\
      --noise chic --compare-quiet

  straggler simulate fixtures/traces/halo --fit --copies 4 --only collectives

  straggler simulate --collective barrier --processes 4096 --network chic \\
      --latency-distribution fixtures/latency/synthetic.txt --replicas 20

  straggler simulate --collective barrier --processes 100000 --cycles 50 \\
      --network chic --checkpoint state --checkpoint-every 10s --resume

  straggler simulate --collective allreduce --processes 64 --network altix \\
      --timeline timeline.json --timeline-ranks 0-7,9 --timeline-range 0us-50us

  straggler simulate --collective allreduce --processes 1024 --size 1MiB \\
      --network chic --noise periodic:rate=1kHz,duration=25us --replicas 20 \\
      --compare-quiet --fail-if 'slowdown>1.6x'

METRICS   for --fail-if and --prometheus: makespan ('makespan>1ms'), and with
          --compare-quiet slowdown, T/T0 - 1 ('slowdown>50%', 'slowdown>1.5x');
          for traces error, the relative error of the prediction as an absolute
          value ('error>10%'), predicted and traced, the two times. There is
          an interval from 6 replicas on
",
    limits_help!(),
    "
NETWORKS  parameters (L=2500ns,o=1500ns,g=1000ns,G=6ns,O=0ns,S=65535), a preset
          (chic) or a file (net.toml); changes to a preset or a file follow a
          comma (chic,L=1us)
TOPOLOGY  star:hosts=64, fat-tree:radix=64,levels=3,taper=2, torus:size=8x8x8,
          mesh:size=4x4, dragonfly:routers=16 or a file (net.toml); keys: L and
          G of a link, segment, seed; of trees radix, levels (2 or 3), taper,
          hosts, hosts-per-leaf, leaves-per-pod, up, routing (hash or pooled);
          of tori and meshes size, hosts-per-router; of dragonflies routers (in
          a group), groups, hosts-per-router, global-links (of a router),
          global-L, global-G, routing (minimal or valiant).
          `straggler network show SHAPE` lists its links
PLACEMENT cyclic: rank r runs on host r modulo the number of hosts; block:
          neighbouring ranks share a host if there are more ranks than hosts;
          random[:SEED]; hosts:FILE with one host in each line, hosts:a,b or a
          list such as n[001-512]: rank r runs on the r-th, and neighbouring
          ranks share a host if the list is shorter
NOISE     none, a trace file, trace:file=PATH,
          trace:files=PREFIX.{rank},count=N,
          periodic:period=TIME,duration=TIME,
          poisson:rate=FREQUENCY,duration=DISTRIBUTION,
          delay:rank=R,at=TIME,duration=TIME, a built-in signature (chic), or a
          signature file (x.toml); add ranks=FIRST-LAST to limit it to some
          ranks, join sources with +
LATENCY   a file with one measured time per line, such as 1.9us, or with
          `# unit: us` and plain numbers
REPLICAS  each draws new offsets into the noise and new latencies. With several
          replicas, makespan and finish times are those of the replica with the
          median makespan"
);

/// Simulate a schedule, a collective, a workload or a trace, and report when its processes finish
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Simulate {
    /// A schedule (GOAL text or binary), or a trace of an MPI program (its folder, or a file in it)
    #[arg(value_name = "FILE.goal|FILE.bin|TRACE")]
    #[arg(conflicts_with_all = ["collective", "processes", "size", "sizes", "cycles", "compute", "root"])]
    #[arg(conflicts_with_all = ["workload"])]
    pub file: Option<PathBuf>,

    #[command(flatten)]
    pub replay: ReplayOptions,

    #[command(flatten)]
    pub collective: CollectiveOptions,

    #[command(flatten)]
    pub workload: WorkloadOptions,

    #[command(flatten)]
    pub model: ModelOptions,

    #[command(flatten)]
    pub noise: NoiseOptions,

    #[command(flatten)]
    pub checkpoints: CheckpointOptions,

    #[command(flatten)]
    pub outputs: OutputOptions,
    #[command(flatten)]
    pub report: ReportOption,
    #[command(flatten)]
    pub checks: ChecksOption,
}

/// A collective, instead of a file.
#[derive(Debug, Args)]
#[command(next_help_heading = "Collective")]
pub struct CollectiveOptions {
    /// Simulate a collective: allreduce, allreduce:ring, bcast:chain,segment=8KiB, …; see `straggler schedule
    /// algorithms` for a list
    #[arg(long, value_name = "OPERATION[:ALGORITHM[,KEY=VALUE…]]", requires = "processes")]
    pub collective: Option<Choice>,
    /// Number of processes
    #[arg(long, value_name = "P", value_parser = count::<u32>(1..))]
    pub processes: Option<u32>,
    #[command(flatten)]
    pub data: DataOptions,
    #[command(flatten)]
    pub repetition: Repetition,
}

/// The machine and how it is simulated.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub struct ModelOptions {
    /// The network: LogGOPS parameters, a preset, a .toml file, `measured` (measured.toml), or for a trace `fit`
    #[arg(long, value_name = "NETWORK", value_parser = text())]
    pub network: Option<String>,
    /// Links that messages share: a star, a fat tree, a torus, a mesh, a dragonfly, or a .toml file of hosts and links
    #[arg(long, value_name = "FILE.toml|SHAPE:KEY=VALUE…", value_parser = text())]
    pub topology: Option<String>,
    /// The host of each rank: in blocks, in turn, at random, or from a list (Slurm's form) or a file of hosts
    #[arg(long, value_name = "cyclic|block|random[:SEED]|hosts:FILE|n[001-512]", value_parser = text())]
    #[arg(requires = "topology")]
    pub placement: Option<String>,
    /// Leave a link only a share of its bandwidth; repeat the option for more links
    #[arg(long, value_name = "END/END=SHARE", value_parser = ChangedLink::degraded, requires = "topology")]
    pub degrade: Vec<ChangedLink>,
    /// Let a link fail; repeat the option for more links
    #[arg(long, value_name = "END/END", value_parser = ChangedLink::failed, requires = "topology")]
    pub fail: Vec<ChangedLink>,
    /// Fit the parameters of the network to the trace; the default for traces without --network
    #[arg(long, conflicts_with = "network")]
    pub fit: bool,
    /// Write the fitted network to a file for --network
    #[arg(long, value_name = "FILE.toml")]
    pub save_network: Option<PathBuf>,
    /// Make the network faster by this factor: L, g and G are divided by it
    #[arg(long, value_name = "FACTOR")]
    pub network_scale: Option<Factor>,
    #[command(flatten)]
    pub latency: LatencyOptions,
    /// Latency of a rendezvous acknowledgement: L of the network, or a time
    #[arg(long, value_name = "0|L|TIME", default_value = "L", value_parser = acknowledgement)]
    pub rendezvous_ack: TypedAcknowledgement,
    /// Receive the bytes of a message without occupying the CPU of the receiver
    #[arg(long)]
    pub receive_overlap: bool,
    /// Simulation engine; all give the same results
    #[arg(long, value_enum, default_value_t)]
    pub engine: TypedEngine,
    #[command(flatten)]
    pub device: DeviceOption,
    /// Accept messages that are never received
    #[arg(long)]
    pub allow_leftovers: bool,
}

/// Noise on the processes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Noise")]
pub struct NoiseOptions {
    /// Noise on the processes; repeat the option or join sources with + to superpose them
    #[arg(long, value_name = "FILE|SPEC", value_parser = noise())]
    pub noise: Vec<NoiseSpec>,
    /// Offset of each process into the noise: a file with one number of nanoseconds per line, in rank order
    #[arg(long, value_name = "FILE", conflicts_with = "cosched")]
    pub noise_offsets: Option<PathBuf>,
    /// Co-schedule the noise: all processes have the same noise at the same time
    #[arg(long)]
    pub cosched: bool,
    /// Let noise also strike during the time that earlier noise added
    #[arg(long)]
    pub wallclock: bool,
    /// Number of runs, each with new random offsets
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = count::<u32>(1..))]
    pub replicas: u32,
    /// Run only this replica, counted from 0
    #[arg(long, value_name = "K", conflicts_with = "replicas")]
    pub replica: Option<u32>,
    /// Also run without noise and report the slowdown
    #[arg(long)]
    pub compare_quiet: bool,
}

/// Long runs that may be killed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Checkpoints")]
pub struct CheckpointOptions {
    /// Save the state of the run in this folder, so that it can resume after a crash or kill
    #[arg(long, value_name = "DIR")]
    pub checkpoint: Option<PathBuf>,
    /// Wall-clock time between checkpoints
    #[arg(long, value_name = "TIME", default_value = "5min", value_parser = units::time, requires = "checkpoint")]
    pub checkpoint_every: Time,
    /// Resume from the checkpoint in the folder, if there is one; the number of threads may differ
    #[arg(long, requires = "checkpoint")]
    pub resume: bool,
}

/// Where results go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputOptions {
    /// Write the finish time of every rank: rank,finish_ps as CSV, or Parquet for .parquet
    #[arg(long, value_name = "OUT.csv|OUT.parquet")]
    pub finish_times: Option<PathBuf>,
    /// Write a timeline for ui.perfetto.dev or chrome://tracing
    #[arg(long, value_name = "OUT.json|OUT.json.gz")]
    pub timeline: Option<PathBuf>,
    /// Limit the timeline to these ranks
    #[arg(long, value_name = "0-7,9", requires = "timeline")]
    pub timeline_ranks: Option<RankRanges>,
    /// Limit the timeline to this range of simulated time
    #[arg(long, value_name = "10us-50us", requires = "timeline")]
    pub timeline_range: Option<TimeRange>,
    /// Report the critical path: the chain of events that determines the makespan, and its parts
    #[arg(long)]
    pub explain: bool,
    /// Write the JSON object to a file
    #[arg(short, long, value_name = "OUT.json")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TypedEngine {
    /// Windowed, unless the network has no lookahead
    #[default]
    Auto,
    /// One event queue, sequential
    Reference,
    /// Windows of simulated time, parallel
    Windowed,
}

/// `0`, `L` or a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypedAcknowledgement {
    Latency,
    Fixed(Time),
}

fn acknowledgement(text: &str) -> Result<TypedAcknowledgement, String> {
    match text {
        "L" => Ok(TypedAcknowledgement::Latency),
        _ => units::time(text)
            .map(TypedAcknowledgement::Fixed)
            .map_err(|fault| format!("{fault}; or write L for the network's latency")),
    }
}
