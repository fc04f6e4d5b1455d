//! The regions of a traced program in JSON, and warnings about unbalanced marks.

use serde::Serialize;
use straggler_report::numbers::counted;
use straggler_trace::profile::{Profile, Region, RegionCounts, RegionName, share};

#[derive(Serialize)]
pub struct RegionAnswer {
    /// The displayed name; two regions share it if a program names a region like a level.
    pub name: String,
    /// `region`, or `pcontrol` for a region started by MPI_Pcontrol.
    pub kind: &'static str,
    /// Totals over all ranks.
    #[serde(flatten)]
    pub total: CountsAnswer,
    /// None if there are no ranks.
    pub slowest_rank: Option<u32>,
    pub slowest_seconds: f64,
    /// Only ranks that entered it.
    pub ranks: Vec<RankAnswer>,
}

#[derive(Serialize)]
pub struct RankAnswer {
    pub rank: u32,
    #[serde(flatten)]
    pub counts: CountsAnswer,
}

#[derive(Serialize)]
pub struct CountsAnswer {
    pub entries: u64,
    /// Including nested regions, summed over all threads.
    pub seconds: f64,
    pub mpi_seconds: f64,
    pub mpi_share: f64,
    pub calls: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// Entries that were never left.
    pub unclosed: u64,
    /// Leave marks without an entry.
    pub unopened: u64,
}

pub fn answers(profile: &Profile) -> Vec<RegionAnswer> {
    profile.regions.iter().map(answer).collect()
}

fn answer(region: &Region) -> RegionAnswer {
    let slowest = region.slowest();
    let rank =
        |(rank, counts): &(u32, RegionCounts)| RankAnswer { rank: *rank, counts: counts_answer(counts) };
    RegionAnswer {
        name: region.name.to_string(),
        kind: match region.name {
            RegionName::Named(_) => "region",
            RegionName::Level(_) => "pcontrol",
        },
        total: counts_answer(&region.total),
        slowest_rank: slowest.map(|(rank, _)| rank),
        slowest_seconds: slowest.map_or(0.0, |(_, time)| time.seconds()),
        ranks: region.ranks.iter().map(rank).collect(),
    }
}

fn counts_answer(counts: &RegionCounts) -> CountsAnswer {
    CountsAnswer {
        entries: counts.entries,
        seconds: counts.time.seconds(),
        mpi_seconds: counts.mpi.seconds(),
        mpi_share: share(counts.mpi, counts.time),
        calls: counts.calls,
        bytes_sent: counts.sent,
        bytes_received: counts.received,
        unclosed: counts.unclosed,
        unopened: counts.unopened,
    }
}

/// Unbalanced marks: one sentence per kind, with the first region and rank.
pub fn warnings(profile: &Profile) -> Vec<String> {
    let unclosed = warning(
        profile,
        |counts| counts.unclosed,
        |count| {
            format!(
                "{} counted up to the end of the run",
                counted(
                    count,
                    "entry of a region was never closed and is",
                    "entries of regions were never closed and are"
                )
            )
        },
    );
    let unopened = warning(
        profile,
        |counts| counts.unopened,
        |count| {
            format!(
                "{} ignored",
                counted(
                    count,
                    "exit of a region was not preceded by an entry and is",
                    "exits of regions were not preceded by an entry and are"
                )
            )
        },
    );
    unclosed.into_iter().chain(unopened).collect()
}

fn warning(
    profile: &Profile,
    count: impl Fn(&RegionCounts) -> u64,
    text: impl Fn(u64) -> String,
) -> Option<String> {
    let sum = profile.regions.iter().fold(0, |sum: u64, region| sum.saturating_add(count(&region.total)));
    let first = profile.regions.iter().find(|region| count(&region.total) > 0)?;
    let (rank, _) = first.ranks.iter().find(|(_, counts)| count(counts) > 0)?;
    Some(format!("{}; first: {} on rank {rank}", text(sum), printable(&first.name.to_string())))
}

/// Replaces control characters: names come from the traced program and must not affect the terminal.
pub fn printable(name: &str) -> String {
    name.chars()
        .map(|letter| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter })
        .collect()
}
