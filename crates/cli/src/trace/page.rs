//! The page of a traced run.

use crate::kernel::{command_line, pages};
use crate::trace::file::Opened;
use crate::trace::show::ShowAnswer;
use crate::trace::{tables, words};
use std::collections::{BTreeMap, BTreeSet};
use straggler_model::Time;
use straggler_report::numbers::{counted, grouped, percent};
use straggler_report::page::{
    Axis, Bar, Bars, Chart, Heat, Histogram, HistogramSeries, Page, PointSeries, Scale, Scatter, Section,
    Timeline, Unit,
};
use straggler_trace as trace;
use straggler_trace::profile::{Pattern, Profile};

/// Most calls in a timeline.
const MOST_CALLS: usize = 200_000;
/// Most rows and columns of a matrix; more ranks share them.
const MOST_CELLS: u32 = 256;
/// Most pairs of ranks in the table.
const MOST_PAIRS: usize = 100;
/// Dots of one collective and size that are closer than one part in this many of the run are merged.
const DOTS: f64 = 5_000.0;

pub fn page(answer: &ShowAnswer, opened: &Opened, profile: &Profile) -> Page {
    let command = command_line();
    let mut time = Section::new("Time by function");
    time.add(shares(answer, &command).synthetic(answer.synthetic));
    time.add(tables::ranks(&answer.ranks).titled("Ranks", &command));
    time.add(tables::functions(&answer.functions).titled("Functions", &command));
    time.add(tables::communicators(&answer.communicators).titled("Communicators", &command));
    if !answer.regions.is_empty() {
        let note = "Times are summed over all ranks and include nested regions.";
        time.add(tables::regions(&answer.regions).titled("Regions", &command).with_note(note));
    }
    if !answer.call_sites.is_empty() {
        time.add(tables::call_sites(&answer.call_sites).titled("Call sites", &command));
    }
    let mut when = Section::new("Communication over time");
    when.add(pattern(opened, profile));
    when.add(density(opened, profile));
    when.add(timeline(opened));
    let mut whom = Section::new("Communication matrix");
    whom.add(matrix(opened, profile));
    whom.add(tables::largest_pairs(&answer.matrix, MOST_PAIRS).titled("Largest pairs", &command));
    whom.add(tables::sizes(&answer.message_sizes).titled("Sizes of messages", &command));
    let program = &opened.trace.meta.program;
    let title = if program.is_empty() { answer.trace.clone() } else { program.clone() };
    let mut page =
        pages::page(format!("Trace of {title}"), vec![words::sentence(profile)], vec![time, when, whom]);
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
    let bar = |function: &crate::trace::tables::FunctionTotals| Bar {
        name: function.function.into(),
        value: function.counts.seconds,
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
