//! straggler: what small local delays cost at scale, and whose fault it is.
//!
//! What was typed (`args`) is validated (`plan`) and becomes library options in the stage that
//! runs it (`commands`). Every way out is one of the codes of `exit`.

// Both end the program when nobody can read what they print; `console.rs` does not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod allocator;
mod answers;
mod args;
mod checkpoints;
mod cluster;
mod commands;
mod console;
mod devices;
mod estimate;
mod exit;
mod inputs;
mod interrupt;
mod invocation;
mod memory;
mod meter;
mod metrics;
pub mod on_cluster;
mod pages;
mod places;
mod plan;
mod shell;
mod stderr;
mod threads;
mod token;
mod work;

use clap::Parser;
use console::Console;
use std::process::ExitCode;

/// The program `straggler`, from its arguments to its exit code.
pub fn main() -> ExitCode {
    // As early as can be: a signal before this ends the program as the system has it, not with 130. A command that is
    // recorded takes its signals itself.
    if !std::env::args_os().any(|word| word == "trace") {
        interrupt::listen();
    }
    let cli = args::Cli::parse();
    let console = Console::new(&cli.common);
    match commands::run(cli, &console) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => console.fail(&failure),
    }
}
