//! The symbolic checker: runs a collective on sets of contributions instead of data.
//!
//! Every byte of a rank's buffers is a multiset that counts how often it contains the data of each
//! rank. A message carries the multisets of its bytes; combining adds them. At the end, every rank
//! must hold what the operation promises. Ranks run as in an MPI program: data that a step receives
//! is available only after that step, or a later one, has been waited for.
//!
//! Bytes that are not separated by a message boundary are always handled alike, so the checker
//! follows atoms, the ranges between boundaries, whatever the sizes are.

mod atoms;
mod fault;
mod promise;
mod run;
#[cfg(test)]
mod tests;

pub use fault::Fault;
pub use run::{Proof, check, memory};
