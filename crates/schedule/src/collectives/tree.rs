//! Trees over places, as pure functions, and the data that moves along them.
//!
//! A place is a rank counted from the root, modulo the number of processes: place 0 is the root.
//! Every rooted collective that uses a tree consists of a [`Tree`], a [`Load`] (the bytes that go
//! over the edge to a place) and a direction: a [`Walk`] carries data down, its [`Mirror`] carries
//! data up. So each tree is written once and serves bcast, reduce, scatter, gather and barrier.

mod binary;
mod chain;
mod contiguous;
pub(crate) mod double;
mod k_nomial;
mod load;
mod mirror;
mod star;
mod walk;

pub use binary::Binary;
pub use chain::Chain;
pub use contiguous::Contiguous;
pub use k_nomial::KNomial;
pub use load::{Blocks, Load, Parts, Vector};
pub use mirror::{Mirror, Mirrored};
pub use star::Star;
pub use walk::Walk;

use super::sizes::Segments;
use super::{Algorithm, CollectiveError};
use std::fmt::Debug;

/// The shape of a tree. All functions are pure.
pub trait Tree: Clone + Debug + Send + Sync {
    /// Number of children of a place; at most that of the root, or two if the root has fewer.
    fn children(&self, place: u32) -> u32;
    /// Child `index < children(place)`, in the order in which they are served.
    fn child(&self, place: u32, index: u32) -> u32;
    /// The parent of a place that is not the root.
    fn parent(&self, place: u32) -> u32;
}

/// A tree in which a place and its subtree are consecutive places, starting with `place`.
pub trait Neighbours: Tree {
    /// Number of places in the subtree, `place` included.
    fn below(&self, place: u32) -> u32;
}

/// Default segment size of pipelines, in bytes.
pub const SEGMENT: u64 = 64 << 10;
/// Default radix of k-nomial trees.
const RADIX: u32 = 4;

/// The requested radix, or the default.
pub(super) fn radix(algorithm: &Algorithm) -> Result<u32, CollectiveError> {
    match algorithm.radix.unwrap_or(RADIX) {
        radix @ (0 | 1) => Err(CollectiveError::RadixTooSmall { radix }),
        radix => Ok(radix),
    }
}

/// A vector in segments of a given size, or as a whole.
pub(super) fn segments(bytes: u64, segment: Option<u64>) -> Result<Segments, CollectiveError> {
    match segment {
        None => Ok(Segments::whole(bytes)),
        Some(segment) => {
            Segments::new(bytes, segment).ok_or(CollectiveError::TooManySegments { bytes, segment })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that parents and children agree and that every place descends from the root.
    fn is_a_tree(tree: &impl Tree, processes: u32) {
        let mut parents = vec![None; processes as usize];
        for place in 0..processes {
            for index in 0..tree.children(place) {
                let child = tree.child(place, index);
                assert!(child < processes && child != 0, "{tree:?} {place} {index}");
                assert_eq!(parents[child as usize].replace(place), None, "{tree:?} {child}");
                assert_eq!(tree.parent(child), place, "{tree:?} {child}");
            }
            assert!(tree.children(place) <= tree.children(0).max(2));
        }
        assert!(parents.iter().skip(1).all(Option::is_some), "{tree:?} {processes}");
    }

    fn has_neighbours(tree: &impl Neighbours, processes: u32) {
        for place in 0..processes {
            let mut below: Vec<u32> = vec![place];
            let mut next = 0;
            while next < below.len() {
                let children = (0..tree.children(below[next])).map(|index| tree.child(below[next], index));
                let children: Vec<u32> = children.collect();
                below.extend(children);
                next += 1;
            }
            below.sort_unstable();
            let expected: Vec<u32> = (place..place + tree.below(place)).collect();
            assert_eq!(below, expected, "{tree:?} {place}");
        }
    }

    #[test]
    fn all_shapes_are_trees() {
        for processes in 1..200 {
            is_a_tree(&Star::new(processes), processes);
            is_a_tree(&Chain::new(processes), processes);
            is_a_tree(&Binary::new(processes), processes);
            has_neighbours(&Star::new(processes), processes);
            for radix in [2, 3, 4, 7, 100, u32::MAX] {
                is_a_tree(&KNomial::new(processes, radix), processes);
                is_a_tree(&Contiguous::new(processes, radix), processes);
                has_neighbours(&Contiguous::new(processes, radix), processes);
            }
        }
    }

    #[test]
    fn the_largest_trees_do_not_overflow() {
        for radix in [2, 3, 1 << 16, u32::MAX] {
            let (growing, contiguous) = (KNomial::new(1 << 31, radix), Contiguous::new(1 << 31, radix));
            for place in [1, 2, (1 << 30) + 5, (1 << 31) - 1] {
                assert!(growing.parent(place) < place && contiguous.parent(place) < place);
            }
            assert_eq!(contiguous.below(0), 1 << 31);
        }
        assert_eq!(KNomial::new(1 << 31, 2).children(0), 31);
        assert_eq!(Binary::new(1 << 31).children(1 << 30), 0);
        assert_eq!(Binary::new(1 << 31).children((1 << 30) - 1), 1);
    }
}
