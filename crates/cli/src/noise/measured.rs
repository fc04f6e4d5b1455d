//! Measured noise as text and tables.

use crate::kernel::prelude::*;
use crate::noise::words::{self, opening};
use straggler_analysis::noise::{Analysis, Together, cores::Verdict};
use straggler_noise::NoiseRecording;

/// Most rows of a table.
const MOST_ROWS: usize = 16;
/// The longest bar of the histogram.
const BAR: f64 = 40.0;
/// Lines of the spectrum below this share of the noise are not shown.
const LEAST_LINE: f64 = 1e-3;

/// Without `details`, what fits on a screen: overhead, sources and durations.
pub fn summary(recording: &NoiseRecording, analysis: &Analysis, details: bool) -> String {
    let mut parts = vec![opening(recording, analysis)];
    if analysis.overhead.detours > 0 {
        let sources = &analysis.sources;
        parts.push(with_rest(words::sources(&sources[..sources.len().min(MOST_ROWS)]), sources.len()));
        parts.push(histogram(analysis));
        if details {
            parts.push(with_rest(words::cores(analysis, MOST_ROWS), analysis.cores.len()));
            parts.push(spectrum(analysis));
            parts.extend(analysis.together.as_ref().map(together));
        } else {
            parts.push(
                "With -v: each core, frequencies, and noise that strikes several cores at once.\n".into(),
            );
        }
    }
    parts.join("\n")
}

fn with_rest(table: Table, rows: usize) -> String {
    match rows.checked_sub(MOST_ROWS) {
        Some(rest @ 1..) => format!("{table}  and {rest} more; --json has all\n"),
        _ => table.to_string(),
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
    // No more digits than the resolution has.
    let decimals = (-spectrum.resolution_hz.log10()).ceil().clamp(0.0, 6.0) as usize;
    let table = Columns::over(lines.iter().take(MOST_ROWS))
        .number("frequency", |row| format!("{:.decimals$} Hz", row.frequency_hz))
        .number("period", |row| Cell::ps(row.period_ps))
        .number("of the noise", |row| Cell::share(row.share))
        .number("detours", |row| Cell::count(row.events))
        .number("each", |row| row.noise_per_event_ps.map(|ps| Cell::ps(ps as u64)))
        .number("harmonics", |row| Cell::count(row.harmonics))
        .text("", |row| if row.steady { "" } else { "drifts" })
        .build();
    let table = with_rest(table, lines.len());
    format!("{table}  up to {nyquist} Hz, resolution {resolution} Hz\n")
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
        Verdict::Common => "Noise on the cores is correlated",
        Verdict::Staggered => "Noise on the cores is staggered",
    };
    let mut text = format!(
        "{verdict}: {coincides} of it coincides with that of another core; {expected} is expected by \
         chance.\nAt least one core is disturbed in {any} of the time (independent: {independent}). If \
         all were disturbed at once, it would be {at_once}: co-scheduling gains {}.\n",
        percent(together.gain())
    );
    let table = Columns::over(&together.widths)
        .number("slot length", |row| Cell::ps(row.slot_ps))
        .number("correlation", |row| format!("{:.3}", row.mean))
        .number("critical value", |row| format!("{:.3}", row.by_chance))
        .number("strongest", |row| row.pairs.first().map(|pair| format!("{:.3}", pair.correlation)))
        .text("cores", |row| row.pairs.first().map(|pair| format!("{} and {}", pair.cores[0], pair.cores[1])))
        .build();
    if !table.is_empty() {
        text.push_str(&table.to_string());
    }
    text
}

fn histogram(analysis: &Analysis) -> String {
    let most = analysis.histogram.iter().map(|bin| bin.count).max().unwrap_or(1).max(1) as f64;
    // A logarithmic scale: one detour among a hundred thousand must be visible.
    let length = |count: u64| ((count as f64 + 1.0).ln() / (most + 1.0).ln() * BAR).round() as usize;
    let all_ps = analysis.overhead.noise_ps.max(1) as f64;
    let table = Columns::over(analysis.histogram.iter().filter(|bin| bin.count > 0))
        .number("duration from", |row| Cell::ps(row.from_ps))
        .number("detours", |row| Cell::count(row.count))
        .number("of the noise", |row| Cell::share(row.noise_ps as f64 / all_ps))
        .text("", |row| "█".repeat(length(row.count)))
        .build();
    format!("{table}  bars are logarithmic; durations without a detour are left out\n")
}
