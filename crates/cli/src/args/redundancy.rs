//! `straggler redundancy` as typed.

use super::ranges::Rounds;
use super::report::ReportOption;
use crate::args::count::count;
use clap::Args;
use std::path::PathBuf;
use straggler_model::Time;
use straggler_model::noise::NoiseSpec;
use straggler_model::units::Bytes;

const EXAMPLES: &str = "\
EXAMPLES
  The second setting of Chen and Suda's figure 8, on fewer processes:
  straggler redundancy --processes 1024 --cycles 10 --compute 6.666667ms \\
      --noise periodic:period=10ms,duration=100us \\
      --network L=1us,o=1ns,g=0ns,G=1ns,O=0ns,S=65535

  Only in rounds 4 to 8, and only if the neighbour has not been heard of for two rounds:
  straggler redundancy --processes 1024 --cycles 10 --rounds 4-8 --patience 2 \\
      --noise periodic:period=10ms,duration=100us --network chic

HOW IT WORKS
  In a butterfly a process meets another one in every round, at distance 1, 2, 4, … From the
  second round on the two that met first have the same data. The redundant butterfly lets each
  hand its data to the other, so that a process whose partner is held up by noise can go on.
  Compared are the conventional butterfly, the redundant one, and a quiet one: the same noise in
  computation, none in communication. The recovery ratio is
  (conventional - redundant) / (conventional - quiet).";

/// What redundant exchanges win back of the time that noise costs an allreduce
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Redundancy {
    /// Number of processes: a power of two
    #[arg(long, value_name = "P", value_parser = count::<u32>(1..))]
    pub processes: u32,
    /// Cycles of computation and communication
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count::<u32>(1..))]
    pub cycles: u32,
    /// Computation of every process in a cycle
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub compute: Time,
    /// Bytes of a message in the first round
    #[arg(long, value_name = "BYTES", default_value = "1")]
    pub size: Bytes,
    /// By what factor messages grow from round to round
    #[arg(long, value_name = "FACTOR", default_value_t = 1, value_parser = count::<u32>(1..))]
    pub growth: u32,
    /// Rounds after which a process hands its data over, counted from 1; all but the first unless given
    #[arg(long, value_name = "2-5,8")]
    pub rounds: Option<Rounds>,
    /// Hand over only if the neighbour looks late: nothing was heard of it for more than this many rounds
    #[arg(long, value_name = "N", value_parser = count::<u8>(1..))]
    pub patience: Option<u8>,
    /// The network: LogGOPS parameters, a preset or a .toml file
    #[arg(long, value_name = "NETWORK")]
    pub network: String,
    /// Noise on the processes; given several times, or joined by +, sources are superposed
    #[arg(long, value_name = "FILE|SPEC", required = true, value_parser = NoiseSpec::of_typed)]
    pub noise: Vec<NoiseSpec>,
    /// Runs of each case, with differently drawn offsets into the noise
    #[arg(long, value_name = "R", default_value_t = 20, value_parser = count::<u32>(1..))]
    pub replicas: u32,
    /// Leave out the two runs without any noise, which tell what redundancy costs where nothing disturbs
    #[arg(long)]
    pub skip_undisturbed: bool,
    /// Write the JSON object to a file
    #[arg(short, long, value_name = "OUT.json")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub report: ReportOption,
}
