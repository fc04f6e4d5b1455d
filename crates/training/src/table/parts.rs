//! Tables of one job in several files.

use super::{Clock, Row, Table, TableError, read_table};
use crate::files::{are_copies, given_twice};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Reads the tables of a job, usually one per rank.
///
/// A table that cannot be read is left out and listed in the faults.
///
/// # Errors
/// No table can be read, none has rows, or the tables belong to different jobs.
pub fn read_tables(paths: &[PathBuf]) -> Result<Table, TableError> {
    // Otherwise it would look like two jobs.
    if let Some((path, other)) = given_twice(paths) {
        return Err(TableError::GivenTwice { path, other });
    }
    let mut whole = Table::default();
    let mut known = Known::default();
    let mut unreadable = Vec::new();
    for path in paths {
        let table = match read_table(path) {
            Ok(table) => table,
            Err(error) => {
                unreadable.push((path.clone(), error));
                continue;
            }
        };
        if paths.len() > 1 {
            known.add(&table.rows, path)?;
        }
        if let Some(clock) = Clock::beside(path) {
            let ranks: BTreeSet<u32> = table.rows.iter().map(|row| row.rank).collect();
            whole.clocks.extend(ranks.into_iter().map(|rank| (rank, clock.clone())));
        }
        if table.rows.is_empty() {
            whole.faults.silent(path.clone());
        }
        // Of a single table, the rows are moved: there may be gigabytes of them.
        match whole.rows.is_empty() {
            true => whole.rows = table.rows,
            false => whole.rows.extend(table.rows),
        }
        whole.faults.append(table.faults);
        whole.unchecked |= table.unchecked;
    }
    whole.faults.unreadable(&unreadable);
    if !whole.rows.is_empty() || whole.faults.first().is_some() {
        return Ok(whole);
    }
    match (unreadable.into_iter().next(), paths.first()) {
        (Some((_, error)), _) => Err(error),
        (None, Some(path)) => Err(TableError::NoRows { path: path.clone() }),
        (None, None) => Ok(whole),
    }
}

/// The ranks found so far, with the first table that has them.
#[derive(Default)]
struct Known<'a> {
    /// By rank: data-parallel rank and stage.
    places: BTreeMap<u32, ((u32, u32), &'a Path)>,
    ranks: BTreeMap<(u32, u32), (u32, &'a Path)>,
    /// By step and rank.
    steps: BTreeMap<(i64, u32), &'a Path>,
}

impl<'a> Known<'a> {
    fn add(&mut self, rows: &[Row], path: &'a Path) -> Result<(), TableError> {
        let two = |first: &Path, why: String| match are_copies(first, path) {
            true => Err(TableError::Copied { copy: path.into(), of: first.into() }),
            false => Err(TableError::TwoJobs { first: first.into(), second: path.into(), why }),
        };
        let workers: BTreeSet<(u32, u32, u32)> =
            rows.iter().map(|row| (row.rank, row.dp_rank, row.stage)).collect();
        for (rank, dp_rank, stage) in workers {
            let (place, first) = *self.places.entry(rank).or_insert(((dp_rank, stage), path));
            if place != (dp_rank, stage) && first != path {
                let [one, other] = [place, (dp_rank, stage)]
                    .map(|(dp_rank, stage)| format!("data-parallel rank {dp_rank} of stage {stage}"));
                return two(first, format!("rank {rank} is {one} in the first, {other} in the second"));
            }
            let (other, first) = *self.ranks.entry((dp_rank, stage)).or_insert((rank, path));
            if other != rank && first != path {
                return two(
                    first,
                    format!(
                        "data-parallel rank {dp_rank} of stage {stage} is rank {other} in the first, rank {rank} in the second"
                    ),
                );
            }
        }
        let steps: BTreeSet<(i64, u32)> = rows.iter().map(|row| (row.step, row.rank)).collect();
        for (step, rank) in steps {
            match self.steps.entry((step, rank)) {
                Entry::Occupied(known) => {
                    return two(known.get(), format!("both have step {step} of rank {rank}"));
                }
                Entry::Vacant(free) => drop(free.insert(path)),
            }
        }
        Ok(())
    }
}
