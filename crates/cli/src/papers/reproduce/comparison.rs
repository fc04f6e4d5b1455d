//! Published and simulated numbers, and their difference.

use serde::Serialize;
use straggler_report::numbers::{counted, grouped, percent, significant};
use straggler_report::{Cell, Columns, Table};

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
