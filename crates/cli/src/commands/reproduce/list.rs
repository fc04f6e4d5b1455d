//! `straggler reproduce --list`.

use super::Size;
use super::catalogue::{ENTRIES, NOT_SIMULATED, PAPERS};
use crate::console::Console;
use crate::exit::Outcome;
use serde::Serialize;
use straggler_report::numbers::grouped;
use straggler_report::{Cell, Columns};

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    figure: String,
    title: String,
    quick_messages: u64,
    full_messages: u64,
    full_runs: u64,
}

#[derive(Serialize)]
struct List {
    reproductions: Vec<Listed>,
    not_simulated: [&'static str; 5],
}

pub fn run(console: &Console) -> Outcome<()> {
    let mut reproductions = Vec::new();
    for entry in ENTRIES {
        let description = entry.description()?;
        let (quick, full) = (entry.work(Size::Quick)?, entry.work(Size::Full)?);
        reproductions.push(Listed {
            name: entry.name,
            figure: description.figure,
            title: description.title,
            quick_messages: quick.messages,
            full_messages: full.messages,
            full_runs: full.runs,
        });
    }
    let list = List { reproductions, not_simulated: NOT_SIMULATED };
    if console.json {
        return console.print_json(&list);
    }
    let table = Columns::over(&list.reproductions)
        .text("name", |row| row.name)
        .text("figure", |row| &row.figure)
        .text("what", |row| &row.title)
        .number("messages, quick", |row| millions(row.quick_messages))
        .number("full", |row| millions(row.full_messages))
        .number("runs, full", |row| Cell::count(row.full_runs))
        .build();
    let papers = Columns::over(PAPERS).text("", |(name, paper)| format!("{name}  {paper}")).build();
    let missing = Columns::over(NOT_SIMULATED).text("", |line| line).build();
    let count = ENTRIES.len();
    console.print(&format!(
        "{count} figures and tables can be simulated; two cores simulate 10 to 20 million messages per \
         second.\n\n{table}\n{papers}\nNot simulated:\n{missing}"
    ))
}

/// 40,265 M, or the number itself where it is small.
fn millions(messages: u64) -> String {
    if messages < 10_000_000 { grouped(messages) } else { format!("{} M", grouped(messages / 1_000_000)) }
}
