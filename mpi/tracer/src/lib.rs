//! Records what an MPI program calls.
//!
//! The library is loaded before the program (LD_PRELOAD) and stands between it and MPI: a program that calls
//! `MPI_Send` finds the function here, which looks at the clock, calls the library's `PMPI_Send`, looks at the clock again and
//! writes a few bytes down. Nothing has to be compiled or linked again, and one library serves Open MPI, MPICH and the
//! standard's interface (MPI 5), because everything that differs between them is found out at run time (`abi.rs`).
//!
//! ```text
//!  program ─► MPI_X, mpi_x_, mpi_x_f08_ (table, wrap) ─► a routine of p2p, completion, collectives, … ─► PMPI_X
//!                                                          │ Seen, attributes
//!                                                          ▼
//!                                             Thread: polls counted, records encoded ─► block ─► output: one write
//! ```
//! What always holds: the program's arguments, results and return codes are its own. Where it wants no status and the
//! trace needs one, the call gets one of ours. The library says nothing to other ranks but for an exchange of times inside
//! of MPI_Init and MPI_Finalize (`exchange.rs`). Without the variable STRAGGLER_TRACE_DIR it does nothing at all. It has no
//! undefined symbol of MPI, so that programs without MPI that inherit it are not harmed.

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
