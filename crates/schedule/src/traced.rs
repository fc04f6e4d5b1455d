//! Traced runs as schedules.
//!
//! A [`straggler_trace::Trace`] records what every rank called and when. [`TracedRun::from_trace`] turns it
//! into a list of [`Instruction`]s per thread: computations, which are the times between calls, messages,
//! waits and collectives. The time spent in the calls themselves is left out, because the model computes it.
//!
//! A [`Playback`] is a recording with its collectives built from algorithms, for a number of copies of the
//! traced processes (Hoefler, Schneider and Lumsdaine 2010, section V): process c·P + r is copy c of rank r,
//! partners are renamed within the copy, smaller communicators exist once per copy, and a collective of all
//! traced ranks becomes one of all processes. Nothing is stored per copy.
//!
//! The order within a thread:
//! - an instruction begins when the one before it has completed if that one blocks, else when it has started;
//! - a wait is not an operation: what follows begins when everything waited for has completed;
//! - a nonblocking collective starts with the call, and its messages are handled while the thread waits, or
//!   with [`Progress::Thread`] at any time.
//!
//! Outcomes that MPI leaves open are those of the traced run or, with [`Decisions::Redecide`],
//! decided in the replay: which requests of a list complete first, whether a test succeeds, and
//! whose message a receive from any source takes.
//!
//! Instructions are sequences of [`Step`]s, most of a single one. The program that replays a
//! recording and [`Playback::materialise`] both use these steps, so they agree.
//!
//! [`Step`]: crate::Step

mod behind;
mod build;
mod collective;
mod error;
mod graph;
mod matching;
mod notes;
mod options;
mod playback;
mod reader;
mod reading;
mod recording;
#[cfg(test)]
mod tests;
mod transfers;
mod translate;
mod wildcards;

pub use build::Building;
pub use error::{PlaybackError, TraceError, Unmatched};
pub use notes::Unmodelled;
pub use options::{Begin, Decisions, Options, Progress};
pub use playback::{PLACES, Playback};
pub use reader::alone;
pub use recording::{
    Asked, Awaited, BlockSizes, CollectiveCall, Group, How, Instruction, TracedRank, TracedRun, Wild,
};
pub use translate::computed_between;
