//! What is generated from the definition of the command line.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// Completions for a shell, on stdout
#[derive(Debug, Args)]
#[command(
    after_help = "EXAMPLES\n  straggler completions bash > straggler.bash\n  straggler completions zsh > _straggler"
)]
pub struct Completions {
    pub shell: Shell,
}

/// Write the manual pages
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES\n  straggler man man1")]
pub struct Man {
    /// The folder to write them to; made if it is not there
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}
