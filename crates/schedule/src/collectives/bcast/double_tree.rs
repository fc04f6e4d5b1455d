//! Two complementary binary trees, each with half of the vector in segments.
//!
//! If segment 0 reaches a place in round t of one tree, segment s arrives there in round t + 2s, at one child
//! in round t + 1 + 2s and at the other in round t + 2 + 2s. The trees are built so that no rank receives
//! twice or sends twice in a round ([`tree::double`](crate::collectives::tree::double)), and every rank takes
//! its steps in the order of the rounds. So 2s segments take about 2s rounds: the full bandwidth of a rank.

use crate::collectives::sizes::{Segments, Split};
use crate::collectives::tree::Mirrored;
use crate::collectives::tree::double::Positions;
use crate::collectives::{CollectiveError, Job, Meaning, PLACE, Take, add_modulo, piece, subtract_modulo};
use crate::steps::{Message, Step, Steps};
use std::ops::Range;
use straggler_model::Rank;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DoubleTree {
    processes: u32,
    root: Rank,
    positions: Positions,
    /// The segments of both halves.
    halves: [Half; 2],
}

/// The part of the vector that one tree carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Half {
    start: u64,
    segments: Split,
}

/// The position of a place in one of the trees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Node {
    tree: usize,
    /// Counted from 1.
    position: u32,
    /// The round in which segment 0 gets here.
    round: i64,
}

/// The steps of a place below the root, as two series with one step per segment each. `a` receives
/// in the tree where the place may have children and sends to its second child; `b` receives in the
/// other tree and sends to the first child. Steps are ordered by number, `a` before `b`.
struct Series {
    inner: Node,
    leaf: Node,
    /// Positions of the children in the tree of `inner`.
    first: Option<u32>,
    second: Option<u32>,
    /// Step number s of `b` receives segment s + ahead.
    ahead: i64,
    segments: i64,
}

/// A step of a place below the root, in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Moves {
    /// Tree and segment received.
    receives: Option<(usize, u32)>,
    /// Position of the child and segment sent.
    sends: Option<(u32, u32)>,
}

impl DoubleTree {
    pub fn new(job: &Job, segment: u64) -> Result<DoubleTree, CollectiveError> {
        let (bytes, too_many) =
            (job.vector(), CollectiveError::TooManySegments { bytes: job.vector(), segment });
        let first = bytes.div_ceil(2);
        // Both halves get the same number of segments.
        let count = Segments::new(first, segment).ok_or(too_many)?.count();
        let halves = [
            Half { start: 0, segments: Split::new(first, count) },
            Half { start: first, segments: Split::new(bytes - first, count) },
        ];
        let positions = Positions::new(job.processes - 1);
        Ok(DoubleTree { processes: job.processes, root: job.root, positions, halves })
    }

    fn segments(&self) -> u32 {
        self.halves[0].segments.parts()
    }

    /// Converts between a place and its position in a tree; mirroring is its own inverse.
    fn across(&self, tree: usize, position: u32) -> u32 {
        if tree == 0 { position } else { self.positions.mirrored(position) }
    }

    fn node(&self, tree: usize, place: u32) -> Node {
        let position = self.across(tree, place);
        // The root sends to the second tree one round after the first.
        let round = i64::from(self.positions.round(position)) + tree as i64;
        Node { tree, position, round }
    }

    fn series(&self, place: u32) -> Series {
        let nodes = [self.node(0, place), self.node(1, place)];
        let [inner, leaf] = if nodes[1].position.is_multiple_of(2) { [nodes[1], nodes[0]] } else { nodes };
        let [first, second] = self.positions.children(inner.position);
        // Finds which segment of the other tree is the first to arrive after the first one of this tree.
        let order = |node: Node| 2 * node.round + node.tree as i64;
        let ahead = (order(inner) - order(leaf)).div_euclid(4) + 1;
        Series { inner, leaf, first, second, ahead, segments: i64::from(self.segments()) }
    }

    fn moves(&self, place: u32, stage: u32) -> Moves {
        if place != 0 {
            return self.series(place).moves(stage);
        }
        Moves { receives: None, sends: Some((self.positions.top(), stage / 2)) }
    }

    /// The tree in which a place sends in a stage.
    fn sends_in(&self, place: u32, stage: u32) -> usize {
        if place == 0 { (stage % 2) as usize } else { self.series(place).inner.tree }
    }

    fn message(&self, place: u32, tree: usize, segment: u32) -> Message {
        let peer = add_modulo(place, self.root, self.processes);
        Message { peer, tag: tree as u32, bytes: self.halves[tree].segments.size(segment) }
    }

    fn bytes(&self, tree: usize, segment: u32) -> Range<u64> {
        let half = &self.halves[tree];
        let range = half.segments.range(segment..segment + 1);
        half.start + range.start..half.start + range.end
    }

    fn place(&self, rank: Rank) -> u32 {
        subtract_modulo(rank, self.root, self.processes)
    }
}

impl Series {
    fn a(&self, number: i64) -> Moves {
        Moves {
            receives: self.segment(number).map(|segment| (self.inner.tree, segment)),
            sends: self.second.zip(self.segment(number - 1)),
        }
    }

    fn b(&self, number: i64) -> Moves {
        Moves {
            receives: self.segment(number + self.ahead).map(|segment| (self.leaf.tree, segment)),
            sends: self.first.zip(self.segment(number)),
        }
    }

    fn segment(&self, number: i64) -> Option<u32> {
        (0..self.segments).contains(&number).then_some(number as u32)
    }

    /// Bounds, in ascending order, of the runs of step numbers within which the steps do not change.
    fn bounds(&self) -> [i64; 5] {
        let mut bounds = [0, self.segments, self.segments + 1, -self.ahead, self.segments - self.ahead];
        bounds.sort_unstable();
        bounds
    }

    /// Runs of step numbers with the same steps, and how many steps each number has.
    fn runs(&self) -> impl Iterator<Item = (Range<i64>, i64)> {
        let bounds = self.bounds();
        (0..4).map(move |run| {
            let numbers = bounds[run]..bounds[run + 1];
            let steps = [self.a(numbers.start), self.b(numbers.start)];
            (numbers, steps.iter().filter(|step| **step != Moves::default()).count() as i64)
        })
    }

    fn stages(&self) -> u32 {
        self.runs().map(|(numbers, steps)| (numbers.end - numbers.start) * steps).sum::<i64>() as u32
    }

    fn moves(&self, stage: u32) -> Moves {
        let mut left = i64::from(stage);
        for (numbers, steps) in self.runs() {
            let here = (numbers.end - numbers.start) * steps;
            if left < here {
                let number = numbers.start + left / steps;
                let a = self.a(number);
                let is_a = left % steps == 0 && a != Moves::default();
                return if is_a { a } else { self.b(number) };
            }
            left -= here;
        }
        Moves::default()
    }
}

impl Steps for DoubleTree {
    fn processes(&self) -> u32 {
        self.processes
    }

    fn stages(&self, rank: Rank) -> u32 {
        match self.place(rank) {
            _ if self.processes == 1 => 0,
            0 => 2 * self.segments(),
            place => self.series(place).stages(),
        }
    }

    fn step(&self, rank: Rank, stage: u32) -> Step {
        let place = self.place(rank);
        let moves = self.moves(place, stage);
        let send = moves.sends.map(|(position, segment)| {
            let tree = self.sends_in(place, stage);
            self.message(self.across(tree, position), tree, segment)
        });
        let recv = moves.receives.map(|(tree, segment)| {
            let above = self.positions.parent(self.across(tree, place));
            self.message(self.across(tree, above), tree, segment)
        });
        Step { send, recv, ..Step::default() }
    }

    fn largest_message(&self) -> u64 {
        if self.processes == 1 { 0 } else { self.halves[0].segments.largest() }
    }

    fn messages(&self) -> u64 {
        2 * u64::from(self.processes - 1) * u64::from(self.segments())
    }
}

impl Meaning for DoubleTree {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        let place = self.place(rank);
        let sends = self.moves(place, stage).sends;
        sends.map_or_else(Vec::new, |(_, segment)| piece(self.bytes(self.sends_in(place, stage), segment)))
    }

    fn takes(&self, _: Rank, _: u32) -> &'static [Take] {
        PLACE
    }
}

impl Mirrored for DoubleTree {
    fn brings(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        let receives = self.moves(self.place(rank), stage).receives;
        receives.map_or_else(Vec::new, |(tree, segment)| piece(self.bytes(tree, segment)))
    }
}
