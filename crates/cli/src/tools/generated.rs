//! What is generated from the definition of the command line.

use crate::args::definition;
use crate::kernel::console::Console;
use crate::kernel::exit::{Failure, Outcome};
use clap::Args;
use clap_complete::Shell;
use std::path::{Path, PathBuf};

/// Print shell completions to stdout
#[derive(Debug, Args)]
#[command(
    after_help = "EXAMPLES\n  straggler tools completions bash > straggler.bash\n  straggler tools completions zsh > _straggler"
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
    after_help = "EXAMPLES\n  straggler tools examples demo\n  straggler noise show demo/fixtures/noise/selfish.0"
)]
pub struct Examples {
    /// Folder for the files; created if missing
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

/// Write the manual pages
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES\n  straggler tools man man1")]
pub struct Man {
    /// Folder for the pages; created if missing
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

pub fn completions(shell: Shell, console: &Console) -> Outcome<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut definition(), "straggler", &mut text);
    console.print_verbatim(&String::from_utf8_lossy(&text))
}

pub fn man(directory: &Path, console: &Console) -> Outcome<()> {
    let problem = |error: std::io::Error| {
        Failure::bad_input(format!("{}: cannot be written: {error}", directory.display()))
    };
    std::fs::create_dir_all(directory).map_err(problem)?;
    clap_mangen::generate_to(definition(), directory).map_err(problem)?;
    console.note(&format!("manual pages are in {}", directory.display()));
    Ok(())
}
