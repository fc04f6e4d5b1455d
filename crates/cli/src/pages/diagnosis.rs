//! The page of a diagnosis.

use crate::answers::diagnosis::{DiagnosisAnswer, tables, words};
use crate::exit::Outcome;
use crate::inputs::latency_file;
use crate::invocation::command_line;
use crate::pages;
use crate::pages::latency::{self, Named};
use std::path::Path;
use straggler_analysis::latency::diagnose::GroupFound;
use straggler_analysis::latency::{Diagnosis, Distribution, Group};
use straggler_report::numbers::counted;
use straggler_report::page::{Page, Section};

/// The page of one latency file, for a report on several results.
pub fn page_of_file(path: &Path) -> Outcome<Page> {
    let file = latency_file::read(path, None)?;
    let groups = latency_file::groups(&file, None)?;
    let answer = DiagnosisAnswer::of(&file, Diagnosis::of(&file.measurement, &groups, None), false);
    let mut page = page(&answer, &groups);
    page.title = format!("Latencies of {}", file.name);
    Ok(page)
}

pub fn page(answer: &DiagnosisAnswer, groups: &[Group]) -> Page {
    let command = command_line();
    let mut summary = vec![answer.verdict.clone()];
    summary.extend(answer.hints.iter().skip(1).map(|hint| hint.says.clone()));
    let sections =
        answer.groups.iter().map(|found| section(answer, found, group_of(found, groups), &command));
    let mut page = pages::page(format!("Latencies of {}", answer.file), summary, sections.collect());
    page.warnings.clone_from(&answer.warnings);
    page
}

fn section(answer: &DiagnosisAnswer, found: &GroupFound, group: Option<&Group>, command: &str) -> Section {
    let mut section = Section::new(&found.name);
    for hint in answer.hints.iter().filter(|hint| hint.series == found.name) {
        section.text.push(hint.says.clone());
        section.text.extend(hint.evidence.iter().cloned());
    }
    section.text.push(format!("Over time: {}.", words::steadiness(found)));
    section.text.push(format!("Trials: {}.", words::shape(&found.trials)));
    section
        .text
        .extend(found.minima.as_ref().map(|minima| format!("Minima of cycles: {}.", words::shape(minima))));
    section.text.extend(found.ranks.as_ref().map(|ranks| format!("Ranks: {}.", words::slowest(ranks))));
    if let Some(group) = group {
        charts(&mut section, answer, found, group, command);
    }
    section.add(tables::summary(&found.trials, found.minima.as_ref()).titled("Quantiles", command));
    section
        .blocks
        .extend(found.ranks.as_ref().map(|ranks| tables::ranks(ranks).titled("Ranks", command).into()));
    for (title, list) in [("Modes", &found.modes), ("Modes of the minima of cycles", &found.minima_modes)] {
        if list.len() > 1 {
            section.add(tables::modes("centre", list).titled(title, command));
        }
    }
    if let Some(fits) = &found.fits {
        let note = "The distance of a sample of the family from its own fit stays below the one by chance in 99 of \
                    100 cases.";
        section.add(tables::fits(fits).titled("Fitted distributions", command).with_note(note));
    }
    section
}

/// Fewer minima are too few for a density.
const LEAST_MINIMA: u64 = 30;

fn charts(section: &mut Section, answer: &DiagnosisAnswer, found: &GroupFound, group: &Group, command: &str) {
    let trials = Distribution::of(&group.all.trials);
    let minima = Distribution::of_sorted(&group.all.minima);
    let drawn = minima.filter(|minima| minima.count() >= LEAST_MINIMA);
    if drawn.is_none() && !group.all.minima.is_empty() {
        section.text.push(format!(
            "The minima of {} are too few to draw: {LEAST_MINIMA} are needed.",
            counted(group.all.minima.len() as u64, "cycle", "cycles")
        ));
    }
    let minima = drawn;
    let named = |distribution, name: &str| Named { name: name.into(), distribution };
    let all: Vec<Named<'_>> = [
        trials.as_ref().map(|one| named(one, "all trials")),
        minima.as_ref().map(|one| named(one, "minima of cycles")),
    ]
    .into_iter()
    .flatten()
    .collect();
    section.add(latency::density(&all, command, answer.synthetic));
    section.add(latency::distribution(&all, command, answer.synthetic));
    section.add(latency::tail(&all, found.noise.as_ref(), command, answer.synthetic));
    if let Some(pairs) = &found.pairs {
        section.add(latency::heat(pairs, command, answer.synthetic));
    }
    section.blocks.extend(latency::cycles(&group.cycles, command, answer.synthetic).map(Into::into));
}

/// The group that a result belongs to.
fn group_of<'a>(found: &GroupFound, groups: &'a [Group]) -> Option<&'a Group> {
    groups.iter().find(|group| group.labels == found.labels)
}
