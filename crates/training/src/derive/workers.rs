//! Who takes part in a job.

use super::{JobError, MOST};
use crate::{Kind, Row, Worker};
use std::collections::{BTreeMap, BTreeSet};

/// Who takes part.
pub struct Workers {
    pub dp: u32,
    pub pp: u32,
    /// By data-parallel rank and stage.
    pub ranks: BTreeMap<(u32, u32), u32>,
    /// Whether steps end with the optimizer.
    pub ends: bool,
}

impl Workers {
    pub fn of(rows: &[Row]) -> Result<Workers, JobError> {
        let (Some(dp), Some(pp)) =
            (rows.iter().map(|row| row.dp_rank).max(), rows.iter().map(|row| row.stage).max())
        else {
            return Err(JobError::Empty);
        };
        let (dp, pp) = (dp.saturating_add(1), pp.saturating_add(1));
        let count = u64::from(dp) * u64::from(pp);
        if count > MOST {
            return Err(JobError::TooMany { workers: count });
        }
        let mut ranks = BTreeMap::new();
        for of_worker in rows.chunk_by(|a, b| (a.dp_rank, a.stage, a.rank) == (b.dp_rank, b.stage, b.rank)) {
            let Row { dp_rank, stage, rank, .. } = of_worker[0];
            let known = *ranks.entry((dp_rank, stage)).or_insert(rank);
            if known != rank {
                return Err(JobError::TwoRanks { dp_rank, stage, rank: known, other: rank });
            }
        }
        if count > 4 * ranks.len() as u64 {
            return Err(JobError::Sparse { recorded: ranks.len(), workers: count });
        }
        Ok(Workers { dp, pp, ranks, ends: rows.iter().any(|row| row.kind == Kind::Optimizer) })
    }

    /// A worker of the job of which a step has nothing, or no end.
    pub fn first_missing(&self, rows: &[Row]) -> Option<u32> {
        let of_worker = rows.chunk_by(|a, b| (a.dp_rank, a.stage) == (b.dp_rank, b.stage));
        let has_end = |rows: &&[Row]| !self.ends || rows.iter().any(|row| row.kind == Kind::Optimizer);
        let there: Vec<(u32, u32)> =
            of_worker.filter(has_end).map(|rows| (rows[0].dp_rank, rows[0].stage)).collect();
        if there.len() == self.ranks.len() {
            return None;
        }
        let there: BTreeSet<(u32, u32)> = there.into_iter().collect();
        self.ranks.iter().find(|(place, _)| !there.contains(place)).map(|(_, rank)| *rank)
    }

    pub fn list(&self) -> Vec<Worker> {
        let all = (0..self.dp).flat_map(|dp_rank| (0..self.pp).map(move |stage| (dp_rank, stage)));
        all.map(|(dp_rank, stage)| {
            let rank = self.ranks.get(&(dp_rank, stage)).copied();
            Worker { rank: rank.unwrap_or(0), dp_rank, stage, host: None, recorded: rank.is_some() }
        })
        .collect()
    }
}
