//! Measured noise in words and tables.

use crate::commands::noise::{evidence, explained};
use straggler_analysis::noise::cores::Verdict;
use straggler_analysis::noise::{Analysis, Overhead, Rhythm, Times, Together};
use straggler_model::Time;
use straggler_model::noise::Recording;
use straggler_report::Table;
use straggler_report::numbers::{counted, grouped, percent, significant};

/// Rows of a table at most.
const MOST_ROWS: usize = 16;
/// The longest bar of the histogram.
const BAR: f64 = 40.0;
/// Below this share of the noise a line of the spectrum is of no interest to a reader.
const LEAST_LINE: f64 = 1e-3;

pub fn say(recording: &Recording, analysis: &Analysis) -> String {
    let mut parts = vec![opening(recording, analysis)];
    if analysis.overhead.detours > 0 {
        parts.push(cores(analysis));
        parts.push(sources(analysis));
        parts.push(spectrum(analysis));
        parts.extend(analysis.together.as_ref().map(together));
        parts.push(histogram(analysis));
    }
    parts.join("\n")
}

/// What noise takes, how long detours are and how far apart.
pub fn opening(recording: &Recording, analysis: &Analysis) -> String {
    let overhead = &analysis.overhead;
    let count = recording.cores.len() as u64;
    let longest = recording.cores.iter().map(|core| core.length).max().unwrap_or(Time::ZERO);
    let (detours, cores) = (counted(overhead.detours, "detour", "detours"), counted(count, "core", "cores"));
    let mut text = format!(
        "Noise takes {} of the time{}: {detours} in {longest} on {cores}.\n",
        percent(overhead.share),
        between(overhead)
    );
    if let Some(why) = overhead.no_interval {
        text.push_str(&format!("It is {why}.\n"));
    }
    if overhead.detours > 50 && overhead.five_longest > 0.5 {
        text.push_str(&format!(
            "Five detours carry {} of it: a longer measurement may well find another overhead.\n",
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

fn cores(analysis: &Analysis) -> String {
    let headings = ["core", "detours", "noise", "overhead", "from", "to", "slow", "slowdown"];
    let mut table = Table::with_header(headings);
    for (core, slow) in analysis.cores.iter().zip(&analysis.phases).take(MOST_ROWS) {
        let overhead = &core.overhead;
        let [low, high] = match overhead.interval {
            Some(interval) => [percent(interval.low), percent(interval.high)],
            None => ["".into(), "".into()],
        };
        let noise = Time(overhead.noise_ps).to_string();
        let first =
            [core.core.to_string(), grouped(overhead.detours), noise, percent(overhead.share), low, high];
        let slowdown = if slow.phases > 0 { significant(slow.mean_slowdown) } else { String::new() };
        table.row(first.into_iter().chain([percent(slow.share), slowdown]));
    }
    with_rest(table, analysis.cores.len())
}

fn with_rest(table: Table, rows: usize) -> String {
    match rows.checked_sub(MOST_ROWS) {
        Some(rest @ 1..) => format!("{table}  and {rest} more; --json has all\n"),
        _ => table.to_string(),
    }
}

fn sources(analysis: &Analysis) -> String {
    let headings = [
        "source",
        "detours",
        "of the noise",
        "of the time",
        "a second",
        "median",
        "99 %",
        "longest",
        "strikes",
        "evidence",
    ];
    let mut table = Table::with_header(headings).text(8).text(9);
    for source in analysis.sources.iter().take(MOST_ROWS) {
        let durations = [source.median_ps, source.p99_ps, source.max_ps].map(|ps| Time(ps).to_string());
        let first =
            [source.name.clone(), grouped(source.events), percent(source.share), percent(source.overhead)];
        let strikes = source.rhythm.as_ref().map_or_else(|| "at random".into(), rhythm);
        table.row(
            first
                .into_iter()
                .chain([significant(source.rate_hz)])
                .chain(durations)
                .chain([strikes, evidence(source.evidence).into()]),
        );
    }
    with_rest(table, analysis.sources.len())
}

fn rhythm(rhythm: &Rhythm) -> String {
    let (period, jitter) = (Time(rhythm.period_ps as u64), Time(rhythm.jitter_ps as u64));
    match rhythm {
        Rhythm { steady: false, .. } => format!("every {period} or so ± {jitter}"),
        Rhythm { in_step, .. } if *in_step > 0.95 => format!("every {period} ± {jitter}"),
        Rhythm { in_step, .. } => format!("{} every {period} ± {jitter}", percent(*in_step)),
    }
}

fn spectrum(analysis: &Analysis) -> String {
    let spectrum = &analysis.spectrum;
    let (resolution, nyquist) = (significant(spectrum.resolution_hz), significant(spectrum.nyquist_hz));
    let lines: Vec<_> = spectrum.lines.iter().filter(|line| line.share >= LEAST_LINE).collect();
    if spectrum.nyquist_hz == 0.0 {
        return "Too few detours for a spectrum.\n".into();
    }
    if lines.is_empty() {
        return format!("No frequency stands out up to {nyquist} Hz (resolution {resolution} Hz).\n");
    }
    let headings = ["frequency", "period", "of the noise", "detours", "each", "harmonics", ""];
    let mut table = Table::with_header(headings).text(6);
    for line in lines.iter().take(MOST_ROWS) {
        let each = line.noise_per_event_ps.map_or_else(|| "".into(), |ps| Time(ps as u64).to_string());
        let kind = if line.steady { "" } else { "drifts" };
        table.row([
            format!("{} Hz", exact(line.frequency_hz)),
            Time(line.period_ps).to_string(),
            percent(line.share),
            grouped(line.events),
            each,
            grouped(line.harmonics),
            kind.into(),
        ]);
    }
    let table = with_rest(table, lines.len());
    format!("{table}  up to {nyquist} Hz, resolution {resolution} Hz\n")
}

/// Frequencies are known to more digits than other numbers.
fn exact(hz: f64) -> String {
    if hz >= 100.0 { format!("{hz:.2}") } else { format!("{hz:.4}") }
}

fn together(together: &Together) -> String {
    let [any, independent, at_once, coincides, expected] = [
        together.any_core,
        together.any_core_if_independent,
        together.any_core_if_together,
        together.coincides,
        together.coincides_if_independent,
    ]
    .map(percent);
    let verdict = match together.verdict {
        Verdict::Independent => "Noise on the cores is uncorrelated",
        Verdict::Common => "Cores have noise in common",
        Verdict::Staggered => "Cores avoid each other's noise",
    };
    let mut text = format!(
        "{verdict}: {coincides} of it coincides with that of another core, by chance {expected} would.\n\
         Some core is disturbed in {any} of the time (independent: {independent}). Were all disturbed at once, it \
         would be {at_once}: co-scheduling gains {}.\n",
        percent(together.gain())
    );
    let mut table =
        Table::with_header(["slots of", "correlation", "chance up to", "strongest", "cores"]).text(4);
    for width in &together.widths {
        let (strongest, cores) = width.pairs.first().map_or_else(Default::default, |pair| {
            (format!("{:.3}", pair.correlation), format!("{} and {}", pair.cores[0], pair.cores[1]))
        });
        let numbers = [width.mean, width.by_chance].map(|number| format!("{number:.3}"));
        table.row([Time(width.slot_ps).to_string()].into_iter().chain(numbers).chain([strongest, cores]));
    }
    if !table.is_empty() {
        text.push_str(&table.to_string());
    }
    text
}

fn histogram(analysis: &Analysis) -> String {
    let most = analysis.histogram.iter().map(|bin| bin.count).max().unwrap_or(1).max(1) as f64;
    let mut table = Table::with_header(["duration from", "detours", "of the noise", ""]).text(3);
    for bin in &analysis.histogram {
        // A logarithmic scale: one detour among a hundred thousand must be seen.
        let length = ((bin.count as f64 + 1.0).ln() / (most + 1.0).ln() * BAR).round() as usize;
        let share = bin.noise_ps as f64 / analysis.overhead.noise_ps.max(1) as f64;
        table.row([Time(bin.from_ps).to_string(), grouped(bin.count), percent(share), "█".repeat(length)]);
    }
    table.to_string()
}
