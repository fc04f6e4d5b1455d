//! A noise measurement as text.

use super::answer::{MeasureNoiseAnswer, highest_frequency};
use crate::answers::noise::{evidence, explained};
use straggler_model::Time;
use straggler_model::noise::recording::Method;
use straggler_report::numbers::{counted, percent, significant};
use straggler_report::{Cell, Columns, Table};

pub fn say(answer: &MeasureNoiseAnswer) -> String {
    let mut text = match &answer.one_core_alone {
        Some(one) => one_and_all(one, answer),
        None => format!("{}.\n", headline(answer)),
    };
    for line in [slow_phases(answer), lost(answer), runs(answer)].into_iter().flatten() {
        text += &line;
        text.push('\n');
    }
    format!("{text}\n{}{}\n{}", table(answer), sources(answer), timer(answer))
}

/// Most rows of the table of sources.
const MOST_SOURCES: usize = 12;

fn sources(answer: &MeasureNoiseAnswer) -> String {
    let explained = explained(&answer.explained);
    let mut text = match &answer.attribution.hindrance {
        Some(hindrance) => format!("\n{explained}{hindrance}.\n"),
        None => format!("\n{explained}"),
    };
    if answer.explained.named() > 0.0 {
        let table = Columns::over(answer.sources.iter().take(MOST_SOURCES))
            .text("source", |row| &row.name)
            .number("detours", |row| Cell::count(row.detours))
            .number("of the noise", |row| Cell::share(row.share))
            .number("longest", |row| Cell::ps(row.longest_ps))
            .text("evidence", |row| evidence(row.evidence))
            .build();
        text += &format!("\n{table}");
    }
    let rest = answer.sources.len().saturating_sub(MOST_SOURCES);
    if rest > 0 {
        text += &format!(
            "  and {} with less; `straggler noise show` lists all\n",
            counted(rest as u64, "other", "others")
        );
    }
    text
}

fn headline(answer: &MeasureNoiseAnswer) -> String {
    let cores = answer.cores.len() as u64;
    let length = answer.cores.iter().map(|core| core.length_ps).max().unwrap_or(0);
    format!(
        "Noise took {} of the time on {}: {} in {}",
        percent(answer.overhead),
        counted(cores, "core", "cores"),
        counted(answer.detours, "detour", "detours"),
        Time(length)
    )
}

/// As in Table I of the paper: serial overhead with one core in use and with all.
fn one_and_all(one: &MeasureNoiseAnswer, all: &MeasureNoiseAnswer) -> String {
    let longest =
        |answer: &MeasureNoiseAnswer| answer.cores.iter().map(|core| core.longest_ps).max().unwrap_or(0);
    let table = Columns::over([one, all])
        .number("cores in use", |row| Cell::id(row.cores.len()))
        .number("t_min", |row| Cell::ps(row.t_min_ps()))
        .number("overhead", |row| Cell::share(row.overhead))
        .number("detours", |row| Cell::count(row.detours))
        .number("longest", |row| Cell::ps(longest(row)))
        .build();
    format!(
        "Noise took {} of a core's time with one core in use, {} with all {}.\n\n{table}",
        percent(one.overhead),
        percent(all.overhead),
        all.cores.len()
    )
}

fn slow_phases(answer: &MeasureNoiseAnswer) -> Option<String> {
    let phases: u64 = answer.cores.iter().map(|core| core.slow_phases).sum();
    let extra = answer.overhead_with_slow_phases - answer.overhead;
    (phases > 0).then(|| {
        format!(
            "In addition, cores ran slower in {}, which cost another {} of the time.",
            counted(phases, "phase", "phases"),
            percent(extra)
        )
    })
}

fn lost(answer: &MeasureNoiseAnswer) -> Option<String> {
    let lost: u64 = answer.cores.iter().map(|core| core.lost_detours).sum();
    let time: u64 = answer.cores.iter().map(|core| core.lost_ps).sum();
    (lost > 0).then(|| {
        format!(
            "The buffers filled up before the end, and the recording stops there: {} ({} in total) are \
             counted but not stored; raise --buffer or --threshold.",
            counted(lost, "later detour", "later detours"),
            Time(time)
        )
    })
}

fn runs(answer: &MeasureNoiseAnswer) -> Option<String> {
    let chosen = answer.chosen_run?;
    let overheads: Vec<String> = answer.runs.iter().map(|run| percent(run.overhead)).collect();
    Some(format!("This is run {chosen} of {}: {}.", overheads.len(), overheads.join(", ")))
}

fn table(answer: &MeasureNoiseAnswer) -> Table {
    let has_lost = answer.cores.iter().any(|core| core.lost_detours > 0);
    Columns::over(&answer.cores)
        .number("core", |row| Cell::id(row.core))
        .number("length", |row| Cell::ps(row.length_ps))
        .number("t_min", |row| Cell::ps(row.t_min_ps))
        .number("threshold", |row| Cell::ps(row.threshold_ps))
        .number("iterations", |row| Cell::count(row.iterations))
        .number("detours", |row| Cell::count(row.detours))
        .number("overhead", |row| Cell::share(row.overhead))
        .number("longest", |row| Cell::ps(row.longest_ps))
        .number("slow phases", |row| Cell::count(row.slow_phases))
        .number("slow for", |row| Cell::ps(row.slow_ps))
        .each(has_lost.then_some("not recorded"), |columns, name| {
            columns.number(name, |row| Cell::count(row.lost_detours))
        })
        .build()
}

fn timer(answer: &MeasureNoiseAnswer) -> String {
    let timer = &answer.timer.timer;
    let sure = match &timer.not_invariant {
        None => "constant rate".to_string(),
        Some(doubt) => format!("rate may vary ({doubt})"),
    };
    let mut text = format!(
        "Timer: {} at {} ± {} ppm, {sure}; a reading takes {}, fenced {}; its resolution is {}.\n",
        timer.name,
        frequency_exactly(timer.ticks_per_second),
        significant(timer.rate_error_ppm),
        Time(timer.overhead_ps),
        Time(timer.fenced_overhead_ps),
        Time(timer.granularity_ps)
    );
    if answer.method == Method::Detour {
        let ratio = answer.timer.loop_over_read.unwrap_or(0.0);
        text += &format!(
            "A loop iteration takes {ratio:.2} times as long as a reading, so the loop sees noise of up to {}.\n",
            frequency(highest_frequency(Time(answer.t_min_ps())))
        );
    }
    text
}

fn frequency(hertz: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz")];
    let (scale, unit) = UNITS.into_iter().find(|(scale, _)| hertz >= *scale).unwrap_or((1.0, "Hz"));
    format!("{} {unit}", significant(hertz / scale))
}

/// A frequency in MHz, to 100 Hz.
fn frequency_exactly(hertz: f64) -> String {
    format!("{:.4} MHz", hertz / 1e6)
}
