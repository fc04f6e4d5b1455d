//! straggler: what small local delays cost at scale, and what causes them.
//!
//! Typed arguments of each subject are validated (`commands.rs`) and become library options in the command that runs.
//! Exit codes are defined in `kernel::exit`.

// `print!` and `eprint!` panic if their output cannot be written; `console.rs` does not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

include!("program.rs");
