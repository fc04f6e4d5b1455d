//! `straggler report`: combines results of all kinds into one page.

use crate::args::report::Report;
use crate::console::Console;
use crate::exit::Outcome;
use crate::interrupt;
use crate::pages::{self, Search, Skipped};
use crate::plan::valid::Valid;
use serde::Serialize;
use straggler_report::numbers::{counted, memory};

pub fn run(typed: &Valid<Report>, seed: u64, console: &Console) -> Outcome<()> {
    let found = Search::of(&typed.inputs)?;
    let (page, skipped) = found.page(typed.title.as_deref(), seed)?;
    interrupt::check()?;
    let bytes = pages::write(&typed.output, &page)?;
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
        console.note(&format!("skipped: {}: {}", skipped.file, skipped.why));
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

fn say(answer: &ReportAnswer) -> String {
    let (charts, sections) =
        (counted(answer.charts, "chart", "charts"), counted(answer.sections, "section", "sections"));
    format!("{}: {charts} in {sections}, {}. Open it in a browser.\n", answer.report, memory(answer.bytes))
}
