//! The tables of `trace show`, for the terminal and for the page.

use crate::trace::regions::{RegionAnswer, printable};
use crate::trace::show::{CommAnswer, PairAnswer, RankAnswer, ShowAnswer};
use crate::trace::sites::SiteAnswer;
use serde::Serialize;
use straggler_model::Time;
use straggler_model::units::Bytes;
use straggler_report::{Cell, Columns, Table};
use straggler_trace::Function;
use straggler_trace::profile::{Counts, Profile, SizeClass, is_counted, share};

pub fn ranks(ranks: &[RankAnswer]) -> Table {
    Columns::over(ranks)
        .number("rank", |row| Cell::id(row.rank))
        .number("run", |row| Cell::seconds(row.application_seconds))
        .number("in MPI", |row| Cell::seconds(row.mpi_seconds))
        .number("share", |row| Cell::share(row.mpi_share))
        .number("calls", |row| Cell::count(row.calls))
        .build()
}

/// The row below those of the ranks.
pub fn all_ranks(answer: &ShowAnswer) -> [Cell; 5] {
    [
        Cell::text("all"),
        Cell::seconds(answer.application_seconds),
        Cell::seconds(answer.mpi_seconds),
        Cell::share(answer.mpi_share),
        Cell::count(answer.ranks.iter().fold(0, |sum: u64, rank| sum.saturating_add(rank.calls))),
    ]
}

pub fn functions(functions: &[FunctionTotals]) -> Table {
    totals(Columns::over(functions), |row| row).build()
}

/// The columns of totals, whatever the rows are.
fn totals<'a, R: Copy>(columns: Columns<R>, of: impl Fn(R) -> &'a FunctionTotals + Copy) -> Columns<R> {
    columns
        .text("function", |row| of(row).function)
        .number("calls", |row| Cell::count(of(row).counts.calls))
        .number("total", |row| Cell::seconds(of(row).counts.seconds))
        .number("mean", |row| Cell::seconds(of(row).mean_seconds))
        .number("longest", |row| Cell::seconds(of(row).counts.longest_seconds))
        .number("of run", |row| of(row).share_of_mpi.map(|_| Cell::share(of(row).share_of_application)))
        .number("of MPI", |row| of(row).share_of_mpi.map(Cell::share))
        .number("sent", |row| moved(of(row).counts.bytes_sent))
        .number("received", |row| moved(of(row).counts.bytes_received))
}

pub fn communicators(communicators: &[CommAnswer]) -> Table {
    Columns::over(communicators)
        .number("communicator", |row| Cell::id(row.communicator.0))
        .text("made by", |row| &row.name)
        .number("ranks", |row| Cell::count(row.size))
        .number("calls", |row| Cell::count(row.counts.calls))
        .number("total", |row| Cell::seconds(row.counts.seconds))
        .number("sent", |row| moved(row.counts.bytes_sent))
        .build()
}

pub fn regions(regions: &[RegionAnswer]) -> Table {
    Columns::over(regions)
        .text("region", |row| printable(&row.name))
        .number("entries", |row| Cell::count(row.total.entries))
        .number("total", |row| Cell::seconds(row.total.seconds))
        .number("in MPI", |row| Cell::seconds(row.total.mpi_seconds))
        .number("share", |row| Cell::share(row.total.mpi_share))
        .number("calls", |row| Cell::count(row.total.calls))
        .number("sent", |row| moved(row.total.bytes_sent))
        .number("received", |row| moved(row.total.bytes_received))
        .number("slowest rank", |row| row.slowest_rank.map(Cell::id))
        .number("its time", |row| Cell::seconds(row.slowest_seconds))
        .build()
}

pub fn call_sites(sites: &[SiteAnswer]) -> Table {
    let sites = Columns::over(sites).text("call site", |row| printable(&row.place.site));
    totals(sites, |row| &row.totals)
        .number("ranks", |row| Cell::count(row.ranks))
        .number("variation", |row| Cell::number(format!("{:.2}", row.variation), row.variation))
        .number("slowest rank", |row| row.slowest_rank.map(Cell::id))
        .page_only()
        .number("its time", |row| Cell::seconds(row.slowest_seconds))
        .page_only()
        .build()
}

pub fn sizes(sizes: &[SizeAnswer]) -> Table {
    Columns::over(sizes)
        .text("kind", |row| row.kind)
        .text("size", |row| Cell::number(row.label(), row.least_bytes as f64))
        .number("messages", |row| Cell::count(row.messages))
        .number("bytes", |row| Cell::bytes(row.bytes))
        .build()
}

/// The pairs with the most bytes.
pub fn largest_pairs(matrix: &[PairAnswer], most: usize) -> Table {
    let mut largest: Vec<&PairAnswer> = matrix.iter().collect();
    largest.sort_by_key(|pair| std::cmp::Reverse(pair.bytes));
    Columns::over(largest.into_iter().take(most))
        .number("from", |row| Cell::id(row.from))
        .number("to", |row| Cell::id(row.to))
        .number("messages", |row| Cell::count(row.messages))
        .number("bytes", |row| Cell::bytes(row.bytes))
        .number("bytes/message", |row| Cell::bytes(row.bytes / row.messages.max(1)))
        .build()
}

/// Most functions transfer no data: leave the cell empty.
fn moved(bytes: u64) -> Cell {
    if bytes == 0 { Cell::number("", 0.0) } else { Cell::bytes(bytes) }
}

#[derive(Serialize)]
pub struct CallTotals {
    pub calls: u64,
    pub seconds: f64,
    pub longest_seconds: f64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
}

impl CallTotals {
    pub fn new(counts: &Counts) -> CallTotals {
        CallTotals {
            calls: counts.calls,
            seconds: counts.time.seconds(),
            longest_seconds: counts.longest.seconds(),
            bytes_sent: counts.sent,
            bytes_received: counts.received,
        }
    }
}

#[derive(Serialize)]
pub struct FunctionTotals {
    pub function: &'static str,
    #[serde(flatten)]
    pub counts: CallTotals,
    pub mean_seconds: f64,
    pub share_of_application: f64,
    /// None for functions that do not count as time in MPI.
    pub share_of_mpi: Option<f64>,
}

impl FunctionTotals {
    /// Takes the time of all ranks in MPI, and their total time.
    pub fn new(function: Function, counts: &Counts, (mpi, application): (Time, Time)) -> FunctionTotals {
        FunctionTotals {
            function: function.name(),
            counts: CallTotals::new(counts),
            mean_seconds: counts.mean().seconds(),
            share_of_application: share(counts.time, application),
            share_of_mpi: is_counted(function).then(|| share(counts.time, mpi)),
        }
    }
}

/// Messages of one kind between two powers of two, as JSON.
#[derive(Serialize)]
pub struct SizeAnswer {
    /// `point-to-point`, the blocking form of a collective, or a function of one-sided communication.
    pub kind: &'static str,
    pub least_bytes: u64,
    /// The largest size in this range.
    pub most_bytes: u64,
    pub messages: u64,
    pub bytes: u64,
}

impl SizeAnswer {
    /// "4 KiB up to 8 KiB", excluding the upper bound.
    pub fn label(&self) -> String {
        match self.least_bytes {
            0 | 1 => Bytes(self.least_bytes).to_string(),
            least => format!("{} up to {}", Bytes(least), Bytes(self.most_bytes.saturating_add(1))),
        }
    }
}

pub fn answers(profile: &Profile) -> Vec<SizeAnswer> {
    let answer = |&SizeClass { kind, least, most, messages, bytes }: &SizeClass| SizeAnswer {
        kind,
        least_bytes: least,
        most_bytes: most,
        messages,
        bytes,
    };
    profile.sizes.iter().map(answer).collect()
}
