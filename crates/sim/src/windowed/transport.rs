//! How the parts of a run exchange messages and agree on what comes next.
//!
//! A part runs a window, sends what leaves it, and says in which window it, or what it has sent, is due next. The
//! parts agree on the first of these windows; everybody takes what was sent to it and runs that one. That is all
//! that parts of a run ever tell each other.

mod barrier;
pub(super) mod threads;
mod wire;

use super::calendar::Chunks;
use super::outgoing::Parcel;
use crate::message::Timed;

/// What the parts agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Agreed {
    /// The next window.
    Window(u64),
    /// No domain has anything left to do.
    Finished,
    /// A part has failed, or is to stop.
    Failed,
}

/// What a part says before the parts agree.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// The window in which it, or what it has sent, is due; `u64::MAX`: never.
    pub due: u64,
    /// Messages it has run.
    pub messages: u64,
    pub failed: bool,
    /// Whether it is time for a checkpoint, as far as this part knows.
    pub checkpoint: bool,
}

/// One part's end of the exchange. `M` is plain old data.
pub(super) trait Transport<M: bytemuck::Pod + Timed> {
    /// Sends messages to the part that owns a block. They arrive after the next agreement. Chunks that are not sent along, as
    /// what was in them leaves the process, are put back.
    fn send(&mut self, block: u32, parcel: Parcel<M>, chunks: &mut Chunks<M>);
    /// Lets go what leaves the process, and unpacks what has come from other ones by now.
    fn poll(&mut self, chunks: &mut Chunks<M>);
    /// Waits for all other parts, while what was sent is on its way. `settle` is called once, does what this part has still to
    /// do for the window, and says how it stands.
    fn agree(&mut self, settle: &mut dyn FnMut() -> State) -> Agreed;
    /// Takes what the other parts sent before the last agreement, for each of them in the order of sending, with the block it is for.
    fn receive(&mut self, chunks: &mut Chunks<M>, take: impl FnMut(&mut Chunks<M>, u32, Parcel<M>));
    /// Whether any part said that it is time for a checkpoint.
    fn wants_checkpoint(&self) -> bool;
    /// Messages that the parts of this member of the cluster had run at the last agreement.
    fn messages(&self) -> u64;
}
