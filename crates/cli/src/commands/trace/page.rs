//! The page of a traced run.

use super::show::Answer;
use super::{Opened, words};
use crate::commands::{command_line, report};
use std::collections::{BTreeMap, BTreeSet};
use straggler_model::Time;
use straggler_model::units::Bytes;
use straggler_report::numbers::{counted, grouped, percent, seconds};
use straggler_report::page::{
    Axis, Bar, Bars, Cell, Chart, Heat, Histogram, HistogramSeries, Page, PointSeries, Scale, Scatter,
    Section, Table, Timeline, Unit,
};
use straggler_trace as trace;
use straggler_trace::profile::{Pattern, Profile};

/// Calls a timeline shows at most.
const MOST_CALLS: usize = 200_000;
/// Rows and columns a matrix has at most; more ranks share them.
const MOST_CELLS: u32 = 256;
/// Dots of one collective and size that lie closer than this share of the run are one.
const DOTS: f64 = 5_000.0;

pub fn page(answer: &Answer, opened: &Opened, profile: &Profile) -> Page {
    let command = command_line();
    let mut time = Section::new("Where the time goes");
    time.add(shares(answer, &command).synthetic(answer.synthetic));
    time.add(ranks(answer, &command));
    time.add(functions(answer, &command));
    time.add(communicators(answer, &command));
    if !answer.regions.is_empty() {
        time.add(regions(answer, &command));
    }
    let mut when = Section::new("When it communicates");
    when.add(pattern(opened, profile));
    when.add(density(opened, profile));
    when.add(timeline(opened));
    let mut whom = Section::new("Who sends to whom");
    whom.add(matrix(opened, profile));
    whom.add(pairs(answer, &command));
    let program = &opened.trace.meta.program;
    let title = if program.is_empty() { answer.trace.clone() } else { program.clone() };
    let mut page =
        report::page(format!("Trace of {title}"), vec![words::sentence(profile)], vec![time, when, whom]);
    page.facts.add("Trace", &answer.trace);
    page.facts.add("Format", &opened.trace.meta.format);
    page.facts.add("MPI library", &opened.trace.meta.library);
    page.facts.add("Ranks", grouped(opened.trace.processes()));
    opened.trace.notes.iter().for_each(|note| page.facts.add("Note", note));
    page.warnings = answer.warnings.clone();
    page
}

fn shares(answer: &Answer, command: &str) -> Chart {
    let counted = answer.functions.iter().filter(|function| function.share_of_mpi.is_some());
    let bar = |function: &super::show::NamedFunction| Bar {
        name: function.function.into(),
        value: function.counts.seconds,
        low: None,
        high: None,
        note: percent(function.share_of_mpi.unwrap_or(0.0)),
    };
    let bars = counted.take(12).map(bar).collect();
    let plot = Bars { x: Axis::linear("time of all ranks", Unit::Seconds), bars };
    Chart::new("Time in MPI by function", command, plot)
}

fn time_cell(value: f64) -> Cell {
    Cell::number(seconds(value), value)
}

fn count_cell(value: u64) -> Cell {
    Cell::number(grouped(value), value as f64)
}

fn bytes_cell(value: u64) -> Cell {
    Cell::number(Bytes(value).to_string(), value as f64)
}

fn share_cell(value: Option<f64>) -> Cell {
    value.map_or_else(|| Cell::text(""), |value| Cell::number(percent(value), value))
}

fn table(title: &str, columns: &[&str], command: &str) -> Table {
    let mut table = Table::new(title, columns);
    table.command = command.into();
    table
}

fn ranks(answer: &Answer, command: &str) -> Table {
    let mut table = table("Ranks", &["#rank", "#run", "#in MPI", "#share", "#calls"], command);
    for rank in &answer.ranks {
        table.row([
            count_cell(rank.rank.into()),
            time_cell(rank.application_seconds),
            time_cell(rank.mpi_seconds),
            share_cell(Some(rank.mpi_share)),
            count_cell(rank.calls),
        ]);
    }
    table
}

fn functions(answer: &Answer, command: &str) -> Table {
    let columns =
        ["function", "#calls", "#total", "#mean", "#longest", "#of run", "#of MPI", "#sent", "#received"];
    let mut table = table("Functions", &columns, command);
    for function in &answer.functions {
        table.row([
            Cell::text(function.function),
            count_cell(function.counts.calls),
            time_cell(function.counts.seconds),
            time_cell(function.mean_seconds),
            time_cell(function.counts.longest_seconds),
            share_cell(function.share_of_mpi.map(|_| function.share_of_application)),
            share_cell(function.share_of_mpi),
            bytes_cell(function.counts.bytes_sent),
            bytes_cell(function.counts.bytes_received),
        ]);
    }
    table
}

fn communicators(answer: &Answer, command: &str) -> Table {
    let columns = ["#communicator", "made by", "#ranks", "#calls", "#total", "#sent"];
    let mut table = table("Communicators", &columns, command);
    for comm in &answer.communicators {
        table.row([
            count_cell(comm.communicator.into()),
            Cell::text(comm.name.clone()),
            count_cell(comm.size as u64),
            count_cell(comm.counts.calls),
            time_cell(comm.counts.seconds),
            bytes_cell(comm.counts.bytes_sent),
        ]);
    }
    table
}

fn regions(answer: &Answer, command: &str) -> Table {
    let columns = [
        "region",
        "#entries",
        "#total",
        "#in MPI",
        "#share",
        "#calls",
        "#sent",
        "#received",
        "#slowest rank",
        "#its time",
    ];
    let mut table = table("Regions", &columns, command);
    table.note = "Times are those of all ranks, with what is nested in a region.".into();
    for region in &answer.regions {
        table.row([
            Cell::text(region.name.clone()),
            count_cell(region.total.entries),
            time_cell(region.total.seconds),
            time_cell(region.total.mpi_seconds),
            share_cell(Some(region.total.mpi_share)),
            count_cell(region.total.calls),
            bytes_cell(region.total.bytes_sent),
            bytes_cell(region.total.bytes_received),
            region.slowest_rank.map_or_else(|| Cell::text(""), |rank| count_cell(rank.into())),
            time_cell(region.slowest_seconds),
        ]);
    }
    table
}

fn pairs(answer: &Answer, command: &str) -> Table {
    let mut table = table("Largest pairs", &["#from", "#to", "#messages", "#bytes"], command);
    let mut largest: Vec<&super::show::PairAnswer> = answer.matrix.iter().collect();
    largest.sort_by_key(|pair| std::cmp::Reverse(pair.bytes));
    for pair in largest.into_iter().take(100) {
        let cells = [pair.from.into(), pair.to.into(), pair.messages].map(count_cell);
        table.row(cells.into_iter().chain([bytes_cell(pair.bytes)]));
    }
    table
}

/// A dot for every collective at its normalised time, as high as ranks take part: on one communicator, a line.
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
    let plot = Scatter {
        x: Axis::whole("time of the run"),
        y: Axis::new("ranks that take part", Unit::Count, Scale::Log2),
        series: series.collect(),
    };
    let count = counted(profile.pattern.dots.len() as u64, "collective", "collectives");
    Chart::new("When the run has collectives", command_line(), plot)
        .with_note(format!("{count}, each when the last rank comes to it."))
        .synthetic(opened.is_synthetic())
}

pub fn density(opened: &Opened, profile: &Profile) -> Chart {
    let edge = |bin: usize| bin as f64 / Pattern::BINS as f64;
    let counts: Vec<f64> = profile.pattern.messages.iter().map(|&count| count as f64).collect();
    let edges = (0..=counts.len()).map(edge).collect();
    let plot = Histogram {
        x: Axis::whole("time of the run"),
        y: Axis::linear("messages", Unit::Count),
        series: vec![HistogramSeries { name: "messages sent".into(), edges, counts }],
    };
    Chart::new("When the run sends messages", command_line(), plot).synthetic(opened.is_synthetic())
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
    Chart::new("What every rank does when", command_line(), Timeline::from(&timeline))
        .with_note(note)
        .synthetic(opened.is_synthetic())
}
