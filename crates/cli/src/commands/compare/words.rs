//! A comparison in words.

use super::{Answer, FileAnswer, GateAnswer, SeriesAnswer};
use straggler_analysis::latency::compare::{Change, Difference, Direction};
use straggler_analysis::latency::gate::GateOutcome;
use straggler_analysis::latency::summary::level_name;
use straggler_analysis::latency::{Comparison, Group};
use straggler_model::Time;
use straggler_model::latency::Outside;
use straggler_report::Table;
use straggler_report::numbers::{grouped, percent, significant};

/// A time as people read it.
pub fn time(ps: f64) -> String {
    Time(ps.max(0.0).round() as u64).to_string()
}

/// A quantile, or its bound where it lies outside the bins: "> 2 ms".
pub fn quantile(value_ps: Option<f64>, outside: Option<Outside>) -> String {
    match (value_ps, outside) {
        (Some(ps), _) => time(ps),
        (None, Some(outside)) => outside.to_string(),
        (None, None) => "–".into(),
    }
}

/// Both quantiles of a comparison.
fn both(found: &Difference) -> [String; 2] {
    [0, 1].map(|side| quantile(found.values_ps[side], found.outside[side]))
}

/// With its sign.
pub fn signed_time(ps: f64) -> String {
    let sign = if ps < 0.0 { "-" } else { "+" };
    format!("{sign}{}", time(ps.abs()))
}

pub fn signed_percent(share: f64) -> String {
    let sign = if share < 0.0 { "" } else { "+" };
    format!("{sign}{}", percent(share))
}

/// The p-value of a test.
pub fn p_value(p: f64) -> String {
    if p < 0.001 { "< 0.001".into() } else { format!("{p:.3}") }
}

/// Romano's words for Cliff's delta.
fn effect(delta: f64) -> &'static str {
    match delta.abs() {
        size if size < 0.147 => "negligible",
        size if size < 0.33 => "small",
        size if size < 0.474 => "medium",
        _ => "large",
    }
}

/// One sentence about a file, which is called by its letter; the first is A.
pub fn verdict(letter: char, comparison: &Comparison) -> String {
    let Change { shift, spread, tail, slight, too_few } = comparison.change;
    let [first, second] = comparison.counts.map(grouped);
    let Some(median) = comparison.at(0.5).filter(|_| !too_few) else {
        return format!("There are too few trials to tell: A has {first}, {letter} has {second}.");
    };
    let [a, b] = both(median);
    let spreads = spread_words(comparison, spread);
    let tails = tail_words(comparison, tail);
    match (shift, spread.is_some()) {
        (Some(direction), is_wider) => {
            let (what, side) = match direction {
                Direction::More => ("slower", "higher"),
                Direction::Less => ("faster", "lower"),
            };
            let rest = match (is_wider, tail) {
                (true, _) => format!(", and {spreads}"),
                (false, Some(_)) => format!(", and {tails}"),
                (false, None) => "; its times are shifted as a whole".into(),
            };
            let by = median.share().map_or_else(String::new, |share| format!("{} ", percent(share.abs())));
            format!("{letter} is {what} than A: its median is {by}{side} ({b} instead of {a}){rest}.")
        }
        (None, true) => format!("{letter} has the median of A ({a}), but {spreads}."),
        (None, false) if tail.is_some() => {
            format!("{letter} differs from A only in the tail: {tails}; the medians are {a} and {b}.")
        }
        (None, false) if slight => format!(
            "{letter} hardly differs from A: there is a difference, but a small one; the medians are {a} and {b}."
        ),
        (None, false) => {
            format!("No difference between A and {letter} beyond chance: the medians are {a} and {b}.")
        }
    }
}

fn spread_words(comparison: &Comparison, spread: Option<Direction>) -> String {
    match (spread, comparison.width.map(|width| width.value)) {
        (Some(Direction::More), Some(wide)) => {
            format!("its times spread {} times as wide", significant(wide))
        }
        (Some(Direction::Less), Some(wide)) if wide > 0.0 => {
            format!("its times spread only {} times as wide", significant(wide))
        }
        (Some(Direction::More), None) => "its times spread, while those of A are all alike".into(),
        (Some(Direction::Less), _) => "its times are all alike, while those of A spread".into(),
        (None, _) => String::new(),
    }
}

/// The deepest quantile that differs beyond the shift.
fn tail_words(comparison: &Comparison, tail: Option<Direction>) -> String {
    let more = tail == Some(Direction::More);
    let deepest = comparison.quantiles.iter().rfind(|found| {
        let [low, high] = found.beyond_interval_ps;
        found.q >= 0.99 && if more { low > 0.0 } else { high < 0.0 }
    });
    let side = if more { "longer" } else { "shorter" };
    match deepest {
        Some(found) => {
            let [a, b] = both(found);
            format!("its tail is {side} ({} {b} instead of {a})", level_name(found.q))
        }
        None => format!("its tail is {side}"),
    }
}

/// The first sentence of all: of one comparison its own, of several how many differ.
pub fn verdict_of_all(series: &[SeriesAnswer]) -> String {
    let all: Vec<&FileAnswer> = series.iter().flat_map(|one| &one.comparisons).collect();
    if let [only] = all[..] {
        return only.verdict.clone();
    }
    if series.len() == 1 {
        return all.iter().map(|one| one.verdict.as_str()).collect::<Vec<_>>().join("\n");
    }
    let differs = |one: &&&FileAnswer| {
        let Change { shift, spread, tail, .. } = one.comparison.change;
        shift.is_some() || spread.is_some() || tail.is_some()
    };
    let count = all.iter().filter(differs).count();
    format!("{count} of {} comparisons show a difference that matters.", all.len())
}

pub fn say(answer: &Answer) -> String {
    let mut text = format!("{}\n", answer.verdict);
    if answer.synthetic {
        text.push_str("Some of the data are synthetic: drawn from a description, not measured.\n");
    }
    text.push('\n');
    for (letter, file) in ('A'..).zip(&answer.files) {
        text.push_str(&format!("  {letter}  {file}\n"));
    }
    for series in &answer.series {
        if answer.series.len() > 1 {
            text.push_str(&format!("\n{}\n", series.series));
        }
        for one in &series.comparisons {
            if answer.series.len() > 1 {
                text.push_str(&format!("{}\n", one.verdict));
            }
            text.push_str(&format!("\n{}\n{}", quantiles(one), tests(one)));
        }
        if let Some(all) = series.all_alike {
            text.push_str(&format!(
                "\nAll files together, by Anderson and Darling: statistic {}, p-value {}.\n",
                significant(all.statistic),
                table_p_value(all.p)
            ));
        }
    }
    for gate in &answer.gates {
        text.push_str(&format!("\n{}", self::gate(gate)));
    }
    if !answer.gates.is_empty() {
        text.push('\n');
    }
    text
}

fn quantiles(one: &FileAnswer) -> Table {
    let header =
        ["", "A", &one.letter.to_string(), "difference", "95 % interval", "in percent", "beyond the shift"];
    let mut table = Table::with_header(header);
    let comparison = &one.comparison;
    let [a, b] = comparison.min_ps;
    table.row([
        "minimum".into(),
        time(a),
        time(b),
        signed_time(b - a),
        String::new(),
        share(b - a, a),
        String::new(),
    ]);
    for found in &comparison.quantiles {
        table.row(row(found));
    }
    let mean = comparison.mean;
    let [a, b] = mean.values_ps;
    let interval = mean.interval_ps.map_or_else(String::new, interval);
    table.row([
        "mean".into(),
        time(a),
        time(b),
        signed_time(b - a),
        interval,
        share(b - a, a),
        String::new(),
    ]);
    table
}

/// Where a quantile lies outside the bins.
fn unknown() -> String {
    "–".into()
}

fn row(found: &Difference) -> [String; 7] {
    let [a, b] = both(found);
    [
        level_name(found.q),
        a,
        b,
        found.difference_ps.map_or_else(unknown, signed_time),
        interval(found.interval_ps),
        found.share().map_or_else(unknown, signed_percent),
        if found.q == 0.5 { String::new() } else { found.beyond_shift_ps.map_or_else(unknown, signed_time) },
    ]
}

fn share(difference: f64, base: f64) -> String {
    if base > 0.0 { signed_percent(difference / base) } else { String::new() }
}

fn interval([low, high]: [f64; 2]) -> String {
    format!("{} to {}", signed_time(low), signed_time(high))
}

/// Levels of Anderson and Darling's test are known within bounds only.
fn table_p_value(p: f64) -> String {
    match p {
        p if p <= 0.001 => "< 0.001".into(),
        p if p >= 0.25 => "> 0.25".into(),
        p => format!("{p:.3}"),
    }
}

fn tests(one: &FileAnswer) -> Table {
    let comparison = &one.comparison;
    let mut table = Table::with_header(["test", "size of the effect", "p-value"]).text(1);
    let ks = comparison.kolmogorov_smirnov;
    table.row(["Kolmogorov–Smirnov".into(), format!("distance {}", percent(ks.distance)), p_value(ks.p)]);
    let mw = comparison.mann_whitney;
    let longer =
        format!("{} longer in {} of pairs of trials ({})", one.letter, percent(mw.longer), effect(mw.delta));
    table.row(["Mann–Whitney".into(), longer, p_value(mw.p)]);
    if let Some(ad) = comparison.anderson_darling {
        table.row([
            "Anderson–Darling".into(),
            format!("statistic {}", significant(ad.statistic)),
            table_p_value(ad.p),
        ]);
    }
    if let Some(width) = comparison.width {
        let [low, high] = width.interval.map(significant);
        let text = format!("10 to 90 % is {} times as wide ({low} to {high})", significant(width.value));
        table.row(["spread".into(), text, String::new()]);
    }
    table
}

pub fn gate(gate: &GateAnswer) -> String {
    let judgement = &gate.judgement;
    let show = |value: f64| if judgement.is_share { signed_percent(value) } else { signed_time(value) };
    let [low, high] = judgement.interval.map(show);
    let outcome = match judgement.outcome {
        GateOutcome::Passed => "passed",
        GateOutcome::Undecided => "undecided, the limit is within the interval",
        GateOutcome::Tripped => "tripped",
    };
    format!(
        "{} of {} ({}): {outcome}: {}, between {low} and {high}",
        judgement.gate,
        gate.file,
        gate.series,
        show(judgement.value)
    )
}

/// Says so where quantiles lie outside the bins.
pub fn outside(series: &[SeriesAnswer]) -> Option<String> {
    let mut levels = series.iter().flat_map(|one| &one.comparisons).flat_map(|one| &one.comparison.quantiles);
    levels.any(|found| found.outside.iter().any(Option::is_some)).then(|| {
        "some quantiles lie outside the bins and are known by a bound only (> or <): measure with more or wider --bins"
            .into()
    })
}

/// What there is in each file, for a message.
pub fn series_of(groups: &[Vec<Group>]) -> String {
    let names = |groups: &Vec<Group>| {
        groups.iter().take(5).map(|group| group.labels.to_string()).collect::<Vec<_>>().join("; ")
    };
    let parts: Vec<String> =
        ('A'..).zip(groups).map(|(letter, groups)| format!("{letter} has {}", names(groups))).collect();
    parts.join(". ")
}
