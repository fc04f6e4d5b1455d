//! Noise as text and as metrics: its overhead, and the evidence for its sources.

use crate::kernel::metrics::{Metric, MetricKind, MetricUnit};
use crate::kernel::prelude::*;
use straggler_analysis::noise::overhead::{Interval, NoInterval};
use straggler_analysis::noise::{Analysis, Explained, Overhead, Rhythm, SourceNoise, Times};
use straggler_noise::{NoiseRecording, recording::Evidence};

/// "Sources of the noise: 61 % traced, 39 % below the kernel."
pub fn explained(explained: &Explained) -> String {
    let kinds = [
        (explained.traced, "traced"),
        (explained.correlated, "by correlation"),
        (explained.stated, "stated"),
        (explained.remainder, "below the kernel"),
        (explained.unnamed, "unnamed"),
    ];
    if explained.named() == 0.0 {
        return String::new();
    }
    let parts: Vec<String> = kinds
        .into_iter()
        .filter(|(share, _)| *share > 0.0)
        .map(|(share, kind)| format!("{} {kind}", percent(share)))
        .collect();
    format!("Sources of the noise: {}.\n", parts.join(", "))
}

pub fn evidence(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::None => "none",
        Evidence::Traced => "traced",
        Evidence::Remainder => "remainder",
        Evidence::Correlated => "correlated",
        Evidence::Stated => "stated",
    }
}

/// Overhead of noise, durations of detours and gaps between them.
pub fn opening(recording: &NoiseRecording, analysis: &Analysis) -> String {
    let overhead = &analysis.overhead;
    let count = recording.cores.len() as u64;
    let longest = recording.cores.iter().map(|core| core.length).max().unwrap_or(Time::ZERO);
    let (detours, cores) = (counted(overhead.detours, "detour", "detours"), counted(count, "core", "cores"));
    let share = percent(overhead.share);
    let mut text = match overhead.no_interval {
        Some(NoInterval::TooFewDetours { .. }) if overhead.detours > 0 => format!(
            "Too little to tell how much time noise takes: {detours} in {longest} on {cores}, {share} of that time.\n"
        ),
        _ => format!(
            "Noise takes {share} of the time{}: {detours} in {longest} on {cores}.\n",
            between(overhead)
        ),
    };
    if let Some(why) = overhead.no_interval {
        text.push_str(&format!("The recording is {why}.\n"));
    }
    if overhead.detours > 50 && overhead.five_longest > 0.5 {
        text.push_str(&format!(
            "Five detours make up {} of it: a longer measurement may find a different overhead.\n",
            percent(overhead.five_longest)
        ));
    }
    if analysis.lost_detours > 0 {
        let lost = counted(analysis.lost_detours, "detour", "detours");
        text.push_str(&format!("{lost} of {} did not fit into the buffer.\n", Time(analysis.lost_ps)));
    }
    text.push_str(&explained(&analysis.explained));
    for (what, times) in [("Durations", &analysis.durations), ("Gaps", &analysis.gaps)] {
        text.push_str(&times.as_ref().map_or_else(String::new, |times| in_words(what, times)));
    }
    text
}

fn between(overhead: &Overhead) -> String {
    overhead.interval.map_or_else(String::new, |interval| {
        let confidence = percent(interval.confidence);
        format!(" ({} to {} with {confidence} confidence)", percent(interval.low), percent(interval.high))
    })
}

fn in_words(what: &str, times: &Times) -> String {
    let summary = &times.summary;
    let [min, median, p95, p99, max] =
        [summary.min, summary.median, times.p95, summary.p99, summary.max].map(Time);
    let variation = significant(times.variation);
    format!(
        "{what}: {min} to {max}, median {median}, 95 % up to {p95}, 99 % up to {p99}; variation {variation}.\n"
    )
}

pub fn sources(sources: &[SourceNoise]) -> Table {
    Columns::over(sources)
        .text("source", |row| &row.name)
        .number("detours", |row| Cell::count(row.events))
        .number("of the noise", |row| Cell::share(row.share))
        .number("of the time", |row| Cell::share(row.overhead))
        .number("per second", |row| Cell::significant(row.rate_hz))
        .number("median", |row| Cell::ps(row.median_ps))
        .number("99 %", |row| Cell::ps(row.p99_ps))
        .number("longest", |row| Cell::ps(row.max_ps))
        .text("pattern", |row| row.rhythm.as_ref().map_or_else(|| "at random".into(), rhythm))
        .text("evidence", |row| evidence(row.evidence))
        .build()
}

fn rhythm(rhythm: &Rhythm) -> String {
    let (period, jitter) = (Time(rhythm.period_ps as u64), Time(rhythm.jitter_ps as u64));
    match rhythm {
        Rhythm { steady: false, .. } => format!("every {period} approximately ± {jitter}"),
        Rhythm { in_step, .. } if *in_step > 0.95 => format!("every {period} ± {jitter}"),
        Rhythm { in_step, .. } => format!("{} every {period} ± {jitter}", percent(*in_step)),
    }
}

pub fn cores(analysis: &Analysis, most: usize) -> Table {
    let rows = analysis.cores.iter().zip(&analysis.phases).take(most);
    let has_interval = rows.clone().any(|(core, _)| core.overhead.interval.is_some());
    let is_slow = rows.clone().any(|(_, slow)| slow.phases > 0);
    let interval = |interval: Interval| format!("{} to {}", percent(interval.low), percent(interval.high));
    Columns::over(rows)
        .number("core", |(core, _)| Cell::id(core.core))
        .number("detours", |(core, _)| Cell::count(core.overhead.detours))
        .number("noise", |(core, _)| Cell::ps(core.overhead.noise_ps))
        .number("overhead", |(core, _)| Cell::share(core.overhead.share))
        .each(has_interval.then_some("95 % interval"), |columns, name| {
            columns.number(name, |(core, _)| core.overhead.interval.map(interval))
        })
        .each(is_slow.then_some(["time slow", "slowdown then"]), |columns, [share, slowdown]| {
            columns.number(share, |(_, slow)| Cell::share(slow.share)).number(slowdown, |(_, slow)| {
                (slow.phases > 0).then(|| Cell::slowdown(slow.mean_slowdown - 1.0))
            })
        })
        .build()
}

static OVERHEAD: MetricKind = MetricKind {
    name: "overhead",
    unit: MetricUnit::Ratio,
    help: "Share of the measured time lost to detours, over all cores",
};

static RATE: MetricKind =
    MetricKind { name: "detours_per_second", unit: MetricUnit::Count, help: "Detours per second and core" };

static LONGEST: MetricKind =
    MetricKind { name: "longest", unit: MetricUnit::Seconds, help: "The longest detour" };

static SOURCE: MetricKind = MetricKind {
    name: "source_overhead",
    unit: MetricUnit::Ratio,
    help: "Share of the measured time lost to the detours of a source",
};

pub const KINDS: &[&MetricKind] = &[&OVERHEAD, &RATE, &LONGEST, &SOURCE];

/// The numbers of a noise recording or a noise spec.
#[derive(Debug)]
pub struct NoiseNumbers {
    pub overhead: f64,
    pub interval: Option<[f64; 2]>,
    /// Detours per second on one core; None for noise that happens only once.
    pub rate_hz: Option<f64>,
    pub longest: Time,
    /// Name of each source, and the share of the time it takes.
    pub sources: Vec<(String, f64)>,
}

impl NoiseNumbers {
    /// The numbers of measured noise.
    pub fn new(analysis: &Analysis) -> NoiseNumbers {
        let overhead = &analysis.overhead;
        let seconds = Time(overhead.length_ps).seconds();
        NoiseNumbers {
            overhead: overhead.share,
            interval: overhead.interval.map(|interval| [interval.low, interval.high]),
            rate_hz: (seconds > 0.0).then(|| overhead.detours as f64 / seconds),
            longest: Time(analysis.durations.as_ref().map_or(0, |times| times.summary.max)),
            sources: analysis.sources.iter().map(|source| (source.name.clone(), source.overhead)).collect(),
        }
    }

    pub fn metrics(self) -> Vec<Metric> {
        let mut overhead = Metric::new(&OVERHEAD, self.overhead);
        overhead.interval = self.interval;
        let mut metrics = vec![overhead, Metric::new(&LONGEST, self.longest.seconds())];
        metrics.extend(self.rate_hz.map(|rate| Metric::new(&RATE, rate)));
        let source = |(name, share): (String, f64)| Metric::new(&SOURCE, share).label("source", name);
        metrics.extend(self.sources.into_iter().map(source));
        metrics
    }
}
