//! The workers of a job.

use super::{JobError, MOST};
use crate::words::listed;
use crate::{Kind, Row, Worker};
use std::collections::BTreeMap;
use straggler_model::parallel;

/// If more workers than this seem to take part but few were recorded, the numbers are wrong.
const MOST_UNRECORDED: u64 = 1 << 14;

/// The workers of the job.
pub struct Workers {
    pub dp: u32,
    pub pp: u32,
    /// Keyed by data-parallel rank and stage.
    pub ranks: BTreeMap<(u32, u32), u32>,
    /// Whether steps end with the optimizer.
    pub ends: bool,
}

impl Workers {
    /// The workers of the rows. `known` has the number of data-parallel ranks and stages, as far as known.
    pub fn new(rows: &[Row], known: (u32, u32)) -> Result<Workers, JobError> {
        if rows.is_empty() {
            return Err(JobError::Empty);
        }
        let largest = |one: (u32, u32), other: (u32, u32)| (one.0.max(other.0), one.1.max(other.1));
        let workers = |rows: &[Row]| rows.iter().map(|row| (row.dp_rank, row.stage)).fold((0, 0), largest);
        let (dp, pp) = parallel::pieces(rows, workers).into_iter().fold((0, 0), largest);
        let (dp, pp) = largest((dp.saturating_add(1), pp.saturating_add(1)), known);
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
        let mut places: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        for (&other, &rank) in &ranks {
            if let Some(place) = places.insert(rank, other) {
                return Err(JobError::TwoPlaces { rank, place, other });
            }
        }
        if count > MOST_UNRECORDED.max(4 * ranks.len() as u64) {
            return Err(JobError::Sparse { recorded: ranks.len(), workers: count });
        }
        Ok(Workers { dp, pp, ranks, ends: rows.iter().any(|row| row.kind == Kind::Optimizer) })
    }

    /// The number of workers, recorded or not.
    pub fn all(&self) -> usize {
        self.dp as usize * self.pp as usize
    }

    /// Notes about what was not recorded at all.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let all = self.all();
        if self.ranks.len() < all {
            let places = (0..self.dp).flat_map(|dp_rank| (0..self.pp).map(move |stage| (dp_rank, stage)));
            let missing = places.filter(|place| !self.ranks.contains_key(place));
            let names = missing.map(|(dp_rank, stage)| match self.pp {
                1 => format!("data-parallel rank {dp_rank}"),
                _ => format!("data-parallel rank {dp_rank} of stage {stage}"),
            });
            let words = match all - self.ranks.len() {
                1 => ["was", "it", "it"],
                _ => ["were", "they", "them"],
            };
            notes.push(format!(
                "{} of {all} workers {} not recorded: {}. Delays that {} caused show up as waiting time of the others and \
                 cannot be attributed to {}",
                all - self.ranks.len(),
                words[0],
                listed(names),
                words[1],
                words[2]
            ));
        }
        if !self.ends {
            notes.push(
                "no optimizer was recorded: truncated steps cannot be detected, and each step ends with its last operation"
                    .into(),
            );
        }
        notes
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
