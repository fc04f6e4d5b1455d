//! `straggler papers redundancy` as typed.

use crate::kernel::typed::{Rounds, count, noise, text};
use crate::report::ReportOption;
use clap::Args;
use std::path::PathBuf;
use straggler_model::Time;
use straggler_noise::NoiseSpec;
use straggler_model::units::Bytes;

const EXAMPLES: &str = "\
EXAMPLES
  The second setting of figure 8 of Chen and Suda, on fewer processes:
  straggler papers redundancy --processes 1024 --cycles 10 \\
      --compute 6.666667ms --noise periodic:period=10ms,duration=100us \\
      --network L=1us,o=1ns,g=0ns,G=1ns,O=0ns,S=65535

  Only in rounds 4 to 8, and only if nothing came from the neighbour for two
  rounds:
  straggler papers redundancy --processes 1024 --cycles 10 --rounds 4-8 \\
      --patience 2 --noise periodic:period=10ms,duration=100us --network chic

HOW IT WORKS
  In each round of a butterfly, a process exchanges data with the one at
  distance 1, 2, 4, … From the second round on, the two partners of the first
  round hold the same data. In the redundant butterfly each hands its data to
  the other, so that a process whose partner is delayed by noise can continue.
  The command compares the conventional butterfly, the redundant one, and a
  quiet one with the same noise in computation and none in communication. The
  recovery ratio is (conventional - redundant) / (conventional - quiet).";

/// Measure how much of an allreduce's noise cost redundant exchanges recover
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(
    override_usage = "straggler papers redundancy [OPTIONS] --processes <P> --network <NETWORK>\n           --noise <FILE|SPEC>"
)]
pub struct Redundancy {
    /// Number of processes, a power of two
    #[arg(long, value_name = "P", value_parser = count::<u32>(1..))]
    pub processes: u32,
    /// Cycles of computation and communication
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count::<u32>(1..))]
    pub cycles: u32,
    /// Computation time of every process in each cycle
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub compute: Time,
    /// Message size in the first round
    #[arg(long, value_name = "BYTES", default_value = "1")]
    pub size: Bytes,
    /// Factor by which messages grow from round to round
    #[arg(long, value_name = "FACTOR", default_value_t = 1, value_parser = count::<u32>(1..))]
    pub growth: u32,
    /// Rounds after which a process hands its data over, counted from 1 [default: all but the first]
    #[arg(long, value_name = "2-5,8")]
    pub rounds: Option<Rounds>,
    /// Hand data over only after this many rounds without a message from the neighbour
    #[arg(long, value_name = "N", value_parser = count::<u8>(1..))]
    pub patience: Option<u8>,
    /// The network: LogGOPS parameters, a preset or a .toml file
    #[arg(long, value_name = "NETWORK", value_parser = text())]
    pub network: String,
    /// Noise on the processes; repeat the option or join sources with + to superpose them
    #[arg(long, value_name = "FILE|SPEC", required = true, value_parser = noise())]
    pub noise: Vec<NoiseSpec>,
    /// Runs of each case, each with new random offsets into the noise
    #[arg(long, value_name = "R", default_value_t = 20, value_parser = count::<u32>(1..))]
    pub replicas: u32,
    /// Skip the two runs without noise, which measure what redundancy costs on a quiet machine
    #[arg(long)]
    pub skip_undisturbed: bool,
    /// Write the JSON object to a file
    #[arg(short, long, value_name = "OUT.json")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub report: ReportOption,
}
