//! Published and simulated numbers and their difference, and reproductions as text.

use crate::kernel::prelude::*;
use crate::papers::reproduce::catalogue::NOT_SIMULATED;
use crate::papers::reproduce::{Made, ReproduceAnswer, Size};
use std::fmt::Write;
use straggler_model::date::utc_now;

/// The kind of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// T/T0 − 1.
    Slowdown,
    /// T/T0.
    Ratio,
    Processes,
    Rank,
    Microseconds,
    #[serde(rename = "megabytes-per-second")]
    Throughput,
    /// From 0 to 1.
    Share,
    /// How well a law fits: 1 is perfect.
    Fit,
}

impl Quantity {
    pub fn text(self, value: f64) -> String {
        match self {
            Quantity::Slowdown => percent(value),
            Quantity::Ratio | Quantity::Fit => significant(value),
            Quantity::Processes if value >= 0.0 => grouped(value as u64),
            Quantity::Processes | Quantity::Rank => format!("{value:.0}"),
            Quantity::Microseconds => format!("{} µs", significant(value)),
            Quantity::Throughput => format!("{value:.2} MB/s"),
            Quantity::Share => percent(value),
        }
    }
}

/// One number of a paper, and ours.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    pub what: String,
    pub quantity: Quantity,
    /// None if the paper gives a figure or words instead of a number.
    pub published: Option<f64>,
    /// How the published number relates to ours.
    pub meaning: Meaning,
    /// Where the number comes from, if the paper does not state it.
    pub basis: Option<String>,
    /// None if this size does not reach that scale.
    pub simulated: Option<f64>,
    /// The largest simulated number of processes, if smaller than the paper's.
    pub only_up_to: Option<u32>,
    /// For a maximum, the number of runs it was taken over: fewer runs find a smaller one.
    pub largest_of: Option<u64>,
}

/// How a published number relates to ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Meaning {
    #[default]
    Value,
    /// Ours should not exceed it.
    Below,
    /// Ours should exceed it.
    Above,
}

impl Comparison {
    pub fn new(
        what: impl Into<String>,
        quantity: Quantity,
        published: Option<f64>,
        simulated: f64,
    ) -> Comparison {
        let simulated = Some(simulated);
        Comparison {
            what: what.into(),
            quantity,
            published,
            meaning: Meaning::Value,
            basis: None,
            simulated,
            only_up_to: None,
            largest_of: None,
        }
    }

    /// Marks a number that is not stated in the paper.
    pub fn by(self, basis: &str) -> Comparison {
        Comparison { basis: Some(basis.into()), ..self }
    }

    pub fn published(&self) -> String {
        let Some(value) = self.published else { return "–".into() };
        let value = self.quantity.text(value);
        let value = match self.meaning {
            Meaning::Value => value,
            Meaning::Below => format!("< {value}"),
            Meaning::Above => format!("> {value}"),
        };
        self.basis.as_ref().map_or(value.clone(), |basis| format!("{value} ({basis})"))
    }

    pub fn simulated(&self) -> String {
        let value = self.simulated.map_or_else(|| "none".into(), |value| self.quantity.text(value));
        let runs = self.largest_of.map(|runs| format!("largest of {}", counted(runs, "run", "runs")));
        let scale = self.only_up_to.map(|processes| format!("up to {} processes", grouped(processes)));
        match [scale, runs].into_iter().flatten().collect::<Vec<_>>().join(", ").as_str() {
            "" => value,
            about => format!("{value} ({about})"),
        }
    }

    /// The difference of the two, as text.
    pub fn difference(&self) -> String {
        match (self.between(), self.only_up_to) {
            (words, Some(_)) if !words.is_empty() && self.simulated.is_some() => {
                format!("{words}, on a smaller run")
            }
            (words, _) => words,
        }
    }

    fn between(&self) -> String {
        let (Some(published), Some(simulated)) = (self.published, self.simulated) else {
            return match self.published {
                Some(_) => "not reached".into(),
                None => String::new(),
            };
        };
        let holds = |truth: bool| if truth { "holds".into() } else { "does not hold".into() };
        match self.meaning {
            Meaning::Below => return holds(simulated < published),
            Meaning::Above => return holds(simulated > published),
            Meaning::Value => {}
        }
        if self.quantity.text(published) == self.quantity.text(simulated) {
            return "the same".into();
        }
        match self.quantity {
            Quantity::Rank => "differs".into(),
            Quantity::Share | Quantity::Fit => format!("{:+.2}", simulated - published),
            Quantity::Slowdown if published.abs() < 0.5 => {
                format!("{:+.2} percentage points", 100.0 * (simulated - published))
            }
            _ if published != 0.0 && simulated / published >= 3.0 => {
                format!("{} times as much", significant(simulated / published))
            }
            _ if published != 0.0 => {
                let percent = 100.0 * (simulated / published - 1.0);
                if percent.abs() < 9.5 { format!("{percent:+.1} %") } else { format!("{percent:+.0} %") }
            }
            _ => significant(simulated),
        }
    }
}

/// All comparisons of a reproduction.
pub fn table(comparisons: &[Comparison]) -> Table {
    Columns::over(comparisons)
        .text("what", |row| &row.what)
        .number("published", |row| Cell::maybe(row.published(), row.published))
        .number("simulated", |row| Cell::maybe(row.simulated(), row.simulated))
        .text("difference", Comparison::difference)
        .build()
}

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
            text.push_str(&table(&made.comparisons).to_string());
        }
        made.remarks.iter().for_each(|remark| text.push_str(&format!("  {remark}\n")));
        text.push_str(&format!("  Simulated in {}.\n", seconds(made.wall_seconds)));
    }
    text.push_str(&format!("\nTotal time: {}.\n", seconds(answer.wall_seconds)));
    text
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_in_words() {
        let of = |quantity, published, simulated| {
            Comparison::new("x", quantity, published, simulated).difference()
        };
        assert_eq!(of(Quantity::Slowdown, Some(10.0), 12.0), "+20 %");
        assert_eq!(of(Quantity::Slowdown, Some(0.41), 0.40), "-1.00 percentage points");
        assert_eq!(of(Quantity::Processes, Some(512.0), 4096.0), "8.00 times as much");
        assert_eq!(of(Quantity::Rank, Some(3.0), 3.0), "the same");
        assert_eq!(of(Quantity::Rank, Some(3.0), 4.0), "differs");
        assert_eq!(of(Quantity::Ratio, None, 4.0), "");
        let of = Comparison::new("x", Quantity::Slowdown, Some(0.01), 0.002);
        let bound = Comparison { meaning: Meaning::Below, ..of.clone() };
        assert_eq!((bound.difference(), bound.published()), ("holds".into(), "< 1 %".into()));
        let above = Comparison { meaning: Meaning::Above, largest_of: Some(60), ..of };
        assert_eq!((above.difference(), above.published()), ("does not hold".into(), "> 1 %".into()));
        assert_eq!(above.simulated(), "0.2 % (largest of 60 runs)");
        let missing = Comparison { simulated: None, only_up_to: Some(65_536), ..bound };
        assert_eq!(missing.difference(), "not reached");
        assert_eq!(missing.simulated(), "none (up to 65,536 processes)");
    }
}
