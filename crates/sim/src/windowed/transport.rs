//! How the parts of a run exchange messages and agree on what comes next.
//!
//! A part runs a window, sends what leaves it, and says in which window it, or what it has sent, is due next. The
//! parts agree on the first of these windows; everybody takes what was sent to it and runs that one. That is all
//! that parts of a run ever tell each other.

mod barrier;
pub(super) mod threads;

use super::outgoing::Parcel;

/// What the parts agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Agreed {
    /// The next window.
    Window(u64),
    /// Nobody has anything left to do.
    Finished,
    /// A part has failed, or is to stop.
    Failed,
}

/// One part's end of the exchange. `M` is plain old data.
pub(super) trait Transport<M: bytemuck::Pod> {
    /// Sends messages to the part that owns a block. They arrive after the next agreement.
    fn send(&mut self, block: u32, parcel: Parcel<M>);
    /// Says when this part is due (`u64::MAX`: never), how many messages it has run, and whether it failed; waits for all others.
    fn agree(&mut self, due: u64, messages: u64, failed: bool) -> Agreed;
    /// Takes what the other parts sent before the last agreement, in the order of the parts.
    fn receive(&mut self, take: impl FnMut(u32, Parcel<M>));
    /// Messages that all parts had run at the last agreement.
    fn messages(&self) -> u64;
}
