//! `straggler noise show`: what a description means once its files are read and its traces drawn, and what
//! measured noise looks like.

mod measured;

pub use measured::opening;

use super::input::{self, Input};
use crate::args::noise::Show;
use crate::commands::simulate::what_was_noticed;
use crate::commands::{refuse_missing_folder, report};
use crate::console::Console;
use crate::exit::Outcome;
use serde::Serialize;
use straggler_analysis::noise::Analysis;
use straggler_model::Time;
use straggler_model::noise::{Detours, Injection, Loaded, NoiseSpec, Phases, Source, Waveform};
use straggler_model::stats::quantile_in_place;
use straggler_report::Table;
use straggler_report::numbers::{grouped, percent};

/// How much of a description is drawn for a report.
const DRAWN: Time = Time::from_ns(10_000_000_000);

pub fn run(typed: &Show, seed: u64, console: &Console) -> Outcome<()> {
    typed.report.report.iter().try_for_each(|path| refuse_missing_folder(path))?;
    let sources = typed.noise.iter().flat_map(|spec| spec.sources.clone()).collect();
    let whole = NoiseSpec { sources };
    let loaded = whole.load(seed)?;
    let warnings = loaded.files.iter().flat_map(|(path, noticed)| what_was_noticed(path, noticed)).collect();
    let mut answer = NoiseAnswer::new(loaded, seed, warnings)?;
    let mut text = String::new();
    let read = input::files(&whole)?;
    if typed.report.report.is_some() {
        write_report(typed, read.as_ref(), &whole, seed, console)?;
    }
    if let Some(input) = read {
        let analysis = Analysis::of(&input.recording, seed);
        text = measured::say(&input.recording, &analysis);
        answer.analysis = Some(analysis);
        answer.warnings = input.warnings;
    }
    if console.json {
        return console.print_json(&answer);
    }
    answer.warnings.iter().for_each(|warning| console.warn(warning));
    console.print(&if answer.analysis.is_some() { text } else { say(&answer) })
}

/// What was measured, or what a description does to rank 0.
fn write_report(
    typed: &Show,
    read: Option<&Input>,
    spec: &NoiseSpec,
    seed: u64,
    console: &Console,
) -> Outcome<()> {
    let drawn = if read.is_some() { None } else { Some(input::drawn(spec, seed, DRAWN)?) };
    let Some(input) = read.or(drawn.as_ref()) else { return Ok(()) };
    let name = input::name(spec, seed)?;
    let subject = report::NoiseSubject { recording: &input.recording, name: &name, seed };
    report::write_asked(typed.report.report.as_ref(), console, || subject.page())
}

#[derive(Serialize)]
struct NoiseAnswer {
    description: String,
    /// Of rank 0.
    share: f64,
    seed: u64,
    sources: Vec<SourceAnswer>,
    /// What was measured; nothing for a description.
    #[serde(skip_serializing_if = "Option::is_none")]
    analysis: Option<Analysis>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct SourceAnswer {
    name: String,
    description: String,
    ranks: String,
    detours: u64,
    /// After this long the source repeats; nothing for one that never does.
    length_ps: Option<u64>,
    share: f64,
    duration_ps: Durations,
}

#[derive(Clone, Copy, Serialize)]
struct Durations {
    min: u64,
    median: u64,
    p99: u64,
    max: u64,
}

impl NoiseAnswer {
    fn new(loaded: Loaded, seed: u64, warnings: Vec<String>) -> Outcome<NoiseAnswer> {
        let injection = Injection::new(loaded.sources, Phases::Drawn { seed, replica: 0 }, false)?;
        Ok(NoiseAnswer {
            description: injection.to_string(),
            share: injection.share(0),
            seed,
            sources: injection.sources.iter().map(SourceAnswer::of).collect(),
            analysis: None,
            warnings,
        })
    }
}

impl SourceAnswer {
    fn of(source: &Source) -> SourceAnswer {
        let (detours, length_ps, duration_ps) = match &source.waveform {
            Waveform::Trace(trace) => (trace.len() as u64, Some(trace.length().ps()), Durations::of(trace)),
            Waveform::Once { duration, .. } => {
                let ps = duration.ps();
                (1, None, Durations { min: ps, median: ps, p99: ps, max: ps })
            }
        };
        SourceAnswer {
            name: source.name.clone(),
            description: source.to_string(),
            ranks: source.who.to_string(),
            detours,
            length_ps,
            share: source.share(),
            duration_ps,
        }
    }
}

impl Durations {
    fn of(trace: &Detours) -> Durations {
        let mut durations: Vec<u64> = trace.iter().map(|(_, duration)| duration.ps()).collect();
        let mut at = |share| quantile_in_place(&mut durations, share).unwrap_or(0);
        Durations { min: at(0.0), median: at(0.5), p99: at(0.99), max: at(1.0) }
    }
}

fn say(answer: &NoiseAnswer) -> String {
    if answer.sources.is_empty() {
        return "No noise.\n".into();
    }
    let headings =
        ["source", "detours", "repeats after", "share", "shortest", "median", "99 %", "longest", "ranks"];
    let mut table = Table::with_header(headings).text(8);
    for source in &answer.sources {
        let durations = source.duration_ps;
        let lengths = [durations.min, durations.median, durations.p99, durations.max];
        let repeats = source.length_ps.map_or_else(|| "never".into(), |ps| Time(ps).to_string());
        let first = [source.name.clone(), grouped(source.detours), repeats, percent(source.share)];
        let lengths = lengths.into_iter().map(|ps| Time(ps).to_string());
        table.row(first.into_iter().chain(lengths).chain([source.ranks.clone()]));
    }
    let share = percent(answer.share);
    format!("{}.\nIt takes {share} of rank 0's time.\n\n{table}", answer.description)
}
