//! `straggler noise show`: describes noise after reading its files and drawing its traces, and analyses measured noise.

use crate::kernel::gates::{Checked, LimitAnswer};
use crate::kernel::prelude::*;
use crate::noise::file::{self, Input, what_was_noticed};
use crate::noise::{Show, measured, words::NoiseNumbers};
use straggler_analysis::noise::Analysis;
use straggler_model::stats::quantile_in_place;
use straggler_noise::{Detours, Injection, Loaded, NoiseSpec, Phases, Source, Waveform};

/// What is drawn from a description for a report lasts at least this long.
const LEAST_DRAWN: Time = Time::from_ns(10_000_000_000);
/// It has about this many detours of every source, if there are not too many in all.
const DRAWN_DETOURS: f64 = 20.0;
const MOST_DRAWN_DETOURS: f64 = 300_000.0;

pub fn run(typed: &Show, seed: u64, console: &Console) -> Outcome<()> {
    let sources = typed.noise.iter().flat_map(|spec| spec.sources.clone()).collect();
    let whole = NoiseSpec { sources };
    let loaded = whole.load(seed)?;
    let warnings = loaded.files.iter().flat_map(|(path, noticed)| what_was_noticed(path, noticed)).collect();
    let mut answer = NoiseAnswer::new(loaded, seed, warnings)?;
    let mut text = String::new();
    let read = file::files(&whole)?;
    if typed.report.report.is_some() {
        write_report(typed, read.as_ref(), &whole, &answer, console)?;
    }
    if let Some(input) = read {
        let analysis = Analysis::new(&input.recording, seed);
        text = measured::summary(&input.recording, &analysis, console.is_verbose());
        answer.analysis = Some(analysis);
        answer.warnings = input.warnings;
    }
    let checked = Checked::new(&typed.checks, answer.numbers().metrics())?;
    answer.limits.clone_from(&checked.limits);
    if console.json {
        console.print_json(&answer)?;
    } else {
        answer.warnings.iter().for_each(|warning| console.warn(warning));
        console.print(&if answer.analysis.is_some() { text } else { summary(&answer) })?;
    }
    checked.finish(console)
}

/// The report of a recording, or of the detours of rank 0 under a description.
fn write_report(
    typed: &Show,
    read: Option<&Input>,
    spec: &NoiseSpec,
    answer: &NoiseAnswer,
    console: &Console,
) -> Outcome<()> {
    let seed = answer.seed;
    let length = answer.length_to_draw();
    let drawn = if read.is_some() { None } else { Some(file::drawn(spec, seed, length)?) };
    let Some(input) = read.or(drawn.as_ref()) else { return Ok(()) };
    let (name, headline) = match drawn {
        None => (file::name(spec, seed)?, Vec::new()),
        Some(_) => {
            let sources: Vec<&str> = spec.sources.iter().map(|source| source.name.as_str()).collect();
            let below =
                format!("Below: {length} of it, drawn at random, in which rare detours may be missing.");
            (sources.join(" + "), vec![answer.share_sentence(), answer.source_sentence(), below])
        }
    };
    let (recording, note) = (&input.recording, String::new());
    let subject = crate::noise::page::Subject { recording, name: &name, seed, headline, note };
    pages::write_asked(typed.report.report.as_ref(), console, || subject.page())
}

#[derive(Serialize)]
struct NoiseAnswer {
    description: String,
    /// Share of time lost to noise on rank 0.
    share: f64,
    seed: u64,
    sources: Vec<SourceAnswer>,
    /// The analysis of a recording; none for a description.
    #[serde(skip_serializing_if = "Option::is_none")]
    analysis: Option<Analysis>,
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    limits: Vec<LimitAnswer>,
}

#[derive(Serialize)]
struct SourceAnswer {
    name: String,
    description: String,
    ranks: String,
    detours: u64,
    /// Period after which the source repeats; none if it never does.
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
            sources: injection.sources.iter().map(SourceAnswer::new).collect(),
            analysis: None,
            warnings,
            limits: Vec::new(),
        })
    }

    fn sentence(&self) -> String {
        format!("{} {}", self.share_sentence(), self.source_sentence())
    }

    /// One source is described, several are counted: a table has them.
    fn source_sentence(&self) -> String {
        match self.sources.len() {
            1 => format!("{}.", self.description),
            count => format!("It has {}.", counted(count as u64, "source", "sources")),
        }
    }

    fn share_sentence(&self) -> String {
        format!("Noise takes {} of rank 0's time.", percent(self.share))
    }

    /// Long enough to show every source.
    fn length_to_draw(&self) -> Time {
        let rates = self.sources.iter().filter_map(SourceAnswer::rate_hz).filter(|&rate| rate > 0.0);
        let rarest = rates.clone().min_by(f64::total_cmp).unwrap_or(1.0);
        let seconds = (DRAWN_DETOURS / rarest).min(MOST_DRAWN_DETOURS / rates.sum::<f64>().max(1.0));
        LEAST_DRAWN.max(Time((seconds.ceil() * 1e12) as u64))
    }

    /// The numbers of a recording, or of rank 0 under a description.
    fn numbers(&self) -> NoiseNumbers {
        if let Some(analysis) = &self.analysis {
            return NoiseNumbers::new(analysis);
        }
        NoiseNumbers {
            overhead: self.share,
            interval: None,
            rate_hz: Some(self.sources.iter().filter_map(SourceAnswer::rate_hz).sum()),
            longest: Time(self.sources.iter().map(|source| source.duration_ps.max).max().unwrap_or(0)),
            sources: self.sources.iter().map(|source| (source.name.clone(), source.share)).collect(),
        }
    }
}

impl SourceAnswer {
    /// Detours per second; none for a single one.
    fn rate_hz(&self) -> Option<f64> {
        self.length_ps.map(|ps| self.detours as f64 / Time(ps).seconds())
    }

    fn new(source: &Source) -> SourceAnswer {
        let (detours, length_ps, duration_ps) = match &source.waveform {
            Waveform::Trace(trace) => (trace.len() as u64, Some(trace.length().ps()), Durations::new(trace)),
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
    fn new(trace: &Detours) -> Durations {
        let mut durations: Vec<u64> = trace.iter().map(|(_, duration)| duration.ps()).collect();
        let mut at = |share| quantile_in_place(&mut durations, share).unwrap_or(0);
        Durations { min: at(0.0), median: at(0.5), p99: at(0.99), max: at(1.0) }
    }
}

fn summary(answer: &NoiseAnswer) -> String {
    if answer.sources.is_empty() {
        return "No noise.\n".into();
    }
    let table = Columns::over(&answer.sources)
        .text("source", |row| &row.name)
        .number("detours", |row| Cell::count(row.detours))
        .number("repeats after", |row| row.length_ps.map_or_else(|| "never".into(), Cell::ps))
        .number("share", |row| Cell::share(row.share))
        .number("shortest", |row| Cell::ps(row.duration_ps.min))
        .number("median", |row| Cell::ps(row.duration_ps.median))
        .number("99 %", |row| Cell::ps(row.duration_ps.p99))
        .number("longest", |row| Cell::ps(row.duration_ps.max))
        .text("ranks", |row| &row.ranks)
        .build();
    format!("{}\n\n{table}", answer.sentence())
}
