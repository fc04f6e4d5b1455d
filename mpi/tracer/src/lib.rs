//! Records what an MPI program calls.
//!
//! The library is loaded before the program (LD_PRELOAD) and stands between it and MPI: a program
//! that calls `MPI_Send` finds the function here, which reads the clock, calls the library's
//! `PMPI_Send`, reads the clock again and writes down a few bytes. Nothing has to be recompiled or
//! relinked, and one library serves Open MPI, MPICH and the standard's interface (MPI 5), because
//! everything that differs between them is detected at run time (`abi.rs`).
//!
//! ```text
//!  program ─► MPI_X, mpi_x_, mpi_x_f08_ (table, wrap) ─► a routine of p2p, completion, collectives, … ─► PMPI_X
//!                                                          │ Seen, attributes
//!                                                          ▼
//!                                             Thread: polls counted, records encoded ─► block ─► output: one write
//! ```
//! What always holds: the program's arguments, results and return codes stay its own. If it ignores
//! a status that the trace needs, the call gets one of ours. The library sends nothing to other
//! ranks except for an exchange of times inside MPI_Init and MPI_Finalize (`exchange.rs`). Without
//! the variable STRAGGLER_TRACE_DIR it does nothing at all. It has no undefined MPI symbols, so
//! programs without MPI that inherit it are not harmed.

#![allow(unsafe_code, reason = "standing between a program and its library is about raw arguments")]
#![allow(non_snake_case, reason = "the functions have MPI's names")]
#![warn(clippy::undocumented_unsafe_blocks)]

mod abi;
mod call_sites;
mod clock;
mod collectives;
mod communicators;
mod completion;
mod environment;
mod exchange;
mod language;
mod large;
mod modules;
mod note;
mod other;
mod output;
mod p2p;
mod pausing;
mod process;
mod recording;
mod requests;
mod site;
mod starting;
mod symbols;
mod table;
mod thread;
mod topology;
mod turns;
mod usage;
mod windows;
mod wrap;
