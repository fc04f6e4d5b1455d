//! Reproductions as text.

use super::{Made, ReproduceAnswer, comparison};
use straggler_report::numbers::{counted, seconds};

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

pub fn say(answer: &ReproduceAnswer) -> String {
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
