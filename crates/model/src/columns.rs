//! Text files of numbers: lines, columns, comments.

use crate::Time;
use crate::units::Decimal;

/// A place in a text file. Lines and columns count from 1, columns in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinePlace {
    pub line: usize,
    pub column: usize,
}

impl std::fmt::Display for LinePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why a field is not the number it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    #[error("{place}: `{text}` is negative; times are 0 ns or more")]
    Negative { place: LinePlace, text: String },
    #[error("{place}: `{text}` is not a number of {unit}")]
    NotANumber { place: LinePlace, text: String, unit: &'static str },
    #[error("{place}: `{text}` {unit} exceeds the range of simulated time (213 days)")]
    TooLarge { place: LinePlace, text: String, unit: &'static str },
    #[error("{place}: `{text}` is not a whole number of {what}")]
    NotACount { place: LinePlace, text: String, what: &'static str },
}

/// The unit of a column of times.
#[derive(Clone, Copy, Debug)]
pub struct ColumnUnit {
    picoseconds: u128,
    name: &'static str,
    short: &'static str,
}

/// Numbers in nanoseconds.
pub const NANOSECONDS: ColumnUnit = ColumnUnit { picoseconds: 1_000, name: "nanoseconds", short: "ns" };
/// Numbers in microseconds.
pub const MICROSECONDS: ColumnUnit = ColumnUnit { picoseconds: 1_000_000, name: "microseconds", short: "us" };

/// One line of a file.
#[derive(Debug)]
pub enum Line<'a> {
    Comment(&'a str),
    Fields(Vec<(LinePlace, &'a str)>),
}

/// The nonempty lines, with their numbers. Invalid UTF-8 reads as `�`, which is harmless in a
/// comment and not a number elsewhere.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, Line<'_>)> {
    text.lines().enumerate().filter_map(|(index, line)| {
        let number = index + 1;
        let trimmed = line.trim();
        match trimmed.strip_prefix('#') {
            _ if trimmed.is_empty() => None,
            Some(comment) => Some((number, Line::Comment(comment.trim()))),
            None => Some((number, Line::Fields(fields(line, number)))),
        }
    })
}

/// The fields of a line, up to a `#`.
fn fields(line: &str, number: usize) -> Vec<(LinePlace, &str)> {
    let data = line.split('#').next().unwrap_or_default();
    let start = data.as_ptr() as usize;
    data.split_whitespace()
        .map(|field| (LinePlace { line: number, column: field.as_ptr() as usize - start + 1 }, field))
        .collect()
}

/// A number of nanoseconds, to the nearest picosecond.
pub fn nanoseconds(place: LinePlace, field: &str) -> Result<Time, FieldError> {
    time(place, field, NANOSECONDS)
}

/// A number of some unit, to the nearest picosecond.
pub fn time(place: LinePlace, field: &str, unit: ColumnUnit) -> Result<Time, FieldError> {
    let text = || field.to_string();
    let number = decimal(place, field)?.ok_or_else(|| FieldError::NotANumber {
        place,
        text: text(),
        unit: unit.name,
    })?;
    let ps = number.scaled(unit.picoseconds, 1).and_then(|ps| u64::try_from(ps).ok());
    ps.map(Time).ok_or_else(|| FieldError::TooLarge { place, text: text(), unit: unit.short })
}

/// Parses a whole number.
pub fn count(place: LinePlace, field: &str, what: &'static str) -> Result<u64, FieldError> {
    let number = decimal(place, field)?.filter(|number| number.is_whole_in(1));
    let whole = number.and_then(|number| number.scaled(1, 1)).and_then(|count| u64::try_from(count).ok());
    whole.ok_or_else(|| FieldError::NotACount { place, text: field.into(), what })
}

/// Parses the number in a field; `None` if it is not a number.
fn decimal(place: LinePlace, field: &str) -> Result<Option<Decimal>, FieldError> {
    let unsigned = field.strip_prefix('+').unwrap_or(field);
    match unsigned.strip_prefix('-').map(Decimal::parse) {
        Some(Ok(_)) => Err(FieldError::Negative { place, text: field.into() }),
        Some(Err(_)) => Ok(None),
        None => Ok(Decimal::parse(unsigned).ok()),
    }
}
