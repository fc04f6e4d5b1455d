//! The command line of this process, for users who want to run it again.

use crate::shell::quoted;
use std::path::{Path, PathBuf};

/// The command line, quoted for pasting into a shell. Invalid UTF-8 becomes `\u{fffd}`.
pub fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
    std::iter::once(program().to_string()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Name of the running program: two programs use this crate.
fn program() -> &'static str {
    const ON_MPI: &str = "straggler-mpi";
    let name = std::env::args_os().next().map(PathBuf::from);
    let name = name.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    if name.is_some_and(|name| name.starts_with(ON_MPI)) { ON_MPI } else { "straggler" }
}
