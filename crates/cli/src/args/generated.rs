//! What is generated from the definition of the command line.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// Print shell completions to stdout
#[derive(Debug, Args)]
#[command(
    after_help = "EXAMPLES\n  straggler completions bash > straggler.bash\n  straggler completions zsh > _straggler"
)]
pub struct Completions {
    pub shell: Shell,
}

/// Write the files that the examples of the help and the guide read
///
/// Every example of the help and of the guide works as pasted in this folder. Most of the files are synthetic, and those
/// that are say so.
#[derive(Debug, Args)]
#[command(
    after_help = "EXAMPLES\n  straggler examples demo\n  straggler noise show demo/fixtures/noise/selfish.0"
)]
pub struct Examples {
    /// Folder for the files; created if missing
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

/// Write the manual pages
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES\n  straggler man man1")]
pub struct Man {
    /// Folder for the pages; created if missing
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}
