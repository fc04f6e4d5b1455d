//! The bytes that go over each edge of a tree. An edge is named by its lower end.

use super::{Neighbours, Tree};
use crate::collectives::sizes::{Segments, Split};
use crate::collectives::{Job, piece};
use std::fmt::Debug;
use std::ops::Range;

/// The contents of all messages of a walk.
pub trait Load: Debug + Send + Sync {
    /// Number of messages that the data over an edge is divided into.
    fn segments(&self) -> u32;
    fn bytes(&self, place: u32, segment: u32) -> u64;
    /// The same bytes, as ranges of the operation's data.
    fn ranges(&self, place: u32, segment: u32) -> Vec<Range<u64>>;

    /// The largest message. A place receives everything it passes on, so the root sends the largest.
    fn largest(&self, tree: &impl Tree) -> u64 {
        let children = (0..tree.children(0)).map(|index| tree.child(0, index));
        children.map(|child| self.bytes(child, 0)).max().unwrap_or(0)
    }
}

/// The same vector over every edge, in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vector(pub Segments);

impl Load for Vector {
    #[inline]
    fn segments(&self) -> u32 {
        self.0.count()
    }

    #[inline]
    fn bytes(&self, _: u32, segment: u32) -> u64 {
        self.0.size(segment)
    }

    fn ranges(&self, _: u32, segment: u32) -> Vec<Range<u64>> {
        piece(self.0.range(segment))
    }

    fn largest(&self, tree: &impl Tree) -> u64 {
        if tree.children(0) == 0 { 0 } else { self.0.largest() }
    }
}

/// The blocks of a place and its subtree: one range, or two where the ranks wrap around.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocks<T> {
    pub tree: T,
    pub job: Job,
}

impl<T: Neighbours> Load for Blocks<T> {
    fn segments(&self) -> u32 {
        1
    }

    fn bytes(&self, place: u32, _: u32) -> u64 {
        let all = u64::from(self.job.processes);
        let first = (u64::from(place) + u64::from(self.job.root)) % all;
        let end = first + u64::from(self.tree.below(place));
        let start = |block| self.job.sizes.start(block);
        if end <= all { start(end) - start(first) } else { start(all) - start(first) + start(end - all) }
    }

    fn ranges(&self, place: u32, _: u32) -> Vec<Range<u64>> {
        let first = crate::collectives::add_modulo(place, self.job.root, self.job.processes);
        self.job.blocks_from(first, self.tree.below(place))
    }
}

/// The parts of a vector for a place and its subtree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts<T> {
    pub tree: T,
    pub parts: Split,
}

impl<T: Neighbours> Parts<T> {
    fn range(&self, place: u32) -> Range<u64> {
        self.parts.range(place..place + self.tree.below(place))
    }
}

impl<T: Neighbours> Load for Parts<T> {
    fn segments(&self) -> u32 {
        1
    }

    fn bytes(&self, place: u32, _: u32) -> u64 {
        let range = self.range(place);
        range.end - range.start
    }

    fn ranges(&self, place: u32, _: u32) -> Vec<Range<u64>> {
        piece(self.range(place))
    }
}
