//! The former name of `straggler mpi`, for one release: it becomes the `straggler` beside it, with the same arguments.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let beside = std::env::current_exe().map(|own| own.with_file_name("straggler"));
    let program =
        beside.ok().filter(|program| program.is_file()).unwrap_or_else(|| PathBuf::from("straggler"));
    // Returns only if that fails.
    let error = Command::new(&program).arg("mpi").args(std::env::args_os().skip(1)).exec();
    eprintln!("error: {} cannot be started: {error}; run `straggler mpi` instead", program.display());
    ExitCode::from(3)
}
