//! The page of a comparison: densities, distributions and tails of all files, and the tables.

use super::{CompareAnswer, SeriesAnswer, Set, tables};
use crate::inputs::latency_file::LatencyFile;
use crate::invocation::command_line;
use crate::pages;
use crate::pages::latency::{self, Named};
use straggler_report::page::{Page, Section};

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
    section.add(latency::density(&named, command, answer.synthetic));
    section.add(latency::distribution(&named, command, answer.synthetic));
    section.add(latency::tail(&named, None, command, answer.synthetic));
    for one in &series.comparisons {
        let letter = one.letter;
        section.add(tables::quantiles(one).titled(format!("Quantiles of A and {letter}"), command));
        section.add(tables::tests(one).titled(format!("Tests of A and {letter}"), command));
    }
    section
}
