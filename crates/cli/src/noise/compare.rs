//! `straggler noise compare`: whether two recordings or descriptions are the same noise.

use crate::kernel::prelude::*;
use crate::noise::file::{self, Input};
use crate::{kernel::gates, noise::Compare, noise::page::is_synthetic};
use straggler_analysis::noise::Comparison;
use straggler_analysis::noise::compare::{Difference, SourceDifference};
use straggler_analysis::noise::durations::{sorted_durations, sorted_gaps};
use straggler_model::words;
use straggler_noise::{NoiseRecording, NoiseSpec};
use straggler_report::page::{Distribution, Sample, Scale};

/// Length drawn from each of two descriptions.
const LENGTH: Time = Time::from_ns(60_000_000_000);
/// Most sources in the list.
const MOST_SOURCES: usize = 20;

/// The only metric of a comparison: whether they differ.
const DIFFERENT: &str = "different";

/// Rejects limits on anything else.
pub fn refuse_unknown(typed: &Compare) -> Outcome<()> {
    typed.limits.fail_if.iter().try_for_each(|limit| {
        if limit.metric != DIFFERENT {
            return Err(gates::no_metric(limit, std::iter::once(DIFFERENT)));
        }
        match limit.to_string() == DIFFERENT {
            true => Ok(()),
            false => Err(gates::refused(limit, "`different` is true or false: write it alone")),
        }
    })
}

pub fn run(typed: &Compare, seed: u64, console: &Console) -> Outcome<()> {
    let read = [file::files(&typed.first)?, file::files(&typed.second)?];
    let measured =
        read.iter().flatten().flat_map(|input| &input.recording.cores).map(|core| core.length).max();
    let length = typed.length.or(measured).unwrap_or(LENGTH);
    let [first, second] = read;
    // Two draws from one description need different seeds.
    let first = or_drawn(first, &typed.first, seed, length)?;
    let second = or_drawn(second, &typed.second, seed.wrapping_add(1), length)?;
    let comparison = Comparison::new(&first.recording, &second.recording, seed);
    let warnings = [first.warnings, second.warnings].concat();
    let answer = CompareNoiseAnswer {
        equal: comparison.is_equal(),
        verdict: verdict(&comparison),
        comparison,
        warnings,
    };
    let names = [file::name(&typed.first, seed)?, file::name(&typed.second, seed)?];
    pages::write_asked(typed.report.report.as_ref(), console, || {
        comparison_page(&answer, [&first.recording, &second.recording], names)
    })?;
    if console.json {
        console.print_json(&answer)?;
    } else {
        answer.warnings.iter().for_each(|warning| console.warn(warning));
        console.print(&summary(&answer))?;
    }
    if typed.fail_if_different {
        console.note(
            "`--fail-if-different` is now `--fail-if different`; the old name works until the next release",
        );
    }
    if (typed.fail_if_different || !typed.limits.fail_if.is_empty()) && !answer.equal {
        return Err(Failure::new(Exit::CheckFailed, anyhow::Error::msg(answer.verdict)));
    }
    Ok(())
}

fn or_drawn(read: Option<Input>, spec: &NoiseSpec, seed: u64, length: Time) -> Outcome<Input> {
    read.map_or_else(|| file::drawn(spec, seed, length), Ok)
}

#[derive(Serialize)]
pub struct CompareNoiseAnswer {
    equal: bool,
    verdict: String,
    #[serde(flatten)]
    comparison: Comparison,
    warnings: Vec<String>,
}

fn verdict(comparison: &Comparison) -> String {
    if comparison.overheads.iter().all(|overhead| overhead.detours == 0) {
        return "Neither has noise.".into();
    }
    let [first, second] = [0, 1].map(|side| percent(comparison.overheads[side].share));
    let what: Vec<&str> = comparison
        .differences
        .iter()
        .map(|difference| match difference {
            Difference::Overhead => "their overhead",
            Difference::Durations => "the durations of detours",
            Difference::Gaps => "the gaps between detours",
        })
        .collect();
    match what.as_slice() {
        [] if comparison.too_few => {
            format!("There are too few detours for a verdict: A takes {first} of the time, B {second}.")
        }
        [] => format!("They are statistically indistinguishable: A takes {first} of the time, B {second}."),
        list => format!("They differ in {}: A takes {first} of the time, B {second}.", words::list(list)),
    }
}

fn summary(answer: &CompareNoiseAnswer) -> String {
    let comparison = &answer.comparison;
    let mut table = Table::new("", &["", "#A", "#B", "#difference", "#critical value"]);
    let [first, second] = &comparison.overheads;
    let by = comparison.overhead_difference;
    let by = by
        .map_or_else(|| "no interval".into(), |[low, high]| format!("{} to {}", percent(low), percent(high)));
    table.row(["overhead".into(), percent(first.share), percent(second.share), by]);
    let [first, second] = comparison.rates_hz.map(significant);
    table.row(["detours per second".into(), first, second]);
    for (name, distance) in [("duration", comparison.durations), ("gap", comparison.gaps)] {
        let medians =
            distance.medians_ps.map(|ps| ps.map_or_else(|| "none".into(), |ps| Time(ps).to_string()));
        let [first, second] = medians;
        let numbers = [distance.distance, distance.limit].map(|number| format!("{number:.3}"));
        table.row([format!("median {name}"), first, second].into_iter().chain(numbers));
    }
    format!("{}\n\n{table}{}", answer.verdict, sources_text(comparison))
}

fn sources_text(comparison: &Comparison) -> String {
    let sources = &comparison.sources;
    if sources.len() < 2 {
        return String::new();
    }
    format!("\n{}", table_of_sources(&sources[..sources.len().min(MOST_SOURCES)]))
}

fn table_of_sources(sources: &[SourceDifference]) -> Table {
    Columns::over(sources)
        .text("source", |row| &row.name)
        .number("detours of A", |row| Cell::count(row.events[0]))
        .number("of B", |row| Cell::count(row.events[1]))
        .number("overhead of A", |row| Cell::share(row.overheads[0]))
        .number("of B", |row| Cell::share(row.overheads[1]))
        .build()
}

fn comparison_page(answer: &CompareNoiseAnswer, both: [&NoiseRecording; 2], names: [String; 2]) -> Page {
    let command = command_line();
    let synthetic = both.iter().any(|recording| is_synthetic(recording));
    let mut section = Section::new("Comparison");
    section.text = vec![format!("A is {}.", names[0]), format!("B is {}.", names[1])];
    for (title, label, sorted) in [
        (
            "How long detours are",
            "duration of the detour",
            sorted_durations as fn(&NoiseRecording) -> Vec<u64>,
        ),
        ("How far apart they are", "from one detour to the next", sorted_gaps),
    ] {
        let sample = |(name, recording): (&str, &NoiseRecording)| Sample {
            name: name.into(),
            values: sorted(recording).into_iter().map(|ps| Time(ps).seconds()).collect(),
            sum: false,
        };
        let series = ["A", "B"].into_iter().zip(both).map(sample).collect();
        let x = Axis::new(label, Unit::Seconds, Scale::Log10);
        section.add(
            Chart::new(title, &command, Distribution { x, series, marks: Vec::new() }).synthetic(synthetic),
        );
    }
    section.add(table_of_sources(&answer.comparison.sources).titled("Sources", &command));
    pages::page("Two noise recordings compared", vec![answer.verdict.clone()], vec![section])
}
