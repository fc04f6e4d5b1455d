//! `straggler network` as typed.

use crate::kernel::exit::Outcome;
use crate::kernel::typed::text;
use crate::kernel::valid::Check;
use clap::{Args, Subcommand};
use straggler_model::network::Factor;

const EXAMPLES: &str = "\
EXAMPLES
  straggler network list
  straggler network show chic
  straggler network show slingshot-11,L=800ns --network-scale 2";

/// List and show network presets
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Network {
    #[command(subcommand)]
    pub command: NetworkCommand,
}

#[derive(Debug, Subcommand)]
pub enum NetworkCommand {
    /// List all presets and the sources of their numbers
    #[command(after_help = "EXAMPLES\n  straggler network list\n  straggler network list --json")]
    List,
    /// Print a network as a file for --network
    #[command(
        after_help = "EXAMPLES\n  straggler network show chic\n  straggler network show L=1us,o=300ns,g=200ns,G=25GB/s"
    )]
    Show(Show),
}

#[derive(Debug, Args)]
pub struct Show {
    /// A preset, LogGOPS parameters or a .toml file
    #[arg(value_parser = text())]
    pub network: String,
    /// Make the network faster by this factor: L, g and G are divided by it
    #[arg(long, value_name = "FACTOR")]
    pub network_scale: Option<Factor>,
    /// Write to a file instead of stdout
    #[arg(short, long, value_name = "FILE.toml")]
    pub output: Option<std::path::PathBuf>,
}

impl Check for NetworkCommand {
    fn check(&self) -> Outcome<()> {
        Ok(())
    }
}
