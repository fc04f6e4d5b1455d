//! A comparison as text: sentences, and the tables of the terminal and of the page.

use crate::kernel::prelude::*;
use crate::latency::compare::{CompareAnswer, FileAnswer, GateAnswer, SeriesAnswer, Set};
use crate::latency::file::{LatencyFile, first_few};
use crate::latency::words::{SECONDS, both, p_value, quantile_cell, signed_percent, signed_time, time_cell};
use crate::{latency::page as latency_page, latency::page::Named};
use straggler_analysis::latency::compare::{Change, Difference, Direction, Ratio, SHIFT, Unknown};
use straggler_analysis::latency::{
    Comparison, Group, Variation, gate::GateOutcome, summary::level_name, variation::LEAST_BLOCKS,
};
use straggler_model::latency::Outside;
use straggler_report::numbers::is_factor;

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
            text.push_str(&format!("\n{}\n{}", quantiles(one), tests(one)));
        }
        if let Some(all) = series.all_alike {
            text.push_str(&format!(
                "\nAll files together (Anderson–Darling): statistic {}, p-value {}.\n",
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

/// Shown if a quantile lies outside the bins.
const UNKNOWN: &str = "–";

/// A quantile of two files, or their minimum or mean.
struct Row {
    name: String,
    values: [Cell; 2],
    difference: Cell,
    interval: Option<[f64; 2]>,
    share: Cell,
    beyond_shift: Cell,
}

impl Row {
    /// A row of values that do not depend on the bins.
    fn known(name: &str, [a, b]: [f64; 2], interval: Option<[f64; 2]>) -> Row {
        Row {
            name: name.into(),
            values: [a, b].map(time_cell),
            difference: difference(b - a),
            interval,
            share: (a > 0.0).then(|| Cell::slowdown((b - a) / a)).into(),
            beyond_shift: Cell::default(),
        }
    }

    fn quantile(found: &Difference) -> Row {
        let or_unknown = |cell: Option<Cell>| cell.unwrap_or_else(|| UNKNOWN.into());
        let beyond_shift = match found.q {
            0.5 => Cell::default(),
            _ => or_unknown(found.beyond_shift_ps.map(difference)),
        };
        Row {
            name: level_name(found.q),
            values: [0, 1].map(|side| quantile_cell(found.values_ps[side], found.outside[side])),
            difference: or_unknown(found.difference_ps.map(difference)),
            interval: Some(found.interval_ps),
            share: or_unknown(found.share().map(Cell::slowdown)),
            beyond_shift,
        }
    }
}

fn difference(ps: f64) -> Cell {
    Cell::number(signed_time(ps), ps * SECONDS)
}

fn interval([low, high]: [f64; 2]) -> String {
    format!("{} to {}", signed_time(low), signed_time(high))
}

fn quantiles(one: &FileAnswer) -> Table {
    let comparison = &one.comparison;
    let mean = comparison.mean;
    let mut rows = vec![Row::known("minimum", comparison.min_ps, None)];
    rows.extend(comparison.quantiles.iter().map(Row::quantile));
    rows.push(Row::known("mean", mean.values_ps, mean.interval_ps));
    Columns::over(&rows)
        .text("", |row| &row.name)
        .on_page_called("quantile")
        .number("A", |row| row.values[0].clone())
        .number(one.letter, |row| row.values[1].clone())
        .number("difference", |row| row.difference.clone())
        .number("95 % interval", |row| row.interval.map(interval))
        .number("relative", |row| row.share.clone())
        .number("beyond the shift", |row| row.beyond_shift.clone())
        .build()
}

/// Romano's terms for Cliff's delta.
fn effect(delta: f64) -> &'static str {
    match delta.abs() {
        size if size < 0.147 => "negligible",
        size if size < 0.33 => "small",
        size if size < 0.474 => "medium",
        _ => "large",
    }
}

/// P-values of Anderson and Darling's test are known only within bounds.
fn table_p_value(p: f64) -> String {
    match p {
        p if p <= 0.001 => "< 0.001".into(),
        p if p >= 0.25 => "> 0.25".into(),
        p => format!("{p:.3}"),
    }
}

fn tests(one: &FileAnswer) -> Table {
    let comparison = &one.comparison;
    let mut table = Table::new("", &["test", "effect size", "#p-value"]);
    let mut row = |name: &str, effect: String, p: Cell| table.row([name.into(), effect.into(), p]);
    let ks = comparison.kolmogorov_smirnov;
    row(
        "Kolmogorov–Smirnov",
        format!("distance {}", percent(ks.distance)),
        Cell::number(p_value(ks.p), ks.p),
    );
    let mw = comparison.mann_whitney;
    let longer = format!(
        "{} longer in {} of the pairs of trials ({})",
        one.letter,
        percent(mw.longer),
        effect(mw.delta)
    );
    row("Mann–Whitney", longer, Cell::number(p_value(mw.p), mw.p));
    if let Some(ad) = comparison.anderson_darling {
        let statistic = format!("statistic {}", significant(ad.statistic));
        row("Anderson–Darling", statistic, Cell::number(table_p_value(ad.p), ad.p));
    }
    if let Some(width) = comparison.width {
        let [low, high] = width.interval.map(significant);
        let wide = width.value.map_or_else(|| UNKNOWN.into(), significant);
        row("spread", format!("10 to 90 % is {wide} times as wide ({low} to {high})"), Cell::default());
    }
    table
}

pub fn page(answer: &CompareAnswer, files: &[LatencyFile], sets: &[Set]) -> Page {
    let command = command_line();
    let sections =
        answer.series.iter().zip(sets).map(|(series, set)| section(answer, series, set, files, &command));
    let summary: Vec<String> = answer.verdict.lines().map(String::from).collect();
    let mut page = pages::page("Latencies compared", summary, sections.collect());
    page.warnings.clone_from(&answer.warnings);
    page
}

fn section(
    answer: &CompareAnswer,
    series: &SeriesAnswer,
    set: &Set,
    files: &[LatencyFile],
    command: &str,
) -> Section {
    let mut section = Section::new(&series.series);
    section.text.extend(('A'..).zip(files).map(|(letter, file)| format!("{letter} is {}.", file.name)));
    // The verdicts of a single series are the summary.
    if answer.series.len() > 1 {
        section.text.extend(series.comparisons.iter().map(|one| one.verdict.clone()));
    }
    let named: Vec<Named<'_>> = ('A'..)
        .zip(&set.distributions)
        .map(|(letter, distribution)| Named { name: letter.to_string(), distribution })
        .collect();
    section.add(latency_page::density(&named, command, answer.synthetic));
    section.add(latency_page::distribution(&named, command, answer.synthetic));
    section.add(latency_page::tail(&named, None, command, answer.synthetic));
    for one in &series.comparisons {
        let letter = one.letter;
        section.add(quantiles(one).titled(format!("Quantiles of A and {letter}"), command));
        section.add(tests(one).titled(format!("Tests of A and {letter}"), command));
    }
    section
}
