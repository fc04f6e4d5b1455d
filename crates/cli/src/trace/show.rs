//! `straggler trace show`, with the regions of the traced program and warnings about unbalanced marks.

use crate::kernel::prelude::*;
use crate::trace::file::{Opened, Work, open_trace_for};
use crate::trace::page::{self, FunctionTotals};
use crate::trace::sites::{self, SiteAnswer};
use crate::trace::{Picture, Show, waits, words};
use straggler_report::charts::save;
use straggler_trace::profile::{
    Counts, Pair, Pattern, Profile, Region, RegionCounts, RegionName, SizeClass, share,
};
use straggler_trace::{CommId, Function};

/// A profile as JSON.
#[derive(Serialize)]
pub struct ShowAnswer {
    pub trace: String,
    pub sentence: String,
    pub synthetic: bool,
    pub mpi_share: f64,
    pub mpi_seconds: f64,
    /// Time of the program without pauses of the recording.
    pub application_seconds: f64,
    /// How long the program paused the recording, summed over all ranks.
    pub paused_seconds: f64,
    pub ranks: Vec<RankAnswer>,
    /// The function with the most time first.
    pub functions: Vec<FunctionTotals>,
    pub communicators: Vec<CommAnswer>,
    /// The regions that the program marks, most time first.
    pub regions: Vec<RegionAnswer>,
    /// Call sites, most time first; empty if they were not recorded.
    pub call_sites: Vec<SiteAnswer>,
    /// Message sizes by powers of two.
    pub message_sizes: Vec<SizeClass>,
    /// Messages between pairs of ranks.
    pub matrix: Vec<Pair>,
    /// The matrix as CSV.
    pub matrix_csv: String,
    pub pattern: Pattern,
    pub warnings: Vec<String>,
}

#[derive(Serialize)]
pub struct RankAnswer {
    pub rank: u32,
    pub application_seconds: f64,
    pub mpi_seconds: f64,
    pub mpi_share: f64,
    pub calls: u64,
}

#[derive(Serialize)]
pub struct CommAnswer {
    pub communicator: CommId,
    pub name: String,
    pub size: usize,
    #[serde(flatten)]
    pub counts: Counts,
}

/// Traces with more calls are not searched for waits unasked.
const MOST_SEARCHED: u64 = 5_000_000;

/// Who waits for whom, in a sentence.
fn waiting(typed: &Show, opened: &Opened) -> Option<String> {
    let trace = &opened.trace;
    if trace.calls() > MOST_SEARCHED || trace.processes() < 2 {
        return None;
    }
    Some(waits::analyse(&typed.trace, opened).2.sentence)
}

pub fn run(typed: &Show, console: &Console) -> Outcome<()> {
    let opened = open_trace_for(&typed.trace, Work::Show)?;
    let profile = Profile::new(&opened.trace);
    let answer = answer(typed, &opened, &profile);
    let waiting = waiting(typed, &opened);
    pages::write_asked(typed.report.report.as_ref(), console, || {
        page::page(&answer, waiting.as_deref(), &opened, &profile)
    })?;
    if let Some(output) = &typed.output {
        let chart = match typed.what {
            Picture::Pattern => page::pattern(&opened, &profile),
            Picture::Messages => page::density(&opened, &profile),
            Picture::Matrix => page::matrix(&opened, &profile),
            Picture::Timeline => page::timeline(&opened),
        };
        save(output, &chart.draw(&chart.heading()))?;
        console.note(&format!("The figure is in {}", output.display()));
    }
    if console.json {
        return console.print_json(&answer);
    }
    answer.warnings.iter().for_each(|warning| console.warn(warning));
    console.print(&words::show(&answer, waiting.as_deref()))
}

fn answer(typed: &Show, opened: &Opened, profile: &Profile) -> ShowAnswer {
    let (mpi, application) = profile.totals();
    let (call_sites, unnamed) = sites::answers(&opened.trace.call_sites, profile);
    let warnings = opened.warnings(&typed.trace).into_iter().chain(mark_warnings(profile)).chain(unnamed);
    ShowAnswer {
        trace: typed.trace.display().to_string(),
        sentence: words::sentence(profile),
        synthetic: opened.is_synthetic(),
        mpi_share: share(mpi, application),
        mpi_seconds: mpi.seconds(),
        application_seconds: application.seconds(),
        paused_seconds: profile.ranks.iter().map(|rank| rank.paused.seconds()).sum(),
        ranks: ranks(profile),
        functions: functions(profile),
        communicators: communicators(opened, profile),
        regions: region_answers(profile),
        call_sites,
        message_sizes: profile.sizes.clone(),
        matrix: profile.matrix.clone(),
        matrix_csv: csv(&profile.matrix),
        pattern: profile.pattern.clone(),
        warnings: warnings.collect(),
    }
}

fn ranks(profile: &Profile) -> Vec<RankAnswer> {
    let rank = |(rank, of_rank): (u32, &straggler_trace::profile::RankProfile)| RankAnswer {
        rank,
        application_seconds: of_rank.application().seconds(),
        mpi_seconds: of_rank.mpi.seconds(),
        mpi_share: of_rank.mpi_share(),
        calls: of_rank.calls,
    };
    (0..).zip(&profile.ranks).map(rank).collect()
}

fn functions(profile: &Profile) -> Vec<FunctionTotals> {
    let totals = profile.totals();
    let of = |(function, counts): &(Function, Counts)| FunctionTotals::new(*function, counts, totals);
    profile.functions.iter().map(of).collect()
}

fn communicators(opened: &Opened, profile: &Profile) -> Vec<CommAnswer> {
    let communicators = profile.communicators.iter().filter_map(|&(communicator, ref counts)| {
        let comm = opened.trace.communicators.get(communicator.index())?;
        Some(CommAnswer {
            communicator,
            name: comm.name.clone(),
            size: comm.members.len() + comm.remote.len(),
            counts: *counts,
        })
    });
    communicators.collect()
}

fn csv(matrix: &[Pair]) -> String {
    let line = |pair: &Pair| format!("{},{},{},{}\n", pair.from, pair.to, pair.messages, pair.bytes);
    std::iter::once("from,to,messages,bytes\n".to_owned()).chain(matrix.iter().map(line)).collect()
}

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
    pub ranks: Vec<RegionRankAnswer>,
}

#[derive(Serialize)]
pub struct RegionRankAnswer {
    pub rank: u32,
    #[serde(flatten)]
    pub counts: CountsAnswer,
}

#[derive(Serialize)]
pub struct CountsAnswer {
    #[serde(flatten)]
    pub counts: RegionCounts,
    pub mpi_share: f64,
}

fn region_answers(profile: &Profile) -> Vec<RegionAnswer> {
    profile.regions.iter().map(region_answer).collect()
}

fn region_answer(region: &Region) -> RegionAnswer {
    let slowest = region.slowest();
    let rank = |(rank, counts): &(u32, RegionCounts)| RegionRankAnswer {
        rank: *rank,
        counts: counts_answer(counts),
    };
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
    CountsAnswer { counts: *counts, mpi_share: share(counts.mpi, counts.time) }
}

/// Unbalanced marks: one sentence per kind, with the first region and rank.
fn mark_warnings(profile: &Profile) -> Vec<String> {
    let unclosed = mark_warning(
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
    let unopened = mark_warning(
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

fn mark_warning(
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
