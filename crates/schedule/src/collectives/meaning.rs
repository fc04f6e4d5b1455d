//! What the messages of a collective carry. Engines only need sizes; this module says which bytes
//! of the operation's data they are, so that a checker can follow the data and prove that every
//! rank ends up with what the operation promises.
//!
//! The data of an operation is a range of bytes: the vector, or all blocks in order. Each rank has
//! two buffers of that length, mostly empty at the start.

use crate::Steps;
use std::fmt::Debug;
use std::ops::Range;
use straggler_model::Rank;

/// Where a rank keeps data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// The data that the rank holds, receives and passes on.
    Work,
    /// The result of a scan, which differs from the data passed on.
    Result,
}

/// What is done with received data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Take {
    /// It replaces the data in the buffer.
    Place(Buffer),
    /// It is combined with the data in the buffer, or placed if there is none.
    Combine(Buffer),
}

/// Received data replaces the rank's own.
pub const PLACE: &[Take] = &[Take::Place(Buffer::Work)];
/// Received data is combined with the rank's own.
pub const COMBINE: &[Take] = &[Take::Combine(Buffer::Work)];

/// An algorithm whose messages have known contents.
pub trait Meaning: Steps + Debug + Send {
    /// The bytes of [`Meaning::source`] that the send of this step carries. Called only for steps that send.
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>>;

    /// The buffer that is sent from.
    fn source(&self) -> Buffer {
        Buffer::Work
    }

    /// What is done with the data that this step receives. Called only for steps that receive.
    fn takes(&self, rank: Rank, stage: u32) -> &'static [Take];
}

/// A single range, as [`Meaning::carries`] returns it.
pub fn piece(bytes: Range<u64>) -> Vec<Range<u64>> {
    vec![bytes]
}
