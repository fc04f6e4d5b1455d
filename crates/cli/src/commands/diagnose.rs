//! `straggler diagnose`: what the shape of measured latencies hints at.

mod hints;
mod noise_doubts;
mod page;
mod switches;
mod words;

use super::latency_file::{self, LatencyFile};
use super::noise_file;
use super::{refuse_missing_folder, report};
use crate::args::diagnose::Diagnose;
use crate::console::Console;
use crate::exit::Outcome;
use hints::Told;
use serde::Serialize;
use std::path::Path;
use straggler_analysis::latency::diagnose::GroupFound;
use straggler_analysis::latency::{Diagnosis, Group};
use straggler_model::noise::format::FormatOptions;
use straggler_report::page::Page;

pub fn run(typed: &Diagnose, console: &Console) -> Outcome<()> {
    typed.report.report.iter().try_for_each(|path| refuse_missing_folder(path))?;
    let mut file = latency_file::read(&typed.file, typed.unit)?;
    if let Some(path) = &typed.topology {
        switches::lay_over(path, &mut file)?;
    }
    let groups = latency_file::groups(&file, typed.series.as_deref())?;
    let noise = match &typed.with_noise {
        Some(path) => Some(noise_file::read(path, None, &FormatOptions::default())?),
        None => None,
    };
    let diagnosis = Diagnosis::of(&file.measurement, &groups, noise.as_ref().map(|noise| &noise.recording));
    let mut answer = Answer::of(&file, diagnosis, noise.is_some());
    answer.warnings.extend(noise.iter().flat_map(|noise| noise.warnings.clone()));
    let doubts = noise.iter().flat_map(|noise| noise_doubts::of(&file.measurement, &noise.recording));
    answer.warnings.extend(doubts.map(|doubt| format!("--with-noise: {doubt}")));
    let without: Vec<String> = answer.groups.iter().filter_map(words::no_noise).collect();
    answer.warnings.extend(without);
    report::write_asked(typed.report.report.as_ref(), console, || page::page(&answer, &groups))?;
    if console.json {
        return console.print_json(&answer);
    }
    answer.warnings.iter().for_each(|warning| console.warn(warning));
    console.print(&words::say(&answer))
}

/// The page of a file among other results.
pub fn page_of_file(path: &Path) -> Outcome<Page> {
    let file = latency_file::read(path, None)?;
    let groups = latency_file::groups(&file, None)?;
    let answer = Answer::of(&file, Diagnosis::of(&file.measurement, &groups, None), false);
    let mut page = page::page(&answer, &groups);
    page.title = format!("Latencies of {}", file.name);
    Ok(page)
}

#[derive(Serialize)]
pub struct Answer {
    pub file: String,
    pub kernel: String,
    pub synthetic: bool,
    pub verdict: String,
    /// In words, with their evidence.
    pub hints: Vec<Told>,
    pub groups: Vec<GroupFound>,
    pub warnings: Vec<String>,
}

impl Answer {
    fn of(file: &LatencyFile, diagnosis: Diagnosis, with_noise: bool) -> Answer {
        let hints: Vec<Told> =
            diagnosis.hints.iter().map(|hint| hints::tell(hint, &diagnosis.groups, with_noise)).collect();
        let mut warnings = file.warnings.clone();
        warnings.extend(diagnosis.empty.iter().map(|name| format!("{name}: not a single trial")));
        for group in &diagnosis.groups {
            warnings.extend(words::doubts(group));
        }
        Answer {
            file: file.name.clone(),
            kernel: file.measurement.kernel.clone(),
            synthetic: file.measurement.is_synthetic(),
            verdict: words::verdict(&hints, &diagnosis.groups),
            hints,
            groups: diagnosis.groups,
            warnings,
        }
    }
}

/// The group that belongs to what was found of it.
fn group_of<'a>(found: &GroupFound, groups: &'a [Group]) -> Option<&'a Group> {
    groups.iter().find(|group| group.labels == found.labels)
}
