//! A comparison as text.

use crate::latency::compare::{CompareAnswer, FileAnswer, GateAnswer, SeriesAnswer, tables};
use crate::latency::file::{LatencyFile, first_few};
use crate::latency::words::{both, signed_percent, signed_time};
use straggler_analysis::latency::compare::{Change, Difference, Direction, Ratio, SHIFT, Unknown};
use straggler_analysis::latency::gate::GateOutcome;
use straggler_analysis::latency::summary::level_name;
use straggler_analysis::latency::variation::LEAST_BLOCKS;
use straggler_analysis::latency::{Comparison, Group, Variation};
use straggler_model::latency::Outside;
use straggler_report::numbers::{grouped, is_factor, percent, significant};

/// One sentence about a file, named by its letter (the first file is A); a second one if something is unknown.
pub fn verdict(letter: char, comparison: &Comparison) -> String {
    let Change { shift, spread, tail, slight, too_few, unknown, .. } = comparison.change;
    let [first, second] = comparison.counts.map(grouped);
    let Some(median) = comparison.at(0.5).filter(|_| !too_few) else {
        return format!("There are too few trials for a verdict: A has {first}, {letter} has {second}.");
    };
    let [a, b] = both(median);
    if unknown.shift {
        return format!(
            "Unknown whether {letter} is faster or slower than A: the medians lie outside the bins ({a} \
             and {b}). Measure both again with more or wider --bins."
        );
    }
    let [low, high] = median.interval_ps.map(signed_time);
    let between = format!("the difference of the medians is between {low} and {high}");
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
                (false, None) if open.is_empty() => "; all its times are shifted alike".into(),
                (false, None) => String::new(),
            };
            let by = match median.share() {
                Some(more) if is_factor(more) => format!("{} times as high", significant(more + 1.0)),
                Some(share) => format!("{} {side}", percent(share.abs())),
                None => side.into(),
            };
            format!("{letter} is {what} than A: its median is {by} ({b} instead of {a}){rest}.")
        }
        (None, true) if median.is_sure() => {
            format!("{letter} has nearly the same median as A ({b} instead of {a}), but {spreads}.")
        }
        (None, true) => {
            format!("{letter} differs from A in spread: {spreads}. The medians are {a} and {b}; {between}.")
        }
        (None, false) if tail.is_some() => {
            let only = if open.is_empty() { "only " } else { "" };
            format!("{letter} differs from A {only}in the tail: {tails}; the medians are {a} and {b}.")
        }
        (None, false) if !open.is_empty() => {
            format!("The medians of A and {letter} do not differ beyond chance: {a} and {b}; {between}.")
        }
        (None, false) if slight && is_small(median) => format!(
            "{letter} hardly differs from A: the difference is real but small; the medians are {a} and {b}."
        ),
        (None, false) if slight => format!(
            "{letter} differs from A, but not surely in its median: the medians are {a} and {b}; {between}."
        ),
        (None, false) => format!(
            "A and {letter} are statistically indistinguishable: the medians are {a} and {b}; {between}."
        ),
    };
    let matters = shift.is_some() || spread.is_some() || tail.is_some();
    let runs = if matters { runs_words(comparison.variation) } else { String::new() };
    known + &open + &runs
}

/// Whether the medians surely differ by less than matters.
fn is_small(median: &Difference) -> bool {
    median.share_interval.iter().all(|share| share.abs() < 2.0 * SHIFT)
}

/// Warns if runs were merged without keeping them apart.
pub fn lost_runs(file: &LatencyFile) -> Option<String> {
    let (runs, kept) = (file.measurement.origins.len(), file.measurement.runs().next().is_some());
    (runs > 1 && !kept).then(|| {
        format!(
            "{}: its {runs} runs were merged by an older straggler, which did not keep them apart, so they count as \
             one: merge the original files again",
            file.name
        )
    })
}

/// Warns if too few runs were measured to know how much runs vary.
fn runs_words(variation: [Variation; 2]) -> String {
    if variation.iter().all(|one| one.between_runs) {
        return String::new();
    }
    let runs = match variation.map(|one| one.runs) {
        [1, 1] => "one run of each".into(),
        [first, second] => format!("{first} and {second} runs"),
    };
    format!(
        " With {runs}, this may be ordinary variation between runs: measure each at least {LEAST_BLOCKS} \
         times and merge the runs (`straggler latency merge`)."
    )
}

/// What is unknown because it lies outside the bins, and what to do about it.
fn unknown_words(unknown: Unknown) -> String {
    let what = match (unknown.spread, unknown.tail) {
        (true, true) => "their spreads and tails differ",
        (true, false) => "their spreads differ",
        (false, true) => "their tails differ",
        (false, false) => return String::new(),
    };
    format!(
        " Unknown whether {what}: they lie outside the bins. Measure both again with more or wider --bins."
    )
}

fn spread_words(comparison: &Comparison, spread: Option<Direction>) -> String {
    match (spread, comparison.width) {
        (Some(Direction::More), Some(Ratio { value: Some(wide), .. })) => {
            format!("its times spread {}", wider(wide))
        }
        (Some(Direction::More), Some(Ratio { ends: [least, _], .. })) => {
            format!("its times spread at least {}", wider(least))
        }
        (Some(Direction::Less), Some(Ratio { value: Some(wide), .. })) if wide > 0.0 => {
            format!("its times spread {}", wider(wide))
        }
        (Some(Direction::Less), Some(Ratio { value: None, ends: [_, most], .. })) => {
            format!("its times spread at least {}", wider(most))
        }
        (Some(Direction::More), None) => "its times vary, while those of A are all equal".into(),
        (Some(Direction::Less), _) => "its times are all equal, while those of A vary".into(),
        (None, _) => String::new(),
    }
}

/// A width relative to another: `3.40 times as wide`, `17 % more`, `10 % less`.
fn wider(times: f64) -> String {
    match times - 1.0 {
        more if is_factor(more) => format!("{} times as wide", significant(times)),
        more if more > 0.0 => format!("{} more", percent(more)),
        less => format!("{} less", percent(-less)),
    }
}

/// Describes the tail by the quantile at which it was found to differ.
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

/// The first sentence: the verdict of a single comparison, or how many of several differ.
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
        1 => " 1 is partly undecided: times lie outside the bins.".into(),
        several => format!(" {several} are partly undecided: times lie outside the bins."),
    };
    format!("{count} of {} comparisons show a difference that matters.{open}", all.len())
}

pub fn summary(answer: &CompareAnswer) -> String {
    let mut text = format!("{}\n", answer.verdict);
    if answer.synthetic {
        text.push_str("Some of the data is synthetic: drawn from a description, not measured.\n");
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
            text.push_str(&format!("\n{}\n{}", tables::quantiles(one), tables::tests(one)));
        }
        if let Some(all) = series.all_alike {
            text.push_str(&format!(
                "\nAll files together (Anderson–Darling): statistic {}, p-value {}.\n",
                significant(all.statistic),
                tables::table_p_value(all.p)
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

pub fn gate(gate: &GateAnswer) -> String {
    let judgement = &gate.judgement;
    let show = |value: f64| if judgement.is_share { signed_percent(value) } else { signed_time(value) };
    let [low, high] = judgement.interval.map(show);
    let outcome = match judgement.outcome {
        GateOutcome::Passed => "passed",
        GateOutcome::Undecided => "undecided, the limit lies within the interval",
        GateOutcome::Tripped => "tripped",
    };
    let value = judgement.value.map_or_else(String::new, |value| format!("{}, ", show(value)));
    let bounds =
        if judgement.value.is_none() { " (a bound: the quantile lies outside the bins)" } else { "" };
    let runs = match judgement.outcome {
        GateOutcome::Tripped if !gate.between_runs => {
            "; with fewer than 3 runs of each, this may be variation between runs"
        }
        _ => "",
    };
    format!(
        "{} of {} ({}): {outcome}: {value}between {low} and {high}{bounds}{runs}",
        judgement.gate, gate.file, gate.series
    )
}

/// Warns if the variation of times over a run is unknown.
pub fn few_cycles(series: &[SeriesAnswer]) -> Option<String> {
    let mut all = series.iter().flat_map(|one| &one.comparisons).flat_map(|one| &one.comparison.variation);
    all.any(|one| one.blocks == 0).then(|| {
        format!(
            "with fewer than {LEAST_BLOCKS} cycles the variation over a run is unknown: trials are assumed \
             independent, and intervals may be too narrow"
        )
    })
}

/// Warns if runs are too few for how much they differ.
pub fn few_runs(series: &[SeriesAnswer]) -> Option<String> {
    let mut all = series.iter().flat_map(|one| &one.comparisons);
    let few = |one: &FileAnswer| {
        let median = one.comparison.at(0.5)?;
        let sides = ['A', one.letter].into_iter().zip(one.comparison.variation).zip(median.few_runs);
        sides.filter(|(_, few)| *few).map(|((letter, variation), _)| (letter, variation.runs)).next()
    };
    let (letter, runs) = all.find_map(few)?;
    Some(format!(
        "the {runs} runs of {letter} are too few for how much they differ: intervals end where no run supports longer or \
         shorter times, and the next run may lie elsewhere; measure more runs"
    ))
}

/// Warns if quantiles lie outside the bins.
pub fn outside(series: &[SeriesAnswer]) -> Option<String> {
    let levels = series.iter().flat_map(|one| &one.comparisons).flat_map(|one| &one.comparison.quantiles);
    let outside: Vec<Outside> = levels.flat_map(|found| found.outside).flatten().collect();
    let above = outside.iter().any(|one| matches!(one, Outside::Above(_)));
    let below = outside.iter().any(|one| matches!(one, Outside::Below(_)));
    let advice = match (above, below) {
        (false, false) => return None,
        (true, false) => "measure with more or wider --bins",
        (false, true) => "these are shorter than the timer's cost, so time several operations at once",
        (true, true) => {
            "for long times measure with more or wider --bins; for times shorter than the timer's cost \
             time several operations at once"
        }
    };
    Some(format!("some quantiles lie outside the bins, so only a bound (> or <) is known: {advice}"))
}

/// The first few series.
pub fn names(groups: &[Group]) -> String {
    let names: Vec<String> = groups.iter().map(|group| group.labels.to_string()).collect();
    first_few(&names, 5)
}

/// The series of each file, for a message.
pub fn series_of(groups: &[Vec<Group>]) -> String {
    let parts: Vec<String> =
        ('A'..).zip(groups).map(|(letter, groups)| format!("{letter} has {}", names(groups))).collect();
    parts.join(". ")
}
