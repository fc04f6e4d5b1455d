//! straggler: what small local delays cost at scale, and whose fault it is.
//!
//! What was typed ([`args`]) is validated ([`plan`]) and becomes library options in the stage that
//! runs it ([`commands`]). Every way out is one of the codes of [`exit`].

mod allocator;
mod args;
mod commands;
mod console;
mod exit;
mod interrupt;
mod memory;
mod meter;
mod plan;

use clap::Parser;
use console::Console;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    let console = Console::new(&cli.common);
    match commands::run(cli, &console) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => console.fail(&failure),
    }
}
