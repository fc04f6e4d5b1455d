//! The page of a trace, and the tables that the page and the terminal share.

use crate::kernel::prelude::*;
use crate::trace::show::{CommAnswer, RankAnswer, RegionAnswer, ShowAnswer, printable};
use crate::{trace::file::Opened, trace::sites::SiteAnswer, trace::words};
use std::collections::{BTreeMap, BTreeSet};
use straggler_report::page::{
    Bar, Bars, Heat, Histogram, HistogramSeries, PointSeries, Scale, Scatter, Timeline,
};
use straggler_trace as trace;
use straggler_trace::Function;
use straggler_trace::profile::{Counts, Pair, Pattern, Profile, SizeClass, is_counted, share};

/// Most calls in a timeline.
const MOST_CALLS: usize = 200_000;
/// Most rows and columns of a matrix; more ranks share them.
const MOST_CELLS: u32 = 256;
/// Most pairs of ranks in the table.
const MOST_PAIRS: usize = 100;
/// Dots of one collective and size that are closer than one part in this many of the run are merged.
const DOTS: f64 = 5_000.0;

pub fn page(answer: &ShowAnswer, waiting: Option<&str>, opened: &Opened, profile: &Profile) -> Page {
    let command = command_line();
    let mut time = Section::new("Time by function");
    time.add(shares(answer, &command).synthetic(answer.synthetic));
    time.add(ranks(&answer.ranks).titled("Ranks", &command));
    time.add(functions(&answer.functions).titled("Functions", &command));
    time.add(communicators(&answer.communicators).titled("Communicators", &command));
    if !answer.regions.is_empty() {
        let note = "Times are summed over all ranks and include nested regions.";
        time.add(regions(&answer.regions).titled("Regions", &command).with_note(note));
    }
    if !answer.call_sites.is_empty() {
        time.add(call_sites(&answer.call_sites).titled("Call sites", &command));
    }
    let mut when = Section::new("Communication over time");
    when.add(pattern(opened, profile));
    when.add(density(opened, profile));
    when.add(timeline(opened));
    let mut whom = Section::new("Communication matrix");
    whom.add(matrix(opened, profile));
    whom.add(largest_pairs(&answer.matrix, MOST_PAIRS).titled("Largest pairs", &command));
    whom.add(sizes(&answer.message_sizes).titled("Sizes of messages", &command));
    let program = &opened.trace.meta.program;
    let title = if program.is_empty() { answer.trace.clone() } else { program.clone() };
    let answers = [Some(words::sentence(profile)), waiting.map(String::from)];
    let answers = answers.into_iter().flatten().collect();
    let mut page = pages::page(format!("Trace of {title}"), answers, vec![time, when, whom]);
    page.facts.add("Trace", &answer.trace);
    page.facts.add("Format", &opened.trace.meta.format);
    page.facts.add("MPI library", &opened.trace.meta.library);
    page.facts.add("Ranks", grouped(opened.trace.processes()));
    page.warnings = answer.warnings.clone();
    page.notes = opened.trace.notes.clone();
    page
}

fn shares(answer: &ShowAnswer, command: &str) -> Chart {
    let counted = answer.functions.iter().filter(|function| function.share_of_mpi.is_some());
    let bar = |function: &FunctionTotals| Bar {
        name: function.function.into(),
        value: function.counts.time.seconds(),
        note: percent(function.share_of_mpi.unwrap_or(0.0)),
        ..Bar::default()
    };
    let bars = counted.take(12).map(bar).collect();
    let plot = Bars { x: Axis::linear("time of all ranks", Unit::Seconds), bars };
    Chart::new("Time in MPI by function", command, plot)
}

/// A dot for every collective at its normalised time. Its height is the number of ranks, so the dots of one
/// communicator form a line.
pub fn pattern(opened: &Opened, profile: &Profile) -> Chart {
    let mut series: BTreeMap<&str, BTreeSet<(u32, u32)>> = BTreeMap::new();
    for dot in &profile.pattern.dots {
        series.entry(dot.function.name()).or_default().insert(((dot.at * DOTS).round() as u32, dot.ranks));
    }
    let series = series.into_iter().map(|(name, dots)| PointSeries {
        name: name.into(),
        x: dots.iter().map(|&(at, _)| f64::from(at) / DOTS).collect(),
        y: dots.iter().map(|&(_, ranks)| f64::from(ranks)).collect(),
    });
    let plot: Scatter = Scatter {
        x: Axis::whole("time of the run"),
        y: Axis::new("ranks that take part", Unit::Count, Scale::Log2),
        series: series.collect(),
    };
    let (all, dots) = (profile.pattern.dots.len(), plot.series.iter().map(|one| one.x.len()).sum::<usize>());
    let count = counted(all as u64, "collective", "collectives");
    let mut note = format!("{count}, each at the moment its last rank arrives.");
    if dots < all {
        note += " Those of one function, on as many ranks and at the same moment, share a point.";
    }
    Chart::new("Collectives over time", command_line(), plot).with_note(note).synthetic(opened.is_synthetic())
}

pub fn density(opened: &Opened, profile: &Profile) -> Chart {
    let edge = |bin: usize| bin as f64 / Pattern::BINS as f64;
    let counts: Vec<f64> = profile.pattern.messages.iter().map(|&count| count as f64).collect();
    let edges = (0..=counts.len()).map(edge).collect();
    let plot = Histogram {
        x: Axis::whole("time of the run"),
        y: Axis::linear("messages", Unit::Count),
        series: vec![HistogramSeries { name: "messages sent".into(), edges, counts, sum: false }],
    };
    Chart::new("Messages over time", command_line(), plot).synthetic(opened.is_synthetic())
}

pub fn matrix(opened: &Opened, profile: &Profile) -> Chart {
    let ranks = opened.trace.processes();
    let together = ranks.div_ceil(MOST_CELLS).max(1);
    let cells = ranks.div_ceil(together);
    let mut values = vec![0.0; (cells as usize).saturating_mul(cells as usize)];
    for pair in &profile.matrix {
        let place = (pair.from / together) as usize * cells as usize + (pair.to / together) as usize;
        if let Some(value) = values.get_mut(place) {
            *value += pair.bytes as f64;
        }
    }
    let axis: Vec<f64> = (0..cells).map(|cell| f64::from(cell * together)).collect();
    let plot = Heat {
        x: Axis::linear("receiver", Unit::Count),
        y: Axis::linear("sender", Unit::Count),
        value: Axis::linear("bytes", Unit::Bytes),
        xs: axis.clone(),
        ys: axis,
        values,
    };
    let messages: u64 = profile.matrix.iter().map(|pair| pair.messages).sum();
    let mut note = format!("{} between pairs of ranks.", counted(messages, "message", "messages"));
    if together > 1 {
        note += &format!(" {together} ranks share a row and a column.");
    }
    Chart::new("Bytes by sender and receiver", command_line(), plot)
        .with_note(note)
        .synthetic(opened.is_synthetic())
}

pub fn timeline(opened: &Opened) -> Chart {
    let (timeline, cut): (trace::Timeline, Option<Time>) =
        trace::Timeline::of_trace(&opened.trace, MOST_CALLS);
    let note = cut.map_or_else(String::new, |cut| {
        format!(
            "The first {MOST_CALLS} calls, up to {cut}; `straggler trace convert` writes all for Perfetto."
        )
    });
    Chart::new("Timeline of the ranks", command_line(), Timeline::from(&timeline))
        .with_note(note)
        .synthetic(opened.is_synthetic())
}

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
        .number("total", |row| Cell::seconds(of(row).counts.time.seconds()))
        .number("mean", |row| Cell::seconds(of(row).mean_seconds))
        .number("longest", |row| Cell::seconds(of(row).counts.longest.seconds()))
        .number("of run", |row| of(row).share_of_mpi.map(|_| Cell::share(of(row).share_of_application)))
        .number("of MPI", |row| of(row).share_of_mpi.map(Cell::share))
        .number("sent", |row| moved(of(row).counts.sent))
        .number("received", |row| moved(of(row).counts.received))
}

pub fn communicators(communicators: &[CommAnswer]) -> Table {
    Columns::over(communicators)
        .number("communicator", |row| Cell::id(row.communicator.0))
        .text("made by", |row| &row.name)
        .number("ranks", |row| Cell::count(row.size))
        .number("calls", |row| Cell::count(row.counts.calls))
        .number("total", |row| Cell::seconds(row.counts.time.seconds()))
        .number("sent", |row| moved(row.counts.sent))
        .build()
}

pub fn regions(regions: &[RegionAnswer]) -> Table {
    Columns::over(regions)
        .text("region", |row| printable(&row.name))
        .number("entries", |row| Cell::count(row.total.counts.entries))
        .number("total", |row| Cell::seconds(row.total.counts.time.seconds()))
        .number("in MPI", |row| Cell::seconds(row.total.counts.mpi.seconds()))
        .number("share", |row| Cell::share(row.total.mpi_share))
        .number("calls", |row| Cell::count(row.total.counts.calls))
        .number("sent", |row| moved(row.total.counts.sent))
        .number("received", |row| moved(row.total.counts.received))
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

pub fn sizes(sizes: &[SizeClass]) -> Table {
    Columns::over(sizes)
        .text("kind", |row| row.kind)
        .text("size", |row| Cell::number(between(row), row.least as f64))
        .number("messages", |row| Cell::count(row.messages))
        .number("bytes", |row| Cell::bytes(row.bytes))
        .build()
}

/// "4 KiB up to 8 KiB", excluding the upper bound.
fn between(row: &SizeClass) -> String {
    match row.least {
        0 | 1 => Bytes(row.least).to_string(),
        least => format!("{} up to {}", Bytes(least), Bytes(row.most.saturating_add(1))),
    }
}

/// The pairs with the most bytes.
pub fn largest_pairs(matrix: &[Pair], most: usize) -> Table {
    let mut largest: Vec<&Pair> = matrix.iter().collect();
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
pub struct FunctionTotals {
    pub function: &'static str,
    #[serde(flatten)]
    pub counts: Counts,
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
            counts: *counts,
            mean_seconds: counts.mean().seconds(),
            share_of_application: share(counts.time, application),
            share_of_mpi: is_counted(function).then(|| share(counts.time, mpi)),
        }
    }
}
