//! What a measurement says, for people.

use super::answer::{Answer, CoreAnswer, highest_frequency};
use crate::commands::noise::{evidence, explained};
use straggler_model::Time;
use straggler_model::noise::recording::Method;
use straggler_report::Table;
use straggler_report::numbers::{counted, grouped, percent, significant};

pub fn say(answer: &Answer) -> String {
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

/// Rows of the table of sources.
const MOST_SOURCES: usize = 12;

fn sources(answer: &Answer) -> String {
    let explained = explained(&answer.explained);
    let mut text = match &answer.attribution.hindrance {
        Some(hindrance) => format!("\n{explained}{hindrance}.\n"),
        None => format!("\n{explained}"),
    };
    if answer.explained.named() > 0.0 {
        let mut table =
            Table::with_header(["source", "detours", "of the noise", "longest", "evidence"]).text(4);
        for source in answer.sources.iter().take(MOST_SOURCES) {
            table.row([
                source.name.clone(),
                grouped(source.detours),
                percent(source.share),
                Time(source.longest_ps).to_string(),
                evidence(source.evidence).into(),
            ]);
        }
        text += &format!("\n{table}");
    }
    let rest = answer.sources.len().saturating_sub(MOST_SOURCES);
    if rest > 0 {
        text += &format!(
            "  and {} with less; `straggler noise show` has them all\n",
            counted(rest as u64, "other", "others")
        );
    }
    text
}

fn headline(answer: &Answer) -> String {
    let cores = answer.cores.len() as u64;
    let length = answer.cores.iter().map(|core| core.length_ps).max().unwrap_or(0);
    format!(
        "Noise took {} of the time of {}: {} in {}",
        percent(answer.overhead),
        counted(cores, "core", "cores"),
        counted(answer.detours, "detour", "detours"),
        Time(length)
    )
}

/// As Table I of the paper has it: serial overhead with one core in use and with all.
fn one_and_all(one: &Answer, all: &Answer) -> String {
    let mut table = Table::with_header(["cores in use", "t_min", "overhead", "detours", "longest"]);
    for answer in [one, all] {
        let longest = answer.cores.iter().map(|core| core.longest_ps).max().unwrap_or(0);
        table.row([
            answer.cores.len().to_string(),
            Time(answer.t_min_ps()).to_string(),
            percent(answer.overhead),
            grouped(answer.detours),
            Time(longest).to_string(),
        ]);
    }
    format!(
        "Noise took {} of a core's time with one core in use, {} with all {}.\n\n{table}",
        percent(one.overhead),
        percent(all.overhead),
        all.cores.len()
    )
}

fn slow_phases(answer: &Answer) -> Option<String> {
    let phases: u64 = answer.cores.iter().map(|core| core.slow_phases).sum();
    let extra = answer.overhead_with_slow_phases - answer.overhead;
    (phases > 0).then(|| {
        format!(
            "Besides, everything was slower in {}, which cost another {}.",
            counted(phases, "phase", "phases"),
            percent(extra)
        )
    })
}

fn lost(answer: &Answer) -> Option<String> {
    let lost: u64 = answer.cores.iter().map(|core| core.lost_detours).sum();
    let time: u64 = answer.cores.iter().map(|core| core.lost_ps).sum();
    (lost > 0).then(|| {
        format!(
            "The buffers were full before the end, and what is told here ends there: {} of {} in all that came later are \
             counted but not kept; raise --buffer or --threshold.",
            counted(lost, "detour", "detours"),
            Time(time)
        )
    })
}

fn runs(answer: &Answer) -> Option<String> {
    let chosen = answer.chosen_run?;
    let overheads: Vec<String> = answer.runs.iter().map(|run| percent(run.overhead)).collect();
    Some(format!("This is run {chosen} of {}: {}.", overheads.len(), overheads.join(", ")))
}

fn table(answer: &Answer) -> Table {
    let headings = [
        "core",
        "length",
        "t_min",
        "threshold",
        "iterations",
        "detours",
        "overhead",
        "longest",
        "slow phases",
        "slow for",
        "lost",
    ];
    let mut table = Table::with_header(headings);
    answer.cores.iter().for_each(|core| table.row(cells(core)));
    table
}

fn cells(core: &CoreAnswer) -> [String; 11] {
    [
        core.core.to_string(),
        Time(core.length_ps).to_string(),
        Time(core.t_min_ps).to_string(),
        Time(core.threshold_ps).to_string(),
        grouped(core.iterations),
        grouped(core.detours),
        percent(core.overhead),
        Time(core.longest_ps).to_string(),
        grouped(core.slow_phases),
        Time(core.slow_ps).to_string(),
        grouped(core.lost_detours),
    ]
}

fn timer(answer: &Answer) -> String {
    let timer = &answer.timer.timer;
    let sure = match &timer.not_invariant {
        None => "one rate".to_string(),
        Some(doubt) => format!("perhaps not at one rate ({doubt})"),
    };
    let mut text = format!(
        "Timer: {} at {} ± {} ppm, {sure}; a reading takes {}, fenced {}; its steps are {}.\n",
        timer.name,
        frequency_exactly(timer.ticks_per_second),
        significant(timer.rate_error_ppm),
        Time(timer.overhead_ps),
        Time(timer.fenced_overhead_ps),
        Time(timer.granularity_ps)
    );
    if answer.method == Method::Detour {
        let ratio = answer.timer.loop_over_read.unwrap_or(0.0);
        text += &format!("An iteration of the loop takes {ratio:.2} times a reading; ");
        text += &format!(
            "noise of up to {} can be seen.\n",
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

/// With as many digits as the error bar is worth.
fn frequency_exactly(hertz: f64) -> String {
    format!("{:.4} MHz", hertz / 1e6)
}
