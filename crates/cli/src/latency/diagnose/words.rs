//! A diagnosis as text.

use crate::kernel::prelude::*;
use crate::latency::diagnose::{DiagnosisAnswer, apart, page};
use crate::{latency::diagnose::hints::HintAnswer, latency::words::time};
use straggler_analysis::latency::ranks::{Lead, OneRank};
use straggler_analysis::latency::stationarity::{Apart, Steadiness};
use straggler_analysis::latency::{Ranks, Summary, diagnose::GroupFound, noise::NoTail, pairs::Pairs};
use straggler_model::latency::Outside;

/// Groups shown in full; each of the others gets one line.
const MOST_GROUPS: usize = 8;

/// The first sentence.
pub fn verdict(hints: &[HintAnswer], groups: &[GroupFound]) -> String {
    let trials: u64 = groups.iter().map(|group| group.trials.count).sum();
    match &alike(hints)[..] {
        [] => format!("Nothing stands out in {}.", counted(trials, "trial", "trials")),
        [only] => only[0].summary.clone(),
        [first, rest @ ..] => {
            format!("{} There {} below.", first[0].summary, more(rest.len()))
        }
    }
}

/// Groups hints that are equal in several series, so that each is printed once. No list is empty.
fn alike(hints: &[HintAnswer]) -> Vec<Vec<&HintAnswer>> {
    let mut lists: Vec<Vec<&HintAnswer>> = Vec::new();
    for hint in hints {
        match lists.iter_mut().find(|list| list[0].summary == hint.summary) {
            Some(list) => list.push(hint),
            None => lists.push(vec![hint]),
        }
    }
    lists
}

fn more(count: usize) -> String {
    if count == 1 { "is one more hint".into() } else { format!("are {count} more hints") }
}

/// Reasons to doubt the numbers.
pub fn doubts(group: &GroupFound) -> Vec<String> {
    let share = |count: u64| percent(count as f64 / group.trials.count as f64);
    let mut list = Vec::new();
    if group.underflow > 0 {
        list.push(format!(
            "{}: {} of the trials were shorter than the timer's cost and count as 0",
            group.name,
            share(group.underflow)
        ));
    }
    if group.overflow > 0 {
        list.push(format!(
            "{}: {} of the trials lie beyond the last bin: use more or wider --bins",
            group.name,
            share(group.overflow)
        ));
    }
    list
}

/// Why a noise recording cannot explain the tail.
pub fn no_noise(group: &GroupFound) -> Option<String> {
    let why = match group.no_noise? {
        NoTail::NoTail => "there is no tail for noise to explain",
        NoTail::OutsideBins => {
            "the tail lies beyond the last bin, so its cause is unknown: measure again with more or wider \
             --bins"
        }
        NoTail::EmptyRecording => "the noise recording has zero length: record it again",
    };
    Some(format!("{}: {why}", group.name))
}

/// Without `details`, several series get a line each.
pub fn summary(answer: &DiagnosisAnswer, details: bool) -> String {
    let mut text = format!("{}\n", answer.verdict);
    if answer.synthetic {
        text.push_str("The data is synthetic: drawn from a description, not measured.\n");
    }
    for (number, list) in (1..).zip(alike(&answer.hints)) {
        text.push_str(&format!("\n{number}. {}", sentence(&list)));
    }
    let brief = !details && answer.groups.len() > 1;
    if brief {
        text.push_str(&format!("\n{}", in_brief(&answer.groups)));
        text.push_str("\nWith -v: quantiles, modes and fitted distributions of each.\n");
        return text;
    }
    for group in answer.groups.iter().take(MOST_GROUPS) {
        text.push_str(&format!("\n{}\n", group.name));
        text.push_str(&of_group(group));
    }
    if answer.groups.len() > MOST_GROUPS {
        text.push_str(&format!(
            "\nand {} more series; --json and --report list all\n",
            answer.groups.len() - MOST_GROUPS
        ));
    }
    text
}

/// A hint and its evidence; one line per series if there are several.
fn sentence(list: &[&HintAnswer]) -> String {
    let summary = list.first().map_or("", |hint| hint.summary.as_str());
    if let [hint] = list {
        let evidence: Vec<String> = hint.evidence.iter().map(|line| format!("   {line}\n")).collect();
        return format!("{summary} ({})\n{}", hint.series, evidence.concat());
    }
    let line = |hint: &&HintAnswer| format!("   {}: {}\n", hint.series, hint.evidence.join(" "));
    format!("{summary} ({} series)\n{}", list.len(), list.iter().map(line).collect::<String>())
}

/// One row per series.
fn in_brief(groups: &[GroupFound]) -> Table {
    let quantile = |group: &GroupFound, q: f64| {
        let all = &group.trials.quantiles;
        all.iter().find(|one| one.q == q).and_then(|one| one.value_ps).map(time)
    };
    Columns::over(groups)
        .text("series", |group| &group.name)
        .number("trials", |group| Cell::count(group.trials.count))
        .number("median", |group| quantile(group, 0.5))
        .number("99 %", |group| quantile(group, 0.99))
        .number("modes", |group| Cell::count(group.modes.len()))
        .text("over time", steadiness)
        .build()
}

fn of_group(group: &GroupFound) -> String {
    let mut text = page::summary(&group.trials, group.minima.as_ref()).to_string();
    text.push_str(&format!("{}\n", shape(&group.trials)));
    text.extend(group.minima.as_ref().map(|minima| format!("minima of cycles: {}\n", shape(minima))));
    text.push_str(&format!("{}\n", steadiness(group)));
    text.extend(group.ranks.as_ref().map(|ranks| format!("{}\n", slowest(ranks))));
    if group.modes.len() > 1 {
        text.push_str(&format!("\n{}", page::modes("mode", &group.modes)));
    }
    if group.minima_modes.len() > 1 {
        text.push_str(&format!("\n{}", page::modes("mode of the minima", &group.minima_modes)));
    }
    text.extend(group.fits.as_ref().map(|fits| format!("\n{}", page::fits(fits))));
    if let Some(pairs) = &group.pairs {
        text.push_str(&format!("\n{}", clusters(pairs)));
    }
    text
}

/// The moments in a sentence.
pub fn shape(trials: &Summary) -> String {
    let Some(about) = trials.about_minimum.filter(|_| trials.outside == [0, 0]) else {
        return format!(
            "standard deviation {}; skew and kurtosis are unknown, because {} outside the bins",
            trials.sd_ps.map_or_else(|| "none".into(), time),
            match trials.outside.iter().sum::<u64>() {
                1 => "1 trial lies".to_string(),
                several => format!("{} trials lie", grouped(several)),
            }
        );
    };
    let number = |value: Option<f64>| value.map_or_else(|| "none".into(), significant);
    format!(
        "standard deviation {}, skew {}, excess kurtosis {}; above the minimum: mean {}, root mean square {}, skew {}, \
         excess kurtosis {}",
        trials.sd_ps.map_or_else(|| "none".into(), time),
        number(trials.skew),
        number(trials.kurtosis),
        time(about.mean_ps),
        time(about.rms_ps),
        number(about.skew),
        number(about.kurtosis)
    )
}

/// "the first 2 cycles take 30 % longer than the others".
pub fn steadiness(group: &GroupFound) -> String {
    let found = &group.stationarity;
    let cycles = counted(found.cycles as u64, "cycle", "cycles");
    let rest = |first: Apart| found.cycles.saturating_sub(first.cycles) as u64;
    match found.verdict {
        Steadiness::TooFew if found.warm_up.is_some() => {
            let first = found.warm_up.map_or_else(String::new, |first| apart(first, "first "));
            let others = counted(found.warm_up.map_or(0, rest), "other is", "others are");
            format!("{first}; the {others} too few to decide whether the times are steady")
        }
        Steadiness::OutsideBins => {
            "unknown whether the times are steady: medians of cycles lie outside the bins; measure again \
             with more or wider --bins"
                .into()
        }
        Steadiness::TooFew if found.cycles == 1 => {
            format!("{cycles} is too few to decide whether the times are steady")
        }
        Steadiness::TooFew => format!("{cycles} are too few to decide whether the times are steady"),
        Steadiness::Steady => format!("steady over {cycles}"),
        Steadiness::Drifts => format!("drifts over {cycles}"),
        Steadiness::WarmsUp => {
            let first = found.warm_up.map_or_else(String::new, |first| apart(first, "first "));
            let others = counted(found.warm_up.map_or(0, rest), "cycle", "cycles");
            format!("steady over {others} after a warm-up: {first}")
        }
        Steadiness::Jumps => format!("jumps between levels, over {cycles}"),
        Steadiness::Alternates => format!("alternates between levels from cycle to cycle, over {cycles}"),
        Steadiness::Bursts => {
            let slow = found.bursts.map_or_else(String::new, |slow| apart(slow, ""));
            format!("has bursts, over {cycles}: {slow}")
        }
        Steadiness::SpreadChanges => format!("cycles vary differently in the two halves of {cycles}"),
    }
}

/// The slowest rank of a collective.
pub fn slowest(ranks: &Ranks) -> String {
    let Ranks { slowest, fastest, typical, runner_up, lead, clock_error_ps, .. } = ranks;
    let count = ranks.ranks.len();
    let medians = |one: &OneRank| median_text(one.median_ps, one.outside);
    let between = format!(
        "from {} (rank {}) to {} (rank {})",
        medians(fastest),
        fastest.rank,
        medians(slowest),
        slowest.rank
    );
    match lead {
        Lead::None => format!("all {count} ranks have the same median, {}", medians(typical)),
        Lead::OutsideBins => format!(
            "unknown which of {count} ranks is slowest: medians lie outside the bins ({}); measure again \
             with more or wider --bins",
            medians(slowest)
        ),
        Lead::WithinClockError => format!(
            "no rank is clearly the slowest: medians of {count} ranks range {between}, within the error of \
             their clocks, {} each",
            time(clock_error_ps.unwrap_or(0.0))
        ),
        Lead::WithinChance => {
            format!(
                "no rank is clearly the slowest: medians of {count} ranks range {between}, which may be \
                 chance"
            )
        }
        Lead::Shared => format!(
            "medians of {count} ranks range {between}; rank {} ({}) may be as slow as rank {}",
            runner_up.rank,
            medians(runner_up),
            slowest.rank
        ),
        Lead::Sure => format!(
            "of {count} ranks, rank {} is slowest: its median is {}, the typical median {}; rank {} is \
             fastest with {}",
            slowest.rank,
            medians(slowest),
            medians(typical),
            fastest.rank,
            medians(fastest)
        ),
    }
}

/// A median, or its bound.
fn median_text(median_ps: f64, outside: Option<Outside>) -> String {
    outside.map_or_else(|| time(median_ps), |outside| outside.to_string())
}

fn clusters(pairs: &Pairs) -> String {
    let what = counted(pairs.pairs.len() as u64, "pair", "pairs");
    if pairs.clusters.len() < 2 {
        return format!("{what} of {} processes behave alike\n", pairs.ranks.len());
    }
    let table = Columns::over(&pairs.clusters)
        .number("cluster of pairs", |row| time(row.median_ps))
        .number("pairs", |row| Cell::count(row.pairs))
        .number("medians from", |row| time(row.low_ps))
        .number("to", |row| time(row.high_ps))
        .build();
    let outside: usize = pairs.clusters.iter().map(|cluster| cluster.outside).sum();
    let bounds = match outside {
        0 => String::new(),
        1 => "the median of 1 pair lies outside the bins and counts as its bound: measure again with more or wider --bins\n".into(),
        _ => format!(
            "the medians of {outside} pairs lie outside the bins and count as their bound: measure again with more or wider --bins\n"
        ),
    };
    let explained = match pairs.explanation() {
        Some(best) if best.is_exact() => {
            format!("grouped by {}, the pairs form exactly these clusters\n", best.property)
        }
        Some(best) => format!(
            "grouped by {}, the pairs agree with these clusters to {}\n",
            best.property,
            percent(best.agreement)
        ),
        None if pairs.explanations.is_empty() => match pairs.all_are {
            Some(what) => format!("the known placement of the processes is the same for all pairs: {what}\n"),
            None => "the placement of the processes is unknown\n".into(),
        },
        None => "no known property of two processes explains them\n".into(),
    };
    format!("{table}{bounds}{explained}")
}
