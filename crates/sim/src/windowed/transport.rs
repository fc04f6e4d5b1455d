//! How the parts of a run exchange messages and agree on what comes next.
//!
//! A part runs a window, sends its outgoing messages, and reports the next window in which it, or a message it has
//! sent, is due. The parts agree on the first of these windows; each takes the messages sent to it and runs that
//! window. Parts of a run exchange nothing else.

mod barrier;
pub(super) mod threads;
mod wire;

use super::calendar::Chunks;
use super::outgoing::Parcel;
use crate::message::Timed;

/// The result of an agreement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Agreed {
    /// The next window.
    Window(u64),
    /// No part has anything left to do.
    Finished,
    /// A part has failed, or is to stop.
    Failed,
}

/// What a part reports for an agreement.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// The next window in which it, or a message it has sent, is due; `u64::MAX`: never.
    pub due: u64,
    /// Messages it has run.
    pub messages: u64,
    pub failed: bool,
    /// Whether this part wants a checkpoint.
    pub checkpoint: bool,
}

/// One part's end of the exchange. `M` is plain old data.
pub(super) trait Transport<M: bytemuck::Pod + Timed> {
    /// Sends messages to the part that owns a block. They arrive after the next agreement. Chunks whose messages
    /// leave the process are returned to `chunks`.
    fn send(&mut self, block: u32, parcel: Parcel<M>, chunks: &mut Chunks<M>);
    /// Sends buffers that leave the process, and unpacks what has arrived from other processes so far.
    fn poll(&mut self, chunks: &mut Chunks<M>);
    /// Waits for all other parts, while messages are in flight. `settle` is called once: it finishes this part's
    /// window and returns its state.
    fn agree(&mut self, settle: &mut dyn FnMut() -> State) -> Agreed;
    /// Takes the messages that other parts sent before the last agreement, with their block, for each part in the
    /// order of sending.
    fn receive(&mut self, chunks: &mut Chunks<M>, take: impl FnMut(&mut Chunks<M>, u32, Parcel<M>));
    /// Whether any part wanted a checkpoint at the last agreement.
    fn wants_checkpoint(&self) -> bool;
    /// Messages that the parts of this member of the cluster had run at the last agreement.
    fn messages(&self) -> u64;
}
