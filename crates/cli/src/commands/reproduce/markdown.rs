//! Published and simulated numbers as Markdown: docs/reproductions.md is such a file.

use super::catalogue::NOT_SIMULATED;
use super::{Made, ReproduceAnswer, Size, words};
use std::fmt::Write;
use straggler_model::date::utc_now;
use straggler_report::numbers::seconds;

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
        words::summary(&answer.reproductions).join(" "),
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
    let _ = writeln!(text, "`straggler reproduce {}{quick}`. {}\n", made.name, made.about);
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
