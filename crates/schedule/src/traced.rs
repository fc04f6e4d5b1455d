//! Traced runs as schedules.
//!
//! A [`straggler_trace::Trace`] says what every rank called and when. [`TracedRun::from_trace`] turns it into a
//! list of [`Instruction`]s a thread: computations, which are the times between calls, messages, waits and
//! collectives. What the calls themselves took is left out, because the model charges for it.
//!
//! A [`Playback`] is a recording with its collectives built from algorithms, for a number of copies of the traced
//! processes (Hoefler, Schneider and Lumsdaine 2010, section V): process c·P + r is copy c of
//! rank r, partners are renamed inside the copy, smaller communicators exist once in every copy, and a
//! collective of all traced ranks becomes one of all processes. Nothing is stored for a copy.
//!
//! What happens before what, of one thread:
//! - an instruction begins when the one before it has completed, if that blocks; else when it has started;
//! - a wait is no operation: what follows begins when all that was waited for has completed;
//! - a nonblocking collective starts with the call and progresses by itself, as if the network did the work.
//!
//! What MPI leaves open is settled as the traced run settled it, or, by [`Decisions::Redecide`], by the program that
//! replays the recording: which requests of a list complete first, whether a test succeeds, whose message a receive from
//! anyone takes.
//!
//! Instructions are sequences of [`Step`]s, most of them of one. That is all the program which replays a
//! recording and [`Playback::materialise`] share, and it makes them agree.
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
mod translate;
mod wildcards;

pub use build::Building;
pub use error::{PlaybackError, TraceError, Unmatched};
pub use options::{Begin, Decisions, Options};
pub use playback::{PLACES, Playback};
pub use reader::alone;
pub use recording::{
    Asked, Awaited, BlockSizes, CollectiveCall, Group, How, Instruction, TracedRank, TracedRun, Wild,
};
pub use translate::computed_between;
