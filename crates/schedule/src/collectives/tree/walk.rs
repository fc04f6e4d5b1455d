//! Data from the root to the leaves.
//!
//! A place receives segment s, sends it to its children in turn, and receives segment s + 1
//! together with the last of these sends. If segment s reaches a place in round t, it reaches its
//! child number j in round t + 1 + j: every transfer has a round, and every rank takes its steps in
//! the order of rounds. So even sends that wait for their receivers cannot wait in a cycle.

use super::{Load, Mirrored, Tree};
use crate::collectives::{
    CollectiveError, Job, Meaning, Name, PLACE, Take, add_modulo, at_most, subtract_modulo,
};
use crate::steps::{MOST_STAGES, Message, Step, Steps, Then};
use std::ops::Range;
use straggler_model::Rank;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Walk<T, L> {
    processes: u32,
    root: Rank,
    tree: T,
    load: L,
    /// Applies to sends to all children but the last.
    then: Then,
}

impl<T: Tree, L: Load> Walk<T, L> {
    /// A walk in which places wait for each send before the next.
    pub fn new(name: Name, job: &Job, tree: T, load: L) -> Result<Walk<T, L>, CollectiveError> {
        if u64::from(tree.children(0).max(2)) * u64::from(load.segments()) + 1 >= u64::from(MOST_STAGES) {
            at_most(name, job.processes, MOST_STAGES - 1)?;
        }
        Ok(Walk { processes: job.processes, root: job.root, tree, load, then: Then::Wait })
    }

    /// Makes places start the sends to all children, then wait for them together.
    pub fn together(self) -> Walk<T, L> {
        Walk { then: Then::Go, ..self }
    }

    #[inline]
    fn place(&self, rank: Rank) -> u32 {
        subtract_modulo(rank, self.root, self.processes)
    }

    /// A message between `peer` and this rank over the edge with lower end `lower`. Messages over
    /// one edge arrive in order, so they need no different tags.
    #[inline]
    fn message(&self, peer: u32, lower: u32, segment: u32) -> Message {
        let peer = add_modulo(peer, self.root, self.processes);
        Message { peer, tag: 0, bytes: self.load.bytes(lower, segment) }
    }

    /// The child and segment that a stage sends, if any.
    #[inline]
    fn sends(&self, place: u32, stage: u32) -> Option<Sends> {
        let children = self.tree.children(place);
        let first = u32::from(place != 0);
        if children == 0 || stage < first {
            return None;
        }
        let (segment, index) = ((stage - first) / children, (stage - first) % children);
        Some(Sends { child: self.tree.child(place, index), segment, last: index + 1 == children })
    }

    /// The segment that a stage receives, if any.
    #[inline]
    fn receives(&self, place: u32, stage: u32, sends: &Option<Sends>) -> Option<u32> {
        let segment = match sends {
            None => stage,
            Some(sends) if sends.last => sends.segment + 1,
            Some(_) => return None,
        };
        (place != 0 && segment < self.load.segments()).then_some(segment)
    }
}

struct Sends {
    child: u32,
    segment: u32,
    /// Whether this is the last child to get the segment.
    last: bool,
}

impl<T: Tree, L: Load> Steps for Walk<T, L> {
    fn processes(&self) -> u32 {
        self.processes
    }

    #[inline]
    fn stages(&self, rank: Rank) -> u32 {
        let place = self.place(rank);
        match self.tree.children(place) {
            0 if place == 0 => 0,
            0 => self.load.segments(),
            children => children * self.load.segments() + u32::from(place != 0),
        }
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let place = self.place(rank);
        let sends = self.sends(place, stage);
        let receives = self.receives(place, stage, &sends);
        let then = sends.as_ref().filter(|sends| !sends.last).map_or(Then::Wait, |_| self.then);
        let send = sends.map(|sends| self.message(sends.child, sends.child, sends.segment));
        let recv = receives.map(|segment| self.message(self.tree.parent(place), place, segment));
        Step { send, recv, then, ..Step::default() }
    }

    fn largest_message(&self) -> u64 {
        self.load.largest(&self.tree)
    }

    fn overlaps(&self) -> bool {
        self.then == Then::Go && self.processes > 2
    }

    fn messages(&self) -> u64 {
        u64::from(self.processes - 1) * u64::from(self.load.segments())
    }
}

impl<T: Tree, L: Load> Meaning for Walk<T, L> {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        let sends = self.sends(self.place(rank), stage);
        sends.map_or_else(Vec::new, |sends| self.load.ranges(sends.child, sends.segment))
    }

    fn takes(&self, _: Rank, _: u32) -> &'static [Take] {
        PLACE
    }
}

impl<T: Tree, L: Load> Mirrored for Walk<T, L> {
    fn brings(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        let place = self.place(rank);
        let receives = self.receives(place, stage, &self.sends(place, stage));
        receives.map_or_else(Vec::new, |segment| self.load.ranges(place, segment))
    }
}
