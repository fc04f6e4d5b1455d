//! Traces of message-passing programs: how they are recorded, read and written; and the timeline of
//! a run, simulated or measured.

pub mod call;
pub mod check;
pub mod collectives;
pub mod disturbance;
pub mod format;
pub(crate) mod function;
pub mod messages;
pub mod mpi_abi;
pub mod operations;
pub mod option_box;
pub mod pauses;
mod place;
pub mod private;
pub mod profile;
pub mod sites;
pub mod timeline;
pub mod trace;

pub use call::{Call, CommId, Completed, Details, Matched, Moment, Rare, Repeated, RequestId, Requests};
pub use function::{Class, Collective, Function, HowMany, Mode, Start};
pub use option_box::OptionBox;
pub use timeline::{Activity, Arrow, Kind, Lane, RegionSpan, Timeline};
pub use trace::{ALONG_COPIES, Clock, Communicator, Marks, Meta, Neighbors, RankTrace, Trace, WORLD};

// One test program for the crate: unit tests beside the code, and in `tests` those of what the crate offers.
#[cfg(test)]
extern crate self as straggler_trace;
#[cfg(test)]
#[path = "../tests/trace.rs"]
mod tests;
