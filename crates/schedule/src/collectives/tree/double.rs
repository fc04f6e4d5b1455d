//! Two binary trees in which no place is an inner node twice (Sanders, Speck and Träff 2009,
//! "Two-tree algorithms for full bandwidth broadcast, reduction and scan").
//!
//! The places 1 to n = P - 1 take positions 1 to n in the order of a binary search tree: odd
//! positions are leaves, even ones inner nodes. In the first tree, place i is at position i. In the
//! second, the first N = 4·⌊n/4⌋ places are mirrored, i ↔ N + 1 - i, and the next two, if they
//! exist, are swapped: both turn odd into even. So every place is an inner node of at most one
//! tree. The root of the operation, place 0, is above both trees and has one child in each.
//!
//! Segments follow each other over an edge every second round, in even or in odd rounds: that is the colour
//! of the edge. The two children of a node need different colours, as the node sends to only one of them per
//! round. The edges to a place in the two trees need different colours, as it receives from only one of them
//! per round. The second tree has the opposite colour of the first at each position, which is what the root
//! needs. A place then needs, in terms of the first tree alone, equal colours at its two positions: mirrored
//! positions have the same colour. It remains to colour the N/2 even positions so that two of them differ if
//! they are siblings, or if the leaves mirrored to them are.

/// A binary search tree over positions 1 to `last`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Positions {
    last: u32,
}

impl Positions {
    pub fn new(last: u32) -> Positions {
        Positions { last }
    }

    /// The position directly below the root of the operation.
    pub fn top(&self) -> u32 {
        1 << self.last.max(1).ilog2()
    }

    /// The parent of a position; 0 for the top one.
    pub fn parent(&self, position: u32) -> u32 {
        let bit = position & position.wrapping_neg();
        let above = (position ^ bit) | (bit << 1);
        if above <= self.last { above } else { position ^ bit }
    }

    /// The left and right children of a position. If the right subtree is incomplete, the largest
    /// subtree that fits hangs there.
    fn sides(&self, position: u32) -> [Option<u32>; 2] {
        let mut distance = (position & position.wrapping_neg()) / 2;
        if distance == 0 {
            return [None; 2];
        }
        let left = Some(position - distance);
        while distance > 0 && position + distance > self.last {
            distance /= 2;
        }
        [left, (distance > 0).then_some(position + distance)]
    }

    /// The children of a position: the one served in the round after the position gets a segment,
    /// and the one served a round later.
    pub fn children(&self, position: u32) -> [Option<u32>; 2] {
        let own = self.colour(position);
        let [left, right] = self.sides(position);
        let is_next = |&child: &u32| self.colour(child) != own;
        let find = |next| [left, right].into_iter().flatten().find(|child| is_next(child) == next);
        [find(true), find(false)]
    }

    /// Converts a position in one tree to that of the same place in the other.
    pub fn mirrored(&self, position: u32) -> u32 {
        let whole = self.last & !3;
        let changes = self.last - whole >= 2 && position <= whole + 2;
        match position {
            0 => 0,
            _ if position <= whole => whole + 1 - position,
            _ if changes => 2 * whole + 3 - position,
            _ => position,
        }
    }

    /// The round in which a segment reaches a position, if it reaches the top in round 0.
    pub fn round(&self, position: u32) -> u32 {
        let (mut below, mut colour, mut round) = (position, self.colour(position), 0);
        while let above @ 1.. = self.parent(below) {
            let colour_above = self.colour(above);
            round += if colour_above == colour { 2 } else { 1 };
            (below, colour) = (above, colour_above);
        }
        round
    }

    /// The colour of the edge to a position in the first tree.
    fn colour(&self, position: u32) -> bool {
        let whole = self.last & !3;
        if position <= whole {
            let even = if position.is_multiple_of(2) { position } else { whole + 1 - position };
            return even_colour(even / 2, whole / 2);
        }
        // If there is one more position, it is the right child of the last mirrored one; if there are two or
        // three, the second is. The first has the colour of the second, the third the opposite one.
        let sibling = whole - (whole & whole.wrapping_neg()) / 2;
        let second = whole > 0 && !even_colour(sibling / 2, whole / 2);
        second != (position == whole + 3)
    }
}

/// The colour of even position 2·`half` of 2·`halves`. The even positions themselves form a search
/// tree of `halves` positions. Its neighbours 1 and 2, 3 and 4, … differ because the leaves
/// mirrored to them are siblings. So the colour of an odd one follows from its neighbour or, if it
/// is the last and has none, from its sibling. The even ones again form a search tree, in which
/// neighbours 1 and 2, … must differ because their odd neighbours are siblings, and so on.
fn even_colour(mut half: u32, mut halves: u32) -> bool {
    let mut colour = false;
    loop {
        if half.is_multiple_of(2) {
            (half, halves) = (half / 2, halves / 2);
        } else if half < halves {
            (half, colour) = (half + 1, !colour);
        } else if half == 1 {
            return colour;
        } else {
            let above = half - 1;
            (half, colour) = (above - (above & above.wrapping_neg()) / 2, !colour);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_and_children_agree() {
        for last in 1..300 {
            let tree = Positions::new(last);
            let served: usize =
                (1..=last).map(|position| tree.children(position).into_iter().flatten().count()).sum();
            assert_eq!(served as u32, last - 1, "all but the top are somebody's child");
            assert_eq!(tree.parent(tree.top()), 0);
            for position in 1..=last {
                for (child, rounds) in tree.children(position).into_iter().zip(1..) {
                    let Some(child) = child else { continue };
                    assert_eq!(tree.parent(child), position);
                    assert_eq!(tree.round(child), tree.round(position) + rounds, "{last} {child}");
                }
            }
        }
    }

    #[test]
    fn nobody_is_an_inner_node_twice() {
        for last in 1..300 {
            let tree = Positions::new(last);
            for position in 1..=last {
                let mirrored = tree.mirrored(position);
                assert_eq!(tree.mirrored(mirrored), position);
                assert!((1..=last).contains(&mirrored));
                assert!(tree.children(position) == [None; 2] || tree.children(mirrored) == [None; 2]);
            }
        }
    }

    #[test]
    fn nobody_receives_twice_in_a_round() {
        for last in (1..700).chain([4096, 9999, 100_001]) {
            let tree = Positions::new(last);
            for position in 1..=last {
                // The second tree is one round behind the first.
                let rounds = [tree.round(position), tree.round(tree.mirrored(position)) + 1];
                assert_ne!(rounds[0] % 2, rounds[1] % 2, "{last} {position}");
                assert!(rounds[0] <= 2 * last.ilog2());
            }
        }
    }

    #[test]
    fn the_largest_tree_does_not_overflow() {
        let tree = Positions::new((1 << 31) - 1);
        assert_eq!((tree.top(), tree.parent(1 << 30)), (1 << 30, 0));
        assert!(tree.round((1 << 31) - 1) <= 60);
    }
}
