//! Matches the communicators of all ranks.
//!
//! A rank names a communicator by a number of its own, together with its size and its own rank in it.
//! The world is the first one a rank uses that has all ranks. Of the others, the k-th that a rank
//! uses of a given size is matched with the k-th of that size on other ranks. If there are several
//! such communicators (the rows of a grid, say), ranks are assigned in order of their world rank,
//! each to the first one in which its local rank is still free. This is right for rows and columns of
//! grids and other splits that keep the order, but cannot be known in general: the notes say so.

use super::log::Log;
use crate::import::ImportError;
use std::collections::{BTreeMap, BTreeSet};
use straggler_model::Rank;
use straggler_trace::{CommId, Communicator, WORLD};

#[derive(Debug, Default)]
pub(super) struct Unified {
    pub communicators: Vec<Communicator>,
    /// For each rank, the numbers of its own communicators.
    pub numbers: Vec<Vec<CommId>>,
}

/// A communicator under construction: the world rank of each of its ranks.
type Members = BTreeMap<u32, Rank>;

pub(super) fn unify(logs: &[Log], notes: &mut Vec<String>) -> Result<Unified, ImportError> {
    let ranks = logs.len() as u32;
    let mut unified = Unified { communicators: vec![Communicator::world(ranks)], numbers: vec![] };
    // Communicators with their members, by size and by how many of that size the rank used before.
    let mut groups: BTreeMap<(u32, u32), Vec<Members>> = BTreeMap::new();
    let mut places: Vec<Vec<Option<(u32, u32, usize)>>> = Vec::with_capacity(logs.len());
    let mut strangers = 0;
    for (rank, log) in (0..).zip(logs) {
        check_sizes(log, ranks)?;
        let (world, named_alike) = world(log, rank, ranks);
        strangers += u64::from(!named_alike);
        let mut used: BTreeMap<u32, u32> = BTreeMap::new();
        let mut mine = Vec::with_capacity(log.communicators.len());
        for (at, local) in log.communicators.iter().enumerate() {
            if Some(at) == world {
                mine.push(None);
                continue;
            }
            let occurrence = used.entry(local.size).or_insert(0);
            let key = (local.size, *occurrence);
            *occurrence += 1;
            mine.push(Some((key.0, key.1, join(groups.entry(key).or_default(), local.rank, rank))));
        }
        places.push(mine);
    }
    let mut numbered: BTreeMap<(u32, u32, usize), CommId> = BTreeMap::new();
    let mut filled = 0;
    for (&(size, occurrence), several) in &groups {
        for (index, members) in several.iter().enumerate() {
            numbered.insert((size, occurrence, index), CommId(unified.communicators.len() as u32));
            let (communicator, complete) = complete(members, size, ranks);
            filled += u64::from(!complete);
            unified.communicators.push(communicator);
        }
    }
    let number =
        |place: Option<(u32, u32, usize)>| place.and_then(|key| numbered.get(&key).copied()).unwrap_or(WORLD);
    unified.numbers = places.into_iter().map(|mine| mine.into_iter().map(number).collect()).collect();
    report(&groups, filled, strangers, notes);
    Ok(unified)
}

fn check_sizes(log: &Log, ranks: u32) -> Result<(), ImportError> {
    match log.communicators.iter().map(|local| local.size).max() {
        Some(size) if size > ranks => {
            Err(ImportError::MissingRank { rank: u64::from(ranks), ranks: u64::from(size) })
        }
        _ => Ok(()),
    }
}

/// The index of the world among the communicators of a rank, and whether the rank in it agrees with the file name.
fn world(log: &Log, rank: Rank, ranks: u32) -> (Option<usize>, bool) {
    let found = log.communicators.iter().enumerate().find(|(_, local)| local.size == ranks);
    (found.map(|(at, _)| at), found.is_none_or(|(_, local)| local.rank == rank))
}

/// Puts a rank into the first communicator in which its local rank is still free.
fn join(several: &mut Vec<Members>, own: u32, world: Rank) -> usize {
    let index = several.iter().position(|members| !members.contains_key(&own)).unwrap_or(several.len());
    if index == several.len() {
        several.push(Members::new());
    }
    if let Some(members) = several.get_mut(index) {
        members.insert(own, world);
    }
    index
}

/// The communicator, and whether all of its members were seen; missing members are filled with the
/// lowest unused ranks.
fn complete(members: &Members, size: u32, ranks: u32) -> (Communicator, bool) {
    let seen: BTreeSet<Rank> = members.values().copied().collect();
    let mut left = (0..ranks).filter(|rank| !seen.contains(rank));
    let member = |own: u32| members.get(&own).copied().or_else(|| left.next()).unwrap_or(0);
    let list: Vec<Rank> = (0..size).map(member).collect();
    let communicator = Communicator { members: list, parent: Some(WORLD), ..Communicator::default() };
    (communicator, members.len() as u32 == size)
}

fn report(groups: &BTreeMap<(u32, u32), Vec<Members>>, filled: u64, strangers: u64, notes: &mut Vec<String>) {
    if strangers > 0 {
        notes.push(format!(
            "{strangers} files contain another rank than their file name; the file name is used"
        ));
    }
    let others: usize = groups.values().map(Vec::len).sum();
    if others > 0 {
        notes.push(format!(
            "{others} communicators besides the world: their members are derived from size, rank and order of first use"
        ));
    }
    if filled > 0 {
        notes.push(format!(
            "{filled} communicators were not used by all their members; the others are guessed"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::log::Local;
    use super::*;

    fn log(communicators: &[(u64, u32, u32)]) -> Log {
        let local = |&(id, rank, size): &(u64, u32, u32)| Local { id, rank, size };
        Log { communicators: communicators.iter().map(local).collect(), ..Log::default() }
    }

    fn members(unified: &Unified) -> Vec<Vec<u32>> {
        unified.communicators.iter().map(|communicator| communicator.members.clone()).collect()
    }

    /// Rows, then columns of a grid of two by two: every rank has its own numbers for them.
    #[test]
    fn rows_and_columns_of_a_grid() {
        let logs = [
            log(&[(0, 0, 4), (11, 0, 2), (12, 0, 2)]),
            log(&[(0, 1, 4), (21, 1, 2), (22, 0, 2)]),
            log(&[(0, 2, 4), (31, 0, 2), (32, 1, 2)]),
            log(&[(0, 3, 4), (41, 1, 2), (42, 1, 2)]),
        ];
        let mut notes = vec![];
        let unified = unify(&logs, &mut notes).unwrap();
        assert_eq!(members(&unified), [vec![0, 1, 2, 3], vec![0, 1], vec![2, 3], vec![0, 2], vec![1, 3]]);
        assert_eq!(unified.numbers, [[0, 1, 3], [0, 1, 4], [0, 2, 3], [0, 2, 4]].map(|own| own.map(CommId)));
        assert_eq!(notes.len(), 1);
    }

    #[test]
    fn a_larger_world_means_missing_files() {
        let error = unify(&[log(&[(0, 0, 4)])], &mut vec![]).unwrap_err();
        assert!(matches!(error, ImportError::MissingRank { rank: 1, ranks: 4 }), "{error}");
    }

    /// Like a trace made by copying the file of rank 0.
    #[test]
    fn files_are_ranks_by_their_names() {
        let mut notes = vec![];
        let unified = unify(&[log(&[(0, 0, 2)]), log(&[(0, 0, 2)])], &mut notes).unwrap();
        assert_eq!(unified.numbers, [[WORLD], [WORLD]]);
        assert!(notes.iter().any(|note| note.starts_with("1 files contain another rank")), "{notes:?}");
    }

    #[test]
    fn a_duplicate_of_the_world_is_another_communicator() {
        let logs = [log(&[(0, 0, 2), (5, 0, 2)]), log(&[(0, 1, 2), (6, 1, 2)])];
        let unified = unify(&logs, &mut vec![]).unwrap();
        assert_eq!(members(&unified), [[0, 1], [0, 1]]);
        assert_eq!(unified.numbers, [[CommId(0), CommId(1)]; 2]);
    }
}
