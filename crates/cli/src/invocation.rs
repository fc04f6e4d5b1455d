//! The command line of this process, for users who want to run it again.

use crate::shell::quoted;

/// The command line, quoted for pasting into a shell. Invalid UTF-8 becomes `\u{fffd}`.
pub fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
    std::iter::once("straggler".to_string()).chain(words).collect::<Vec<_>>().join(" ")
}
