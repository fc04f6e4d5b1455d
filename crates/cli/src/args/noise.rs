//! `straggler noise` as typed.

pub mod convert;

use clap::{Args, Subcommand};
use straggler_model::noise::NoiseSpec;

const EXAMPLES: &str = "\
EXAMPLES
  straggler noise show periodic:period=1ms,duration=100us
  straggler noise show fixtures/conformance/eager-noise-00.noise
  straggler noise show periodic:rate=10Hz,duration=25us \\
      delay:rank=4,at=10us,duration=50us
  straggler noise show 'poisson:rate=1kHz,duration=uniform(1us,5us)' --json";

/// What a description of noise means
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Noise {
    #[command(subcommand)]
    pub command: NoiseCommand,
}

#[derive(Debug, Subcommand)]
pub enum NoiseCommand {
    /// The sources of a noise, their detours and the share of time they take
    #[command(after_help = EXAMPLES)]
    Show(Show),
    /// Write noise files in another format
    #[command(after_help = convert::EXAMPLES)]
    Convert(convert::Convert),
}

#[derive(Debug, Args)]
pub struct Show {
    /// A trace file, or a description as --noise takes it; several are superposed
    #[arg(value_name = "FILE|SPEC", required = true, value_parser = NoiseSpec::of_typed)]
    pub noise: Vec<NoiseSpec>,
}
