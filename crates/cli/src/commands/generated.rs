//! Completions and manual pages, generated from the definition of the command line.

use crate::args::Cli;
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::Path;

pub fn completions(shell: Shell, console: &Console) -> Outcome<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "straggler", &mut text);
    console.print_verbatim(&String::from_utf8_lossy(&text))
}

pub fn man(directory: &Path, console: &Console) -> Outcome<()> {
    let problem = |error: std::io::Error| {
        Failure::bad_input(format!("{}: cannot be written: {error}", directory.display()))
    };
    std::fs::create_dir_all(directory).map_err(problem)?;
    clap_mangen::generate_to(Cli::command(), directory).map_err(problem)?;
    console.note(&format!("manual pages are in {}", directory.display()));
    Ok(())
}
