//! The tables of `trace show`, for the terminal and for the page.

use super::functions::FunctionTotals;
use super::regions::{RegionAnswer, printable};
use super::show::{CommAnswer, PairAnswer, RankAnswer, ShowAnswer};
use super::sites::SiteAnswer;
use super::sizes::SizeAnswer;
use straggler_report::{Cell, Columns, Table};

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
