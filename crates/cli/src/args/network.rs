//! `straggler network` as typed.

use clap::{Args, Subcommand};
use straggler_model::network::Factor;

const EXAMPLES: &str = "\
EXAMPLES
  straggler network list
  straggler network show chic
  straggler network show slingshot-11,L=800ns --network-scale 2";

/// The networks that are known by name
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Network {
    #[command(subcommand)]
    pub command: NetworkCommand,
}

#[derive(Debug, Subcommand)]
pub enum NetworkCommand {
    /// All presets and where their numbers come from
    #[command(after_help = "EXAMPLES\n  straggler network list\n  straggler network list --json")]
    List,
    /// A network as a file that --network reads
    #[command(
        after_help = "EXAMPLES\n  straggler network show chic\n  straggler network show L=1us,o=300ns,g=200ns,G=25GB/s"
    )]
    Show(Show),
}

#[derive(Debug, Args)]
pub struct Show {
    /// A preset, LogGOPS parameters or a .toml file
    pub network: String,
    /// Make it this many times faster: L, g and G are divided by it
    #[arg(long, value_name = "FACTOR")]
    pub network_scale: Option<Factor>,
    /// Write to a file instead of stdout
    #[arg(short, long, value_name = "FILE.toml")]
    pub output: Option<std::path::PathBuf>,
}
