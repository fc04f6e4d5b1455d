//! Reads GOAL binary. The file is not trusted: every offset and count is checked, and memory stays
//! proportional to the file.

mod schedule;

use std::ops::Range;

use straggler_model::{Rank, parallel};

use self::schedule::{Schedule, Scratch};
use super::{DESTROYED, EXTENT, HEADER, MAGIC, NODE};
use crate::Graph;
use crate::goal::error::{BinaryProblem, GoalError};
use crate::graph::{Facts, Filling, Part};

/// Bytes that one thread reads at a time.
const PIECE: usize = 256 << 10;
/// Pieces per thread in a batch.
const PIECES_A_THREAD: usize = 8;

/// Reads a schedule.
pub fn parse(bytes: &[u8]) -> Result<Graph, GoalError> {
    parse_with(bytes, &mut |_| ())
}

/// Like [`parse`]; calls `consumed` with ranges of the input that will not be read again.
pub fn parse_with(bytes: &[u8], consumed: &mut dyn FnMut(Range<usize>)) -> Result<Graph, GoalError> {
    parse_ranks(bytes, &|_| true, consumed)
}

/// Returns the number of ranks of a schedule.
pub fn ranks(bytes: &[u8]) -> Result<Rank, GoalError> {
    Ok(File::open(bytes, &|_| true)?.ranks)
}

/// Like [`parse_with`], for some ranks only. The others get no operations, and their schedules are not read.
pub fn parse_ranks(
    bytes: &[u8],
    wanted: &(dyn Fn(Rank) -> bool + Sync),
    consumed: &mut dyn FnMut(Range<usize>),
) -> Result<Graph, GoalError> {
    let file = File::open(bytes, wanted)?;
    let has_lanes = file.largest_cpu | file.largest_nic != 0;
    let mut target = Filling::new(file.ranks, file.wanted_bytes() / NODE, has_lanes);
    while target.ranks() < file.ranks {
        let first = target.ranks();
        let mut pieces = file.batch(first);
        let broken = file.open_all(&pieces, &mut target);
        // Ranks before a broken one are still read, so that the first fault of the file is reported.
        pieces.iter_mut().for_each(|ranks| ranks.end = ranks.end.min(target.ranks()));
        pieces.retain(|ranks| !ranks.is_empty());
        let read = |_, mut part: Part<'_>| file.read_part(&mut part).map(|()| part.into_lists());
        let lists = parallel::map_owned(target.parts(&pieces), read);
        let lists = lists.into_iter().collect::<Result<_, GoalError>>()?;
        target.append(lists);
        broken?;
        consumed(file.extent_in_file(first, target.ranks()));
    }
    Ok(target.finish())
}

fn problem<T>(rank: Option<Rank>, field: &'static str, problem: BinaryProblem) -> Result<T, GoalError> {
    Err(GoalError::Binary { rank, field, problem })
}

#[inline(always)]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default())
}

#[inline(always)]
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default())
}

/// A file whose header and table of schedules have been checked.
struct File<'a> {
    /// Everything after the magic number; offsets count from here.
    body: &'a [u8],
    ranks: u32,
    largest_cpu: u8,
    largest_nic: u8,
    wanted: &'a (dyn Fn(Rank) -> bool + Sync),
}

impl<'a> File<'a> {
    fn open(bytes: &'a [u8], wanted: &'a (dyn Fn(Rank) -> bool + Sync)) -> Result<File<'a>, GoalError> {
        let Some((magic, body)) = bytes.split_first_chunk::<8>() else {
            return problem(
                None,
                "magic",
                BinaryProblem::Truncated { needed: 8, available: bytes.len() as u64 },
            );
        };
        match u64::from_le_bytes(*magic) {
            MAGIC => {}
            DESTROYED => return problem(None, "magic", BinaryProblem::Destroyed),
            found => return problem(None, "magic", BinaryProblem::WrongMagic { found }),
        }
        let available = body.len() as u64;
        if body.len() < HEADER {
            let needed = HEADER as u64;
            return problem(None, "header", BinaryProblem::Truncated { needed, available });
        }
        let (ranks, largest_cpu, largest_nic) = (u32_at(body, 0), body[4], body[5]);
        let file = File { body, ranks, largest_cpu, largest_nic, wanted };
        let needed = HEADER as u64 + u64::from(file.ranks) * EXTENT as u64;
        if needed > available {
            return problem(None, "table of schedules", BinaryProblem::Truncated { needed, available });
        }
        file.check_ranks()?;
        Ok(file)
    }

    fn check_ranks(&self) -> Result<(), GoalError> {
        if self.ranks == 0 {
            return problem(None, "number of ranks", BinaryProblem::NoRanks);
        }
        let limit = self.body.len() as u64;
        let mut total = 0u64;
        for rank in 0..self.ranks {
            let (start, end) = self.extent(rank);
            if end > limit {
                return problem(
                    Some(rank),
                    "end of the schedule",
                    BinaryProblem::OutOfRange { found: end, limit },
                );
            }
            if start > end {
                let out_of_range = BinaryProblem::OutOfRange { found: start, limit: end };
                return problem(Some(rank), "start of the schedule", out_of_range);
            }
            // Overlapping schedules could turn a small file into a large graph.
            total = total.saturating_add(end - start);
            if total > limit {
                return problem(Some(rank), "end of the schedule", BinaryProblem::Overlap);
            }
        }
        Ok(())
    }

    #[inline]
    fn extent(&self, rank: Rank) -> (u64, u64) {
        let at = HEADER + rank as usize * EXTENT;
        (u64_at(self.body, at), u64_at(self.body, at + 8))
    }

    fn schedule(&self, rank: Rank) -> &'a [u8] {
        let (start, end) = self.extent(rank);
        &self.body[start as usize..end as usize]
    }

    /// Size in bytes of the wanted schedules.
    fn wanted_bytes(&self) -> usize {
        (0..self.ranks).filter(|&rank| (self.wanted)(rank)).map(|rank| self.schedule(rank).len()).sum()
    }

    /// Range in the file of the schedules of some ranks, or an empty range if they are out of order.
    fn extent_in_file(&self, first: Rank, end: Rank) -> Range<usize> {
        let (start, stop) = (self.extent(first).0 as usize + 8, self.extent(end - 1).1 as usize + 8);
        if start <= stop { start..stop } else { start..start }
    }

    /// Reserves room for the operations of some ranks, up to the first whose parts do not fit in
    /// the file. Does not look at operations yet.
    fn open_all(&self, pieces: &[Range<Rank>], target: &mut Filling) -> Result<(), GoalError> {
        for rank in pieces.iter().cloned().flatten() {
            let operations = if (self.wanted)(rank) { Schedule::open(self, rank)?.operations() } else { 0 };
            target.add_rank(operations);
        }
        Ok(())
    }

    /// The next ranks to read, from `first` on, in pieces for one thread each.
    fn batch(&self, first: Rank) -> Vec<Range<Rank>> {
        let full = PIECES_A_THREAD * rayon::current_num_threads();
        let mut pieces = Vec::new();
        let mut begin = first;
        while begin < self.ranks && pieces.len() < full {
            let mut end = begin;
            let mut bytes = 0;
            while end < self.ranks && bytes < PIECE {
                bytes += EXTENT + if (self.wanted)(end) { self.schedule(end).len() } else { 0 };
                end += 1;
            }
            pieces.push(begin..end);
            begin = end;
        }
        pieces
    }

    fn read_part(&self, part: &mut Part<'_>) -> Result<(), GoalError> {
        let mut scratch = Scratch::default();
        for rank in part.ranks.clone() {
            if !(self.wanted)(rank) {
                part.end_rank(&Facts::default());
                continue;
            }
            let schedule = Schedule::open(self, rank)?;
            let facts = schedule.read(part.next_rank(schedule.operations()), &mut scratch)?;
            part.end_rank(&facts);
        }
        Ok(())
    }
}
