//! Table cells. Each kind of number is formatted in one way, for terminal and page.

use crate::numbers::{grouped, percent, seconds, significant, slowdown};
use serde::{Deserialize, Serialize};
use straggler_model::Time;
use straggler_model::units::Bytes;

/// The text of a cell, and the number it is sorted by.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cell {
    pub text: String,
    pub value: Option<f64>,
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), value: None }
    }

    /// A number with its formatted text.
    pub fn number(text: impl Into<String>, value: f64) -> Cell {
        Cell::maybe(text, Some(value))
    }

    /// A number that may be unknown, as the text then says.
    pub fn maybe(text: impl Into<String>, value: Option<f64>) -> Cell {
        Cell { text: text.into(), value: value.filter(|value| value.is_finite()) }
    }

    /// With a comma between thousands.
    pub fn count(count: impl TryInto<u64>) -> Cell {
        let count = count.try_into().unwrap_or(u64::MAX);
        Cell::number(grouped(count), count as f64)
    }

    /// The number of a rank or a core: without commas.
    pub fn id(number: impl TryInto<u64>) -> Cell {
        let number = number.try_into().unwrap_or(u64::MAX);
        Cell::number(number.to_string(), number as f64)
    }

    pub fn share(share: f64) -> Cell {
        Cell::number(percent(share), share)
    }

    /// T/T0 − 1: `+17 %`, `3.40×`.
    pub fn slowdown(more: f64) -> Cell {
        Cell::number(slowdown(more), more)
    }

    /// In three significant digits.
    pub fn significant(value: f64) -> Cell {
        Cell::number(significant(value), value)
    }

    /// Wall-clock seconds.
    pub fn seconds(value: f64) -> Cell {
        Cell::number(seconds(value), value)
    }

    pub fn time(time: Time) -> Cell {
        Cell::number(time.to_string(), time.seconds())
    }

    pub fn ps(ps: u64) -> Cell {
        Cell::time(Time(ps))
    }

    pub fn bytes(bytes: u64) -> Cell {
        Cell::number(Bytes(bytes).to_string(), bytes as f64)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::text(text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::text(text)
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Cell {
        Cell::text(text)
    }
}

/// `None` is an empty cell.
impl<C: Into<Cell>> From<Option<C>> for Cell {
    fn from(cell: Option<C>) -> Cell {
        cell.map_or_else(Cell::default, Into::into)
    }
}
