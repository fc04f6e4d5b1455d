//! straggler: what small local delays cost at scale, and what causes them.
//!
//! The typed arguments (`args`) are validated (`plan`) and become library options in the command
//! that runs (`commands`). Exit codes are defined in `exit`.

// `print!` and `eprint!` panic if their output cannot be written; `console.rs` does not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

include!("program.rs");
