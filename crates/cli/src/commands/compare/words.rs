//! A comparison in words.

use super::{Answer, FileAnswer, GateAnswer, SeriesAnswer};
use straggler_analysis::latency::compare::{Change, Difference, Direction, Ratio, Unknown};
use straggler_analysis::latency::gate::GateOutcome;
use straggler_analysis::latency::summary::level_name;
use straggler_analysis::latency::variation::LEAST_BLOCKS;
use straggler_analysis::latency::{Comparison, Group, Variation};
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

/// One sentence about a file, which is called by its letter, the first is A; and a second one where something cannot be told.
pub fn verdict(letter: char, comparison: &Comparison) -> String {
    let Change { shift, spread, tail, slight, too_few, unknown, .. } = comparison.change;
    let [first, second] = comparison.counts.map(grouped);
    let Some(median) = comparison.at(0.5).filter(|_| !too_few) else {
        return format!("There are too few trials to tell: A has {first}, {letter} has {second}.");
    };
    let [a, b] = both(median);
    if unknown.shift {
        return format!(
            "It cannot be told whether {letter} is faster or slower than A: the medians lie outside the bins ({a} and {b}). \
             Measure both again with more or wider --bins."
        );
    }
    let spreads = spread_words(comparison, spread);
    let tails = tail_words(comparison, tail);
    let open = unknown_words(unknown);
    let known = match (shift, spread.is_some()) {
        (Some(direction), is_wider) => {
            let (what, side) = match direction {
                Direction::More => ("slower", "higher"),
                Direction::Less => ("faster", "lower"),
            };
            let rest = match (is_wider, tail) {
                (true, _) => format!(", and {spreads}"),
                (false, Some(_)) => format!(", and {tails}"),
                (false, None) if open.is_empty() => "; its times are shifted as a whole".into(),
                (false, None) => String::new(),
            };
            let by = median.share().map_or_else(String::new, |share| format!("{} ", percent(share.abs())));
            format!("{letter} is {what} than A: its median is {by}{side} ({b} instead of {a}){rest}.")
        }
        (None, true) => format!("{letter} has the median of A ({a}), but {spreads}."),
        (None, false) if tail.is_some() => {
            let only = if open.is_empty() { "only " } else { "" };
            format!("{letter} differs from A {only}in the tail: {tails}; the medians are {a} and {b}.")
        }
        (None, false) if !open.is_empty() => {
            format!("The medians of A and {letter} do not differ: {a} and {b}.")
        }
        (None, false) if slight => format!(
            "{letter} hardly differs from A: there is a difference, but a small one; the medians are {a} and {b}."
        ),
        (None, false) => {
            format!("No difference between A and {letter} beyond chance: the medians are {a} and {b}.")
        }
    };
    let matters = shift.is_some() || spread.is_some() || tail.is_some();
    let runs = if matters { runs_words(comparison.variation) } else { String::new() };
    known + &open + &runs
}

/// What one run of each leaves open.
fn runs_words(variation: [Variation; 2]) -> String {
    if variation.iter().all(|one| one.between_runs) {
        return String::new();
    }
    let runs = match variation.map(|one| one.runs) {
        [1, 1] => "one run of each".into(),
        [first, second] => format!("{first} and {second} runs"),
    };
    format!(
        " With {runs}, this may be no more than runs differ by: measure each at least {LEAST_BLOCKS} times and merge the runs \
         (`straggler measure merge`)."
    )
}

/// What lies outside the bins, and what to do about it.
fn unknown_words(unknown: Unknown) -> String {
    let what = match (unknown.spread, unknown.tail) {
        (true, true) => "their spread and their tails differ",
        (true, false) => "their spread differs",
        (false, true) => "their tails differ",
        (false, false) => return String::new(),
    };
    format!(
        " Whether {what} cannot be told: it lies outside the bins. Measure both again with more or wider --bins."
    )
}

fn spread_words(comparison: &Comparison, spread: Option<Direction>) -> String {
    match (spread, comparison.width) {
        (Some(Direction::More), Some(Ratio { value: Some(wide), .. })) => {
            format!("its times spread {} times as wide", significant(wide))
        }
        (Some(Direction::More), Some(Ratio { ends: [least, _], .. })) => {
            format!("its times spread at least {} times as wide", significant(least))
        }
        (Some(Direction::Less), Some(Ratio { value: Some(wide), .. })) if wide > 0.0 => {
            format!("its times spread only {} times as wide", significant(wide))
        }
        (Some(Direction::Less), Some(Ratio { value: None, ends: [_, most], .. })) => {
            format!("its times spread at most {} times as wide", significant(most))
        }
        (Some(Direction::More), None) => "its times spread, while those of A are all alike".into(),
        (Some(Direction::Less), _) => "its times are all alike, while those of A spread".into(),
        (None, _) => String::new(),
    }
}

/// By the quantile that decided that the tail differs.
fn tail_words(comparison: &Comparison, tail: Option<Direction>) -> String {
    let side = if tail == Some(Direction::More) { "longer" } else { "shorter" };
    match comparison.change.tail_at.and_then(|q| comparison.at(q)) {
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
    let is_open = |one: &&&FileAnswer| one.comparison.change.unknown != Unknown::default();
    let open = match all.iter().filter(is_open).count() {
        0 => String::new(),
        1 => " Of 1, not all can be told: times lie outside the bins.".into(),
        several => format!(" Of {several}, not all can be told: times lie outside the bins."),
    };
    format!("{count} of {} comparisons show a difference that matters.{open}", all.len())
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
        let wide = width.value.map_or_else(unknown, significant);
        let text = format!("10 to 90 % is {wide} times as wide ({low} to {high})");
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
    let value = judgement.value.map_or_else(String::new, |value| format!("{}, ", show(value)));
    let bounds =
        if judgement.value.is_none() { " (by a bound: the quantile lies outside the bins)" } else { "" };
    let runs = match judgement.outcome {
        GateOutcome::Tripped if !gate.between_runs => "; without 3 runs of each, runs may differ by as much",
        _ => "",
    };
    format!(
        "{} of {} ({}): {outcome}: {value}between {low} and {high}{bounds}{runs}",
        judgement.gate, gate.file, gate.series
    )
}

/// Says so where nothing is known of how times vary over a run.
pub fn few_cycles(series: &[SeriesAnswer]) -> Option<String> {
    let mut all = series.iter().flat_map(|one| &one.comparisons).flat_map(|one| &one.comparison.variation);
    all.any(|one| one.blocks == 0).then(|| {
        format!(
            "with less than {LEAST_BLOCKS} cycles it is not known how times vary over a run: trials are taken as independent, \
             and intervals may be too narrow"
        )
    })
}

/// Says so where quantiles lie outside the bins.
pub fn outside(series: &[SeriesAnswer]) -> Option<String> {
    let levels = series.iter().flat_map(|one| &one.comparisons).flat_map(|one| &one.comparison.quantiles);
    let outside: Vec<Outside> = levels.flat_map(|found| found.outside).flatten().collect();
    let above = outside.iter().any(|one| matches!(one, Outside::Above(_)));
    let below = outside.iter().any(|one| matches!(one, Outside::Below(_)));
    let advice = match (above, below) {
        (false, false) => return None,
        (true, false) => "measure with more or wider --bins",
        (false, true) => "those are shorter than the timer's cost, time several operations at once",
        (true, true) => {
            "measure with more or wider --bins what is longer, and time several operations at once where they are shorter than \
             the timer's cost"
        }
    };
    Some(format!("some quantiles lie outside the bins and are known by a bound only (> or <): {advice}"))
}

/// The first few of a list, and how many more there are.
pub fn first_few(names: &[String], most: usize) -> String {
    let shown = names[..names.len().min(most)].join("; ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown}; … and {more} more"),
    }
}

/// The first few series.
pub fn names(groups: &[Group]) -> String {
    let names: Vec<String> = groups.iter().map(|group| group.labels.to_string()).collect();
    first_few(&names, 5)
}

/// What there is in each file, for a message.
pub fn series_of(groups: &[Vec<Group>]) -> String {
    let parts: Vec<String> =
        ('A'..).zip(groups).map(|(letter, groups)| format!("{letter} has {}", names(groups))).collect();
    parts.join(". ")
}
