//! `straggler report`: results of all kinds become one page. Also what other commands need to write a page
//! of their own results.

mod finish_times;
mod noise;
mod readers;
mod search;
mod timeline;

pub use finish_times::section as finish_times_section;
pub use noise::{Subject as NoiseSubject, is_synthetic};
pub use search::Search;
pub use timeline::chart as timeline_chart;

use crate::args::report::Report;
use crate::commands::{command_line, refuse_unwritable};
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use crate::interrupt;
use serde::Serialize;
use std::path::{Path, PathBuf};
use straggler_report::numbers::{counted, memory};
use straggler_report::page::{Facts, Page, Section};
use straggler_report::replace_file;

pub fn run(typed: &Report, seed: u64, console: &Console) -> Outcome<()> {
    refuse_unwritable(&typed.output)?;
    let found = Search::of(&typed.inputs)?;
    let (page, skipped) = found.page(typed.title.as_deref(), seed)?;
    interrupt::check()?;
    let bytes = write(&typed.output, &page)?;
    let answer = ReportAnswer {
        report: typed.output.display().to_string(),
        bytes,
        sections: page.sections.len() as u64,
        charts: page.charts().count() as u64,
        skipped,
        warnings: page.warnings,
    };
    if console.json {
        return console.print_json(&answer);
    }
    answer.warnings.iter().for_each(|warning| console.warn(warning));
    for skipped in &answer.skipped {
        console.note(&format!("left out: {}: {}", skipped.file, skipped.why));
    }
    console.print(&say(&answer))
}

#[derive(Serialize)]
struct ReportAnswer {
    report: String,
    bytes: u64,
    sections: u64,
    charts: u64,
    skipped: Vec<Skipped>,
    warnings: Vec<String>,
}

/// A file that is not in the page, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    pub file: String,
    pub why: String,
}

fn say(answer: &ReportAnswer) -> String {
    let (charts, sections) =
        (counted(answer.charts, "chart", "charts"), counted(answer.sections, "section", "sections"));
    format!("{}: {charts} in {sections}, {}. Open it in a browser.\n", answer.report, memory(answer.bytes))
}

/// Writes a page, whole or not at all: HTML, or only its data where the name ends with `.page`.
pub fn write(path: &Path, page: &Page) -> Outcome<u64> {
    let bytes = match path.extension().is_some_and(|end| end.eq_ignore_ascii_case("page")) {
        true => page.to_container(),
        false => page.to_html().into_bytes(),
    };
    interrupt::or_interrupted(replace_file(path, |out| out.write_all(&bytes)))?;
    Ok(bytes.len() as u64)
}

/// Writes the page of a command's results where it was asked for, and says so.
pub fn write_asked(path: Option<&PathBuf>, console: &Console, page: impl FnOnce() -> Page) -> Outcome<()> {
    let Some(path) = path else { return Ok(()) };
    write(path, &page())?;
    console.note(&format!("The report is in {}", path.display()));
    Ok(())
}

/// A page of what this command found.
pub fn page(title: impl Into<String>, summary: Vec<String>, sections: Vec<Section>) -> Page {
    let facts = Facts::of_program(env!("CARGO_PKG_VERSION"), &command_line());
    Page { title: title.into(), summary, facts, warnings: Vec::new(), sections }
}

/// Text for a terminal as paragraphs.
pub fn paragraphs(text: &str) -> Vec<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(String::from).collect()
}

/// What to say where nothing was found.
fn nothing(inputs: &[PathBuf], skipped: &[Skipped]) -> Failure {
    let names: Vec<String> = inputs.iter().map(|path| path.display().to_string()).collect();
    let skipped: String =
        skipped.iter().take(5).map(|skipped| format!("\n  {}: {}", skipped.file, skipped.why)).collect();
    Failure::bad_input(format!(
        "{}: no results are there. Understood are .page files, noise recordings, latencies (.lat), results of `study run`, timelines of `simulate \
         --timeline` and finish times of `simulate --finish-times`{skipped}",
        names.join(", ")
    ))
}
