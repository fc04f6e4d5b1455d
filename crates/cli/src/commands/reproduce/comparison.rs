//! What was published, what was simulated, and how far they are apart.

use serde::Serialize;
use straggler_report::numbers::{grouped, percent, significant};
use straggler_report::page::{Cell, Table};

/// What a number is.
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
    pub fn say(self, value: f64) -> String {
        match self {
            Quantity::Slowdown if value.abs() < 0.5 => percent(value),
            Quantity::Slowdown | Quantity::Ratio | Quantity::Fit => significant(value),
            Quantity::Processes if value >= 0.0 => grouped(value as u64),
            Quantity::Processes | Quantity::Rank => format!("{value:.0}"),
            Quantity::Microseconds => format!("{} µs", significant(value)),
            Quantity::Throughput => format!("{value:.2} MB/s"),
            Quantity::Share => percent(value),
        }
    }
}

/// One number of a paper and ours.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    pub what: String,
    pub quantity: Quantity,
    /// Nothing where the paper shows a picture or says a word.
    pub published: Option<f64>,
    /// The published number is a limit that is not exceeded.
    pub is_bound: bool,
    /// Nothing where this size does not reach so far.
    pub simulated: Option<f64>,
    /// The largest number of processes that was simulated, where that is fewer than the paper's.
    pub only_up_to: Option<u32>,
}

impl Comparison {
    pub fn new(
        what: impl Into<String>,
        quantity: Quantity,
        published: Option<f64>,
        simulated: f64,
    ) -> Comparison {
        let simulated = Some(simulated);
        Comparison { what: what.into(), quantity, published, is_bound: false, simulated, only_up_to: None }
    }

    pub fn published(&self) -> String {
        match self.published {
            Some(value) if self.is_bound => format!("< {}", self.quantity.say(value)),
            Some(value) => self.quantity.say(value),
            None => "–".into(),
        }
    }

    pub fn simulated(&self) -> String {
        let value = self.simulated.map_or_else(|| "none".into(), |value| self.quantity.say(value));
        match self.only_up_to {
            Some(processes) => format!("{value} (up to {} processes)", grouped(processes)),
            None => value,
        }
    }

    /// How far apart the two are, in words.
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
        if self.is_bound {
            return if simulated < published { "holds".into() } else { "exceeded".into() };
        }
        if self.quantity.say(published) == self.quantity.say(simulated) {
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
pub fn table(comparisons: &[Comparison], command: &str) -> Table {
    let mut table =
        Table::new("Published and simulated", &["what", "#published", "#simulated", "difference"]);
    table.command = command.into();
    for one in comparisons {
        let number = |text: String, value: Option<f64>| match value {
            Some(value) => Cell::number(text, value),
            None => Cell::text(text),
        };
        table.row([
            Cell::text(&one.what),
            number(one.published(), one.published),
            number(one.simulated(), one.simulated),
            Cell::text(one.difference()),
        ]);
    }
    table
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
        assert_eq!(of(Quantity::Processes, Some(512.0), 4096.0), "8 times as much");
        assert_eq!(of(Quantity::Rank, Some(3.0), 3.0), "the same");
        assert_eq!(of(Quantity::Rank, Some(3.0), 4.0), "differs");
        assert_eq!(of(Quantity::Ratio, None, 4.0), "");
        let bound =
            Comparison { is_bound: true, ..Comparison::new("x", Quantity::Slowdown, Some(0.01), 0.002) };
        assert_eq!((bound.difference(), bound.published()), ("holds".into(), "< 1 %".into()));
        let missing = Comparison { simulated: None, only_up_to: Some(65_536), ..bound };
        assert_eq!(missing.difference(), "not reached");
        assert_eq!(missing.simulated(), "none (up to 65,536 processes)");
    }
}
