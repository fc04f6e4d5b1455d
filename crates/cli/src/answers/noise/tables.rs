//! The tables of measured noise, for the terminal and for pages.

use super::evidence;
use straggler_analysis::noise::overhead::Interval;
use straggler_analysis::noise::{Analysis, Rhythm, SourceNoise};
use straggler_model::Time;
use straggler_report::numbers::percent;
use straggler_report::{Cell, Columns, Table};

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
