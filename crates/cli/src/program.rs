// The modules of the program and its `main`: included by `main.rs`, and by `tests/cli.rs`, so that the unit tests beside
// the code and the tests that run the program are one test program.

mod args;
mod assess;
mod commands;
mod kernel;
mod latency;
mod mpi;
mod network;
mod noise;
mod papers;
mod report;
mod schedule;
mod serve;
mod show;
mod simulate;
mod study;
mod tools;
mod trace;
mod training;
mod whatif;

use clap::FromArgMatches;
use kernel::console::{self, Console};
use kernel::defaults::{self, Defaults};
use kernel::{interrupt, typed};
use std::process::ExitCode;
use straggler_mpi::Launcher;

#[global_allocator]
static ALLOCATOR: kernel::memory::Refusing = kernel::memory::Refusing;

/// The program `straggler`, from its arguments to its exit code.
fn main() -> ExitCode {
    // As early as possible: before this, a signal ends the program in the system's default way, not with 130. A
    // recorded command handles its signals itself.
    let (words, note) = args::of_process();
    let has = |name: &str| words.iter().any(|word| word == name);
    if !has("record") {
        interrupt::listen();
    }
    let is_of_mpi = has("mpi");
    let launcher = Launcher::of_this_process();
    let color = console::typed_color(&words);
    let defaults = Defaults::find();
    let definition = match &defaults {
        Ok(defaults) => defaults.apply(args::definition()),
        Err(_) => args::definition(),
    };
    let parsed = definition.color(color).try_get_matches_from(words);
    let parsed = parsed.and_then(|matches| Ok((args::Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        // If every process of an MPI job says the same, the launcher ends the others before they do.
        Err(error) if is_of_mpi && !mpi::speaks(&launcher) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            if let Some(rank) = launcher.rank.filter(|_| error.use_stderr()) {
                console::eprint_line(&format!(
                    "error: rank {rank}: {}",
                    first.strip_prefix("error: ").unwrap_or(first)
                ));
            }
            return console::code_of(&error);
        }
        Err(error) => {
            return match defaults.ok().and_then(|defaults| defaults.blamed(&error)) {
                Some(failure) => console::fail_early(&failure, color),
                None => console::print_parser_message(&show::with_command(typed::with_value(error)), color),
            };
        }
    };
    match defaults {
        Ok(defaults) => defaults.note_used(&matches),
        Err(failure) if is_of_mpi && !mpi::speaks(&launcher) => return ExitCode::from(failure.exit as u8),
        Err(failure) => return console::fail_early(&failure, color),
    }
    // The processes of an MPI job agree on who prints.
    if let args::Command::Mpi(typed) = cli.command {
        return mpi::run(typed.command, &cli.common);
    }
    let console = Console::new(&cli.common);
    note.iter().for_each(|note| console.note(note));
    defaults::used().iter().for_each(|setting| console.detail(&setting.to_string()));
    match commands::run(cli, &console) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => console.fail(&failure),
    }
}
