//! Text files of numbers: lines, columns, comments.

use crate::Time;
use crate::units::Decimal;

/// A place in a text file, both counted from 1; columns count bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why a field is no time in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    #[error("{place}: `{text}` is negative; times are 0 ns or more")]
    Negative { place: Place, text: String },
    #[error("{place}: `{text}` is not a number of nanoseconds")]
    NotANumber { place: Place, text: String },
    #[error("{place}: `{text}` ns is more than simulated time can hold (213 days)")]
    TooLarge { place: Place, text: String },
}

/// What a line of such a file is.
pub(crate) enum Line<'a> {
    Comment(&'a str),
    Fields(Vec<(Place, &'a str)>),
}

/// The lines that say something, with their numbers. Bytes that are no UTF-8 read as `�`, which is
/// harmless in a comment and no number elsewhere.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, Line<'_>)> {
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
fn fields(line: &str, number: usize) -> Vec<(Place, &str)> {
    let data = line.split('#').next().unwrap_or_default();
    let start = data.as_ptr() as usize;
    data.split_whitespace()
        .map(|field| (Place { line: number, column: field.as_ptr() as usize - start + 1 }, field))
        .collect()
}

/// A number of nanoseconds, to the nearest picosecond.
pub(super) fn nanoseconds(place: Place, field: &str) -> Result<Time, FieldError> {
    let text = || field.to_string();
    let unsigned = field.strip_prefix('+').unwrap_or(field);
    if let Some(rest) = unsigned.strip_prefix('-')
        && Decimal::parse(rest).is_ok()
    {
        return Err(FieldError::Negative { place, text: text() });
    }
    let number = Decimal::parse(unsigned).map_err(|_| FieldError::NotANumber { place, text: text() })?;
    let ps = number.scaled(1_000, 1).and_then(|ps| u64::try_from(ps).ok());
    ps.map(Time).ok_or_else(|| FieldError::TooLarge { place, text: text() })
}
