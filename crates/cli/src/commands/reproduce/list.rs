//! `straggler reproduce --list`.

use super::Size;
use super::catalogue::{ENTRIES, NOT_SIMULATED, PAPERS};
use crate::console::Console;
use crate::exit::Outcome;
use serde::Serialize;
use straggler_report::Table;
use straggler_report::numbers::grouped;

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
    let mut table = Table::with_header(["name", "figure", "what", "messages, quick", "full", "runs, full"])
        .text(0)
        .text(1)
        .text(2);
    for one in &list.reproductions {
        let (quick, full) = (millions(one.quick_messages), millions(one.full_messages));
        table.row([
            one.name.into(),
            one.figure.clone(),
            one.title.clone(),
            quick,
            full,
            grouped(one.full_runs),
        ]);
    }
    let papers = PAPERS.iter().map(|(name, paper)| format!("  {name}  {paper}\n")).collect::<String>();
    let missing = NOT_SIMULATED.iter().map(|line| format!("  {line}\n")).collect::<String>();
    let count = ENTRIES.len();
    console.print(&format!(
        "{count} figures and tables can be simulated; two cores do ten to twenty million messages a second.\n\n{table}\n\
         {papers}\nNot by simulation:\n{missing}"
    ))
}

/// 40,265 M, or the number itself where it is small.
fn millions(messages: u64) -> String {
    if messages < 10_000_000 { grouped(messages) } else { format!("{} M", grouped(messages / 1_000_000)) }
}
