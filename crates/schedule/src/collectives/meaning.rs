//! What the messages of a collective carry. Engines ask only for sizes; this says which bytes of the
//! operation's data they are, so that a checker can follow the data and prove that every rank ends up
//! with what the operation promises.
//!
//! The data of an operation is a range of bytes: the vector, or all blocks one after the other. Each rank
//! has two buffers of that length; of most of them it has nothing at the start.

use crate::Steps;
use std::fmt::Debug;
use std::ops::Range;
use straggler_model::Rank;

/// Where a rank keeps data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// What it has, receives and passes on.
    Work,
    /// The result of a scan, which is not what is passed on.
    Result,
}

/// What is done with received data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Take {
    /// It replaces what was there.
    Place(Buffer),
    /// It is combined with what was there; with nothing there, it is placed.
    Combine(Buffer),
}

/// Received data is the data.
pub const PLACE: &[Take] = &[Take::Place(Buffer::Work)];
/// Received data is combined with the rank's own.
pub const COMBINE: &[Take] = &[Take::Combine(Buffer::Work)];

/// An algorithm whose messages have a meaning.
pub trait Meaning: Steps + Debug + Send {
    /// The bytes that the send of this step carries out of [`Meaning::source`]. Asked only for steps that
    /// send.
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>>;

    /// The buffer that sends read from.
    fn source(&self) -> Buffer {
        Buffer::Work
    }

    /// What is done with the data that the receive of this step brings. Asked only for steps that
    /// receive.
    fn takes(&self, rank: Rank, stage: u32) -> &'static [Take];
}

/// One run of bytes, as [`Meaning::carries`] gives it.
pub fn piece(bytes: Range<u64>) -> Vec<Range<u64>> {
    vec![bytes]
}
