//! The tables of a comparison, for the terminal and for the page.

use crate::kernel::invocation::command_line;
use crate::kernel::pages;
use crate::latency::compare::{CompareAnswer, FileAnswer, SeriesAnswer, Set};
use crate::latency::file::LatencyFile;
use crate::latency::page as latency_page;
use crate::latency::page::Named;
use crate::latency::words::{SECONDS, p_value, quantile_cell, signed_time, time_cell};
use straggler_analysis::latency::compare::Difference;
use straggler_analysis::latency::summary::level_name;
use straggler_report::numbers::{percent, significant};
use straggler_report::page::{Page, Section};
use straggler_report::{Cell, Columns, Table};

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

pub fn quantiles(one: &FileAnswer) -> Table {
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
pub fn table_p_value(p: f64) -> String {
    match p {
        p if p <= 0.001 => "< 0.001".into(),
        p if p >= 0.25 => "> 0.25".into(),
        p => format!("{p:.3}"),
    }
}

pub fn tests(one: &FileAnswer) -> Table {
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
