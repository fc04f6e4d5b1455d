//! `straggler noise compare`: whether two noises are the same.

mod page;

use super::input::{self, Input};
use crate::args::noise::Compare;
use crate::commands::{refuse_missing_folder, report};
use crate::console::Console;
use crate::exit::{Exit, Failure, Outcome};
use serde::Serialize;
use straggler_analysis::noise::Comparison;
use straggler_analysis::noise::compare::Difference;
use straggler_model::Time;
use straggler_model::noise::NoiseSpec;
use straggler_report::Table;
use straggler_report::numbers::{grouped, percent, significant};

/// What is drawn of two descriptions.
const LENGTH: Time = Time::from_ns(60_000_000_000);
/// Sources that are listed.
const MOST_SOURCES: usize = 20;

pub fn run(typed: &Compare, seed: u64, console: &Console) -> Outcome<()> {
    typed.report.report.iter().try_for_each(|path| refuse_missing_folder(path))?;
    let read = [input::files(&typed.first)?, input::files(&typed.second)?];
    let measured =
        read.iter().flatten().flat_map(|input| &input.recording.cores).map(|core| core.length).max();
    let length = typed.length.or(measured).unwrap_or(LENGTH);
    let [first, second] = read;
    // Two draws from one description are not the same draw.
    let first = or_drawn(first, &typed.first, seed, length)?;
    let second = or_drawn(second, &typed.second, seed.wrapping_add(1), length)?;
    let comparison = Comparison::of(&first.recording, &second.recording, seed);
    let warnings = [first.warnings, second.warnings].concat();
    let answer = Answer { equal: comparison.is_equal(), verdict: verdict(&comparison), comparison, warnings };
    let names = [input::name(&typed.first, seed)?, input::name(&typed.second, seed)?];
    report::write_asked(typed.report.report.as_ref(), console, || {
        page::page(&answer, [&first.recording, &second.recording], names)
    })?;
    if console.json {
        console.print_json(&answer)?;
    } else {
        answer.warnings.iter().for_each(|warning| console.warn(warning));
        console.print(&say(&answer))?;
    }
    if typed.fail_if_different && !answer.equal {
        return Err(Failure::new(Exit::CheckFailed, anyhow::Error::msg(answer.verdict)));
    }
    Ok(())
}

fn or_drawn(read: Option<Input>, spec: &NoiseSpec, seed: u64, length: Time) -> Outcome<Input> {
    read.map_or_else(|| input::drawn(spec, seed, length), Ok)
}

#[derive(Serialize)]
struct Answer {
    equal: bool,
    verdict: String,
    #[serde(flatten)]
    comparison: Comparison,
    warnings: Vec<String>,
}

fn verdict(comparison: &Comparison) -> String {
    if comparison.overheads.iter().all(|overhead| overhead.detours == 0) {
        return "Both are without noise.".into();
    }
    let [first, second] = [0, 1].map(|side| percent(comparison.overheads[side].share));
    let what: Vec<&str> = comparison
        .differences
        .iter()
        .map(|difference| match difference {
            Difference::Overhead => "their overhead",
            Difference::Durations => "how long detours are",
            Difference::Gaps => "how far apart they are",
        })
        .collect();
    match what.as_slice() {
        [] if comparison.too_few => {
            format!("There are too few detours to tell: A takes {first} of the time, B {second}.")
        }
        [] => format!("No difference beyond chance: A takes {first} of the time, B {second}."),
        list => format!("They differ in {}: A takes {first} of the time, B {second}.", listed(list)),
    }
}

fn listed(parts: &[&str]) -> String {
    match parts {
        [] => String::new(),
        [one] => (*one).into(),
        [front @ .., last] => format!("{} and {last}", front.join(", ")),
    }
}

fn say(answer: &Answer) -> String {
    let comparison = &answer.comparison;
    let mut table = Table::with_header(["", "A", "B", "differ by", "chance up to"]);
    let [first, second] = &comparison.overheads;
    let by = comparison.overhead_difference;
    let by = by
        .map_or_else(|| "no interval".into(), |[low, high]| format!("{} to {}", percent(low), percent(high)));
    table.row(["overhead".into(), percent(first.share), percent(second.share), by, String::new()]);
    let rates = comparison.rates_hz.map(significant);
    table.row(["detours a second".into(), rates[0].clone(), rates[1].clone(), String::new(), String::new()]);
    for (name, distance) in [("duration", comparison.durations), ("gap", comparison.gaps)] {
        let medians =
            distance.medians_ps.map(|ps| ps.map_or_else(|| "none".into(), |ps| Time(ps).to_string()));
        let [first, second] = medians;
        let numbers = [distance.distance, distance.limit].map(|number| format!("{number:.3}"));
        table.row([format!("median {name}"), first, second].into_iter().chain(numbers));
    }
    format!("{}\n\n{table}{}", answer.verdict, say_sources(comparison))
}

fn say_sources(comparison: &Comparison) -> String {
    if comparison.sources.len() < 2 {
        return String::new();
    }
    let mut table = Table::with_header(["source", "detours of A", "of B", "overhead of A", "of B"]);
    for source in comparison.sources.iter().take(MOST_SOURCES) {
        let events = source.events.map(grouped);
        let overheads = source.overheads.map(percent);
        table.row([source.name.clone()].into_iter().chain(events).chain(overheads));
    }
    format!("\n{table}")
}
