//! The page of a comparison: densities, distributions and tails of all files, and the tables.

use super::words::{p_value, quantile, signed_percent, signed_time};
use super::{Answer, SeriesAnswer, Set};
use crate::commands::latency_charts::{self, Named};
use crate::commands::latency_file::LatencyFile;
use crate::commands::{command_line, report};
use straggler_analysis::latency::summary::level_name;
use straggler_report::numbers::percent;
use straggler_report::page::{Cell, Page, Section, Table};

pub fn page(answer: &Answer, files: &[LatencyFile], sets: &[Set]) -> Page {
    let command = command_line();
    let sections =
        answer.series.iter().zip(sets).map(|(series, set)| section(answer, series, set, files, &command));
    let summary: Vec<String> = answer.verdict.lines().map(String::from).collect();
    let mut page = report::page("Latencies compared", summary, sections.collect());
    page.warnings.clone_from(&answer.warnings);
    page
}

fn section(
    answer: &Answer,
    series: &SeriesAnswer,
    set: &Set,
    files: &[LatencyFile],
    command: &str,
) -> Section {
    let mut section = Section::new(&series.series);
    section.text.extend(('A'..).zip(files).map(|(letter, file)| format!("{letter} is {}.", file.name)));
    section.text.extend(series.comparisons.iter().map(|one| one.verdict.clone()));
    let named: Vec<Named<'_>> = ('A'..)
        .zip(&set.distributions)
        .map(|(letter, distribution)| Named { name: letter.to_string(), distribution })
        .collect();
    section.add(latency_charts::density(&named, command, answer.synthetic));
    section.add(latency_charts::distribution(&named, command, answer.synthetic));
    section.add(latency_charts::tail(&named, None, command, answer.synthetic));
    for one in &series.comparisons {
        let letter = one.letter.to_string();
        let columns =
            ["quantile", "#A", &format!("#{letter}"), "#difference", "95 % interval", "#in percent"];
        let mut table = Table::new(format!("Quantiles of A and {letter}"), &columns);
        table.command = command.into();
        for found in &one.comparison.quantiles {
            let known = |text: String, value: Option<f64>| match value {
                Some(value) => Cell::number(text, value),
                None => Cell::text(text),
            };
            let [a, b] = [0, 1].map(|side| {
                let value = found.values_ps[side];
                known(quantile(value, found.outside[side]), value)
            });
            let [low, high] = found.interval_ps.map(signed_time);
            let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".into());
            let difference = known(or_dash(found.difference_ps.map(signed_time)), found.difference_ps);
            let share = known(or_dash(found.share().map(signed_percent)), found.share());
            let interval = Cell::text(format!("{low} to {high}"));
            table.row([Cell::text(level_name(found.q)), a, b, difference, interval, share]);
        }
        let (ks, mw) = (one.comparison.kolmogorov_smirnov, one.comparison.mann_whitney);
        table.note = format!(
            "Kolmogorov–Smirnov: distance {}, p-value {}. Mann–Whitney: {letter} is longer in {} of pairs of trials, p-value {}.",
            percent(ks.distance),
            p_value(ks.p),
            percent(mw.longer),
            p_value(mw.p)
        );
        section.add(table);
    }
    section
}
