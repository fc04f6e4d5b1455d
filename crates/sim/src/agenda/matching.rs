//! Queues searched by source and tag, with wildcards. The entry that came first wins.

use crate::checkpoint::short_list;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use straggler_model::{Rank, Tag};
use straggler_schedule::graph::ANY;

/// Queues longer than this are indexed.
const LONG: usize = 32;

/// Whether two patterns, or a pattern and a message, match. A wildcard matches everything.
#[inline(always)]
pub(super) fn meet(one: (Rank, Tag), other: (Rank, Tag)) -> bool {
    one.0 == other.0 && one.1 == other.1 || meet_by_wildcard(one, other)
}

#[inline(never)]
fn meet_by_wildcard((source, tag): (Rank, Tag), (other_source, other_tag): (Rank, Tag)) -> bool {
    (source == other_source || source == ANY || other_source == ANY)
        && (tag == other_tag || tag == ANY || other_tag == ANY)
}

/// Receives or messages in the order they came, each with its source and tag. The first `IN_PLACE` are
/// stored inline.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum MatchQueue<T, const IN_PLACE: usize> {
    Short(#[serde(deserialize_with = "short_list")] SmallVec<[((Rank, Tag), T); IN_PLACE]>),
    Long(Box<Indexed<T>>),
}

/// An index over many entries: by arrival number, and by exact source and tag.
#[derive(Debug, Deserialize)]
#[serde(from = "Vec<((Rank, Tag), T)>")]
pub(super) struct Indexed<T> {
    next: u64,
    all: BTreeMap<u64, ((Rank, Tag), T)>,
    exact: HashMap<(Rank, Tag), VecDeque<u64>>,
    /// Numbers of the entries with a wildcard.
    wild: BTreeSet<u64>,
}

/// The index of entries in the order they came.
impl<T> From<Vec<((Rank, Tag), T)>> for Indexed<T> {
    fn from(entries: Vec<((Rank, Tag), T)>) -> Self {
        let mut index = Indexed::default();
        entries.into_iter().for_each(|(pattern, item)| index.push(pattern, item));
        index
    }
}

/// Only the entries: the rest follows from them.
impl<T: Serialize> Serialize for Indexed<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.all.values())
    }
}

impl<T, const IN_PLACE: usize> Default for MatchQueue<T, IN_PLACE> {
    fn default() -> Self {
        MatchQueue::Short(SmallVec::new())
    }
}

impl<T: Copy, const IN_PLACE: usize> MatchQueue<T, IN_PLACE> {
    pub fn push(&mut self, pattern: (Rank, Tag), item: T) {
        match self {
            MatchQueue::Short(list) if list.len() < LONG => list.push((pattern, item)),
            MatchQueue::Short(list) => {
                let mut index = Indexed::default();
                for (pattern, item) in list.drain(..).chain([(pattern, item)]) {
                    index.push(pattern, item);
                }
                *self = MatchQueue::Long(Box::new(index));
            }
            MatchQueue::Long(index) => index.push(pattern, item),
        }
    }

    /// Takes the first entry that matches `pattern`.
    #[inline]
    pub fn take(&mut self, pattern: (Rank, Tag)) -> Option<T> {
        match self {
            MatchQueue::Short(list) => {
                let place = list.iter().position(|&(known, _)| meet(known, pattern))?;
                Some(list.remove(place).1)
            }
            MatchQueue::Long(index) => {
                let item = index.take(pattern);
                if index.all.is_empty() {
                    *self = MatchQueue::default();
                }
                item
            }
        }
    }

    /// The remaining entries, in order.
    pub fn items(&self) -> Vec<T> {
        match self {
            MatchQueue::Short(list) => list.iter().map(|&(_, item)| item).collect(),
            MatchQueue::Long(index) => index.items().collect(),
        }
    }
}

impl<T> Default for Indexed<T> {
    fn default() -> Self {
        Indexed { next: 0, all: BTreeMap::new(), exact: HashMap::new(), wild: BTreeSet::new() }
    }
}

impl<T> Indexed<T> {
    pub fn push(&mut self, pattern: (Rank, Tag), item: T) {
        let number = self.next;
        self.next += 1;
        self.all.insert(number, (pattern, item));
        if pattern.0 == ANY || pattern.1 == ANY {
            self.wild.insert(number);
        } else {
            self.exact.entry(pattern).or_default().push_back(number);
        }
    }
}

impl<T: Copy> Indexed<T> {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The entries in the order they came.
    pub fn items(&self) -> impl Iterator<Item = T> + '_ {
        self.all.values().map(|&(_, item)| item)
    }

    /// The number of the first entry that matches `pattern`. A pattern with a wildcard searches all
    /// entries; an exact one checks the first with the same source and tag, and those with wildcards.
    fn find(&self, pattern: (Rank, Tag)) -> Option<u64> {
        let meets = |number: &u64| self.all.get(number).is_some_and(|(known, _)| meet(*known, pattern));
        if pattern.0 == ANY || pattern.1 == ANY {
            return self.all.keys().copied().find(|number| meets(number));
        }
        let exact = self.exact.get(&pattern).and_then(|numbers| numbers.front().copied());
        let wild = self.wild.iter().copied().find(|number| meets(number));
        match (exact, wild) {
            (Some(exact), Some(wild)) => Some(exact.min(wild)),
            (exact, wild) => exact.or(wild),
        }
    }

    pub fn take(&mut self, pattern: (Rank, Tag)) -> Option<T> {
        let number = self.find(pattern)?;
        let (known, item) = self.all.remove(&number)?;
        if !self.wild.remove(&number)
            && let Some(numbers) = self.exact.get_mut(&known)
        {
            // Nearly always the first; a wildcard may take one from the middle of another's queue.
            if let Some(place) = numbers.iter().position(|&known| known == number) {
                numbers.remove(place);
            }
            if numbers.is_empty() {
                self.exact.remove(&known);
            }
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = u32> {
        prop_oneof![4 => 0u32..4, 1 => Just(ANY)]
    }

    proptest! {
        /// Long queues behave like a plain list.
        #[test]
        fn equals_a_list(steps in prop::collection::vec((any::<bool>(), value(), value()), 1..400)) {
            let mut queue: MatchQueue<usize, 2> = MatchQueue::default();
            let mut list: Vec<((u32, u32), usize)> = Vec::new();
            for (number, (push, source, tag)) in steps.into_iter().enumerate() {
                // Twice as many pushes as takes, so that the queue grows long.
                if push || number % 3 == 0 {
                    queue.push((source, tag), number);
                    list.push(((source, tag), number));
                } else {
                    let place = list.iter().position(|&(known, _)| meet(known, (source, tag)));
                    prop_assert_eq!(queue.take((source, tag)), place.map(|place| list.remove(place).1));
                }
                prop_assert_eq!(queue.items().len(), list.len());
            }
        }
    }
}
