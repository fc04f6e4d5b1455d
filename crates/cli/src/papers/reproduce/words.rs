//! Reproductions as text.

use crate::kernel::console::Console;
use crate::kernel::exit::Outcome;
use crate::papers::reproduce::catalogue::{ENTRIES, NOT_SIMULATED, PAPERS};
use crate::papers::reproduce::{Made, ReproduceAnswer, Size, comparison};
use serde::Serialize;
use std::fmt::Write;
use straggler_model::date::utc_now;
use straggler_report::numbers::{counted, grouped, seconds};
use straggler_report::{Cell, Columns};

/// The summary, which comes first.
pub fn summary(made: &[Made]) -> Vec<String> {
    let compared = made
        .iter()
        .flat_map(|made| &made.comparisons)
        .filter(|one| one.published.is_some() && one.basis.is_none())
        .count();
    let synthesised = made.iter().filter(|made| made.synthesised).count();
    let figures = counted(made.len() as u64, "figure or table", "figures and tables");
    let mut sentences = vec![match compared {
        0 => format!("{figures} simulated; there are no published numbers to compare with."),
        _ => format!(
            "{figures}, {} compared with simulations.",
            counted(compared as u64, "published number", "published numbers")
        ),
    }];
    if synthesised > 0 {
        sentences.push(format!(
            "In {} of them noise or applications are synthesised, because those of the papers are not \
             public: compare the shape there, not the last digit.",
            synthesised
        ));
    }
    sentences
}

pub fn console_text(answer: &ReproduceAnswer) -> String {
    let mut text = summary(&answer.reproductions).join(" ");
    text.push('\n');
    for made in &answer.reproductions {
        text.push_str(&format!("\n{} ({}): {}\n", made.figure, made.name, made.title));
        if made.exchanges_given {
            text.push_str(&format!("  {}\n", made.input));
        } else if made.synthesised {
            text.push_str("  The input is synthesised.\n");
        }
        if !made.comparisons.is_empty() {
            text.push_str(&comparison::table(&made.comparisons).to_string());
        }
        made.remarks.iter().for_each(|remark| text.push_str(&format!("  {remark}\n")));
        text.push_str(&format!("  Simulated in {}.\n", seconds(made.wall_seconds)));
    }
    text.push_str(&format!("\nTotal time: {}.\n", seconds(answer.wall_seconds)));
    text
}

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

pub fn text(answer: &ReproduceAnswer) -> String {
    let mut text = String::from("# Figures and tables of papers, simulated\n");
    let size = match answer.size {
        Size::Quick => "Quick sizes: where a number belongs to a larger run than ours, the table says so.",
        Size::Full => "Sizes of the papers, or the largest that make sense.",
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{}\n\nMade on {} by `{}` (version {}, seed {}) in {}. {size} Slowdown is T/T0 − 1.\n",
        summary(&answer.reproductions).join(" "),
        &utc_now()[..10],
        answer.command,
        answer.version,
        answer.seed,
        seconds(answer.wall_seconds),
    );
    answer.reproductions.iter().for_each(|made| section(&mut text, made));
    let _ = writeln!(text, "## Not simulated");
    NOT_SIMULATED.iter().for_each(|line| {
        let _ = writeln!(text, "- {line}");
    });
    text
}

fn section(text: &mut String, made: &Made) {
    let quick = if made.size == Size::Quick { " --quick" } else { "" };
    let _ = writeln!(text, "## {}: {}", made.figure, made.title);
    let _ = writeln!(text, "`straggler papers run {}{quick}`. {}\n", made.name, made.about);
    let label = if made.synthesised { "**Synthesised input.** " } else { "" };
    let _ = writeln!(text, "{label}{}\n", made.input);
    if !made.comparisons.is_empty() {
        let _ = writeln!(text, "| what | published | simulated | difference |\n|---|---:|---:|---|");
        for one in &made.comparisons {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} |",
                one.what,
                one.published(),
                one.simulated(),
                one.difference()
            );
        }
        let _ = writeln!(text);
    }
    made.remarks.iter().for_each(|remark| {
        let _ = writeln!(text, "{remark}\n");
    });
}
