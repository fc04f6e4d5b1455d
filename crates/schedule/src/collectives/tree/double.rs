//! Two binary trees in which nobody does the work twice (Sanders, Speck and Träff 2009, "Two-tree
//! algorithms for full bandwidth broadcast, reduction and scan").
//!
//! The places 1 to n = P - 1 are numbered in the order of a binary search tree: odd positions are leaves,
//! even ones inner nodes. The second tree is the first with the positions mirrored, i ↔ n + 1 - i, which
//! for an even n changes odd into even; for an odd n the last place is left out of the mirroring and is a
//! leaf in both. So every place is an inner node of at most one tree. The root of the operation, place 0,
//! stands above both trees and has one child in each.
//!
//! Each tree carries half of the vector in segments. If segment 0 gets to a position in round t, segment s
//! gets there in round t + 2s, to its left child in round t + 1 + 2s and to its right child in round
//! t + 2 + 2s; in a round the first tree comes before the second. Every rank takes its steps in this order,
//! with as much in a step as one send and one receive allow, so that nobody can wait in a circle. The
//! paper also chooses which child comes first, so that no rank ever receives twice in a round; here left
//! comes first, and a rank whose two receives fall into one round takes the second a step later.

use super::Mirrored;
use crate::collectives::sizes::Segments;
use crate::collectives::sizes::Split;
use crate::collectives::{CollectiveError, Job, Meaning, PLACE, Take, add_modulo, piece, subtract_modulo};
use crate::steps::{Message, Step, Steps};
use std::ops::Range;
use straggler_model::Rank;

/// The tree of the broadcast.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DoubleTree {
    processes: u32,
    root: Rank,
    /// The segments of both halves.
    halves: [Half; 2],
}

/// What one tree carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Half {
    start: u64,
    segments: Split,
}

/// The position of a place in one of the trees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Node {
    tree: usize,
    /// From 1 on.
    position: u32,
    /// The round in which segment 0 gets here.
    round: i64,
}

/// The steps of a place below the root, as two series with a step a segment each: `a` receives in the
/// tree where the place may have children and serves the right child, `b` receives in the other tree and
/// serves the left child. Steps are ordered by number, `a` before `b`.
struct Series {
    inner: Node,
    leaf: Node,
    left: Option<u32>,
    right: Option<u32>,
    /// Step number s of `b` receives segment s + ahead.
    ahead: i64,
    segments: i64,
}

/// A step of a place below the root, as segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Moves {
    /// Tree and segment.
    receives: Option<(usize, u32)>,
    /// Position of the child and segment.
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
        Ok(DoubleTree { processes: job.processes, root: job.root, halves })
    }

    fn segments(&self) -> u32 {
        self.halves[0].segments.parts()
    }

    /// How many places there are below the root: the last position.
    fn last(&self) -> u32 {
        self.processes - 1
    }

    /// The position of a place in a tree, or the place of a position: mirroring undoes itself.
    fn mirrored(&self, tree: usize, position: u32) -> u32 {
        let even = self.last() & !1;
        if tree == 0 || position > even || position == 0 { position } else { even + 1 - position }
    }

    fn node(&self, tree: usize, place: u32) -> Node {
        let position = self.mirrored(tree, place);
        let mut round = tree as i64;
        let mut below = position;
        while let above @ 1.. = parent(below, self.last()) {
            round += if above > below { 1 } else { 2 };
            below = above;
        }
        Node { tree, position, round }
    }

    fn series(&self, place: u32) -> Series {
        let nodes = [self.node(0, place), self.node(1, place)];
        let [inner, leaf] = if nodes[1].position.is_multiple_of(2) { [nodes[1], nodes[0]] } else { nodes };
        let [left, right] = children(inner.position, self.last());
        // The first receive of the leaf's tree after the inner node's first, which segment is that?
        let order = |node: Node| 2 * node.round + node.tree as i64;
        let ahead = (order(inner) - order(leaf)).div_euclid(4) + 1;
        Series { inner, leaf, left, right, ahead, segments: i64::from(self.segments()) }
    }

    fn moves(&self, place: u32, stage: u32) -> Moves {
        if place != 0 {
            return self.series(place).moves(stage);
        }
        let top = 1 << self.last().ilog2();
        Moves { receives: None, sends: Some((top, stage / 2)) }
    }

    /// The tree in which a place sends in a stage.
    fn sends_in(&self, place: u32, stage: u32) -> usize {
        if place == 0 { (stage % 2) as usize } else { self.series(place).inner.tree }
    }

    fn message(&self, place: u32, tree: usize, segment: u32) -> Message {
        let peer = add_modulo(place, self.root, self.processes);
        Message { peer, tag: tree as u32, bytes: self.halves[tree].segments.of(segment) }
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

/// The position above another, 0 above the top one.
fn parent(position: u32, last: u32) -> u32 {
    let bit = position & position.wrapping_neg();
    let above = (position ^ bit) | (bit << 1);
    if above <= last { above } else { position ^ bit }
}

/// The positions below another. To the right of an inner node may be fewer positions than a whole
/// subtree has: then the largest that fits hangs there.
fn children(position: u32, last: u32) -> [Option<u32>; 2] {
    let mut distance = (position & position.wrapping_neg()) / 2;
    if distance == 0 {
        return [None; 2];
    }
    let left = Some(position - distance);
    while distance > 0 && position + distance > last {
        distance /= 2;
    }
    [left, (distance > 0).then_some(position + distance)]
}

impl Series {
    fn a(&self, number: i64) -> Moves {
        Moves {
            receives: self.segment(number).map(|segment| (self.inner.tree, segment)),
            sends: self.right.zip(self.segment(number - 1)),
        }
    }

    fn b(&self, number: i64) -> Moves {
        Moves {
            receives: self.segment(number + self.ahead).map(|segment| (self.leaf.tree, segment)),
            sends: self.left.zip(self.segment(number)),
        }
    }

    fn segment(&self, number: i64) -> Option<u32> {
        (0..self.segments).contains(&number).then_some(number as u32)
    }

    /// Numbers between which the same is done again and again.
    fn bounds(&self) -> [i64; 5] {
        let mut bounds = [0, self.segments, self.segments + 1, -self.ahead, self.segments - self.ahead];
        bounds.sort_unstable();
        bounds
    }

    /// Runs of numbers in which each number has the same steps: with how many steps.
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
            self.message(self.mirrored(tree, position), tree, segment)
        });
        let recv = moves.receives.map(|(tree, segment)| {
            let above = parent(self.mirrored(tree, place), self.last());
            self.message(self.mirrored(tree, above), tree, segment)
        });
        Step { send, recv, ..Step::default() }
    }

    fn largest_message(&self) -> u64 {
        if self.processes == 1 { 0 } else { self.halves[0].segments.largest() }
    }

    fn messages(&self) -> u64 {
        2 * u64::from(self.last()) * u64::from(self.segments())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_an_inner_node_twice() {
        for processes in 2..300 {
            let tree = DoubleTree::new(&Job::new(processes, 8), 8).unwrap();
            let mut served = [0, 0];
            for place in 1..processes {
                let has_children = |of: usize| {
                    let below = children(tree.mirrored(of, place), processes - 1);
                    below.iter().flatten().count()
                };
                let counts = [has_children(0), has_children(1)];
                assert!(counts[0] == 0 || counts[1] == 0, "{processes} {place}");
                served = [served[0] + counts[0] as u32, served[1] + counts[1] as u32];
            }
            // The top of each tree is served by the root.
            assert_eq!(served, [processes - 2; 2]);
        }
    }

    #[test]
    fn parents_and_children_agree() {
        for last in 1..300 {
            for position in 1..=last {
                for below in children(position, last).into_iter().flatten() {
                    assert_eq!(parent(below, last), position);
                }
            }
        }
        assert_eq!(parent(1 << 30, (1 << 31) - 1), 0);
    }
}
