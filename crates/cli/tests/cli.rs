//! All tests of the program: the unit tests beside its code, and the program from outside: its output, the files it
//! writes and its exit codes.

include!("../src/program.rs");

#[path = "cli/outside.rs"]
mod outside;
