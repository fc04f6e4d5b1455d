//! Collectives in sequence, each within groups of ranks.
//!
//! A rank begins a part when all its operations of earlier parts have completed: the last step of a
//! collective is always waited for. The data of a group is a contiguous range of the whole, so a
//! part states where each group's data begins.

use super::groups::{Groups, Seat};
use super::sizes::Sizes;
use super::{Collective, Meaning, Take};
use crate::steps::{Message, Step, Steps};
use std::ops::Range;
use straggler_model::Rank;

#[derive(Clone, Debug)]
pub struct Sequence {
    processes: u32,
    parts: Vec<Part>,
}

/// One operation, performed in all groups.
#[derive(Clone, Debug)]
pub struct Part {
    pub groups: Groups,
    /// Group g uses the collective at g modulo the length …
    pub regular: Vec<Collective>,
    /// … unless it is listed here, because its size or root differs.
    pub special: Vec<(u32, Collective)>,
    /// Set if groups have different data: block g is the data of group g.
    pub data: Option<Sizes>,
}

impl Part {
    /// One group of all ranks.
    pub fn everyone(collective: Collective) -> Part {
        Part { groups: Groups::Everyone, regular: vec![collective], special: vec![], data: None }
    }

    fn of_group(&self, group: u32) -> Option<&Collective> {
        if let Some((_, collective)) = self.special.iter().find(|(special, _)| *special == group) {
            return Some(collective);
        }
        self.regular.get(group as usize % self.regular.len().max(1))
    }

    /// The collective that a rank takes part in, and its place there.
    fn at(&self, rank: Rank) -> Option<(Seat, &Collective)> {
        let seat = self.groups.seat(rank)?;
        Some((seat, self.of_group(seat.group)?))
    }

    fn stages(&self, rank: Rank) -> u32 {
        self.at(rank).map_or(0, |(seat, collective)| collective.stages(seat.member))
    }

    fn start(&self, group: u32) -> u64 {
        self.data.as_ref().map_or(0, |sizes| sizes.start(u64::from(group)))
    }

    /// Each collective, with the number of groups that use it.
    fn counted(&self) -> impl Iterator<Item = (&Collective, u64)> {
        let (groups, kinds) = (self.groups.count(), self.regular.len() as u32);
        let regular = (0..kinds).zip(&self.regular).map(move |(kind, collective)| {
            let all = groups.saturating_sub(kind).div_ceil(kinds);
            let others = self.special.iter().filter(|(group, _)| group % kinds == kind).count();
            (collective, u64::from(all) - others as u64)
        });
        regular.chain(self.special.iter().map(|(_, collective)| (collective, 1)))
    }
}

impl Sequence {
    pub fn new(processes: u32, parts: Vec<Part>) -> Sequence {
        Sequence { processes, parts }
    }

    /// The part that a rank's stage belongs to: its number, the part, and the stage within it.
    fn find(&self, rank: Rank, stage: u32) -> Option<(u32, &Part, u32)> {
        let mut left = stage;
        for (number, part) in (0..).zip(&self.parts) {
            let stages = part.stages(rank);
            if left < stages {
                return Some((number, part, left));
            }
            left -= stages;
        }
        None
    }
}

impl Steps for Sequence {
    fn processes(&self) -> u32 {
        self.processes
    }

    fn stages(&self, rank: Rank) -> u32 {
        self.parts.iter().map(|part| part.stages(rank)).sum()
    }

    fn step(&self, rank: Rank, stage: u32) -> Step {
        let Some((number, part, stage)) = self.find(rank, stage) else { return Step::default() };
        let Some((seat, collective)) = part.at(rank) else { return Step::default() };
        let parts = self.parts.len() as u32;
        let outside = |message: Message| Message {
            peer: part.groups.rank(Seat { member: message.peer, ..seat }),
            // Tags of different parts differ.
            tag: message.tag.wrapping_mul(parts).wrapping_add(number),
            ..message
        };
        let step = collective.step(seat.member, stage);
        Step { send: step.send.map(outside), recv: step.recv.map(outside), ..step }
    }

    fn largest_message(&self) -> u64 {
        let counted = self.parts.iter().flat_map(Part::counted).filter(|(_, groups)| *groups > 0);
        counted.map(|(collective, _)| collective.largest_message()).max().unwrap_or(0)
    }

    fn overlaps(&self) -> bool {
        self.parts.iter().flat_map(Part::counted).any(|(collective, _)| collective.overlaps())
    }

    fn messages(&self) -> u64 {
        let counted = self.parts.iter().flat_map(Part::counted).filter(|(_, groups)| *groups > 0);
        counted.map(|(collective, groups)| collective.messages() * groups).sum()
    }
}

impl Meaning for Sequence {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        let Some((_, part, stage)) = self.find(rank, stage) else { return Vec::new() };
        let Some((seat, collective)) = part.at(rank) else { return Vec::new() };
        let start = part.start(seat.group);
        let carried = collective.carries(seat.member, stage);
        carried.into_iter().map(|range| start + range.start..start + range.end).collect()
    }

    fn takes(&self, rank: Rank, stage: u32) -> &'static [Take] {
        let found = self.find(rank, stage).and_then(|(_, part, stage)| Some((part.at(rank)?, stage)));
        found.map_or(&[], |((seat, collective), stage)| collective.takes(seat.member, stage))
    }
}
