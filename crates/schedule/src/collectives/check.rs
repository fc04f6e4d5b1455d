//! The symbolic checker: runs a collective with contributions instead of data.
//!
//! Every byte of a rank's buffers is a multiset: how often the data of each rank is contained in it. A
//! message takes along the multisets of the bytes it carries; combining adds them. At the end every rank
//! must hold what the operation promises. Ranks run as an MPI program would: what a step receives is
//! there only when the step, or a later one, has been waited for.
//!
//! Bytes that no message boundary parts always share their fate, so the data is followed in atoms between
//! such boundaries, whatever the sizes are.

mod atoms;
mod fault;
mod promise;
mod run;
#[cfg(test)]
mod tests;

pub use fault::Fault;
pub use run::{Proof, check, memory};
