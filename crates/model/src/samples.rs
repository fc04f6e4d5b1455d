//! Files of measured times: one a line, such as `173us` or `173.2 us`, with `#` before comments.
//!
//! Plain numbers need a unit: from the caller, or from a comment `# unit: us` above them. A unit after a
//! number takes precedence. Zero is refused: everything takes some time, and a clock too coarse for what it
//! measured yields no distribution.

use crate::Time;
use crate::columns::LinePlace;
use crate::columns::{Line, lines};
use crate::units::{TimeUnit, UnitError};
use std::path::{Path, PathBuf};

/// Up to this many values, draws of 32 random bits favour some of them by less than half a percent.
pub const MOST: usize = 1 << 24;

/// Why a file is not a list of measured times.
#[derive(Debug, thiserror::Error)]
pub enum SamplesError {
    #[error("{place}: {fault}")]
    Value { place: LinePlace, fault: UnitError },
    #[error(
        "{place}: `{text}` has no unit: write {text}us, or state the unit of all plain numbers in a comment above \
         them (`# unit: us`)"
    )]
    NoUnit { place: LinePlace, text: String },
    #[error("{place}: a time of 0 cannot have been measured: remove it, or measure with a finer clock")]
    Zero { place: LinePlace },
    #[error("{place}: `{text}` is a second value: write one time per line")]
    SecondColumn { place: LinePlace, text: String },
    #[error("line {line}: {fault}")]
    Unit { line: usize, fault: UnitError },
    #[error("the file holds no times: write one per line, such as 173us")]
    Empty,
    #[error("the file holds more than {MOST} times: use a part of it")]
    TooMany,
    #[error("{path}: {fault}")]
    InFile { path: PathBuf, fault: Box<SamplesError> },
    #[error("{path}: cannot be read: {fault}")]
    Unreadable { path: PathBuf, fault: std::io::Error },
}

impl SamplesError {
    /// Whether the only problem is the missing unit of plain numbers, which some commands take as an option.
    pub fn is_no_unit(&self) -> bool {
        match self {
            SamplesError::NoUnit { .. } => true,
            SamplesError::InFile { fault, .. } => fault.is_no_unit(),
            _ => false,
        }
    }
}

/// Reads times from the bytes of a file, in their order; `unit` is that of plain numbers.
pub fn parse(bytes: &[u8], unit: Option<TimeUnit>) -> Result<Vec<Time>, SamplesError> {
    let text = String::from_utf8_lossy(bytes);
    let (mut times, mut unit) = (Vec::new(), unit);
    for (line, content) in lines(&text) {
        match content {
            Line::Comment(comment) => unit = stated_unit(comment, line)?.or(unit),
            Line::Fields(fields) => times.extend(value(&fields, unit)?),
        }
        if times.len() > MOST {
            return Err(SamplesError::TooMany);
        }
    }
    if times.is_empty() { Err(SamplesError::Empty) } else { Ok(times) }
}

/// Reads a file of times.
pub fn read(path: &Path, unit: Option<TimeUnit>) -> Result<Vec<Time>, SamplesError> {
    let bytes = std::fs::read(path).map_err(|fault| SamplesError::Unreadable { path: path.into(), fault })?;
    parse(&bytes, unit).map_err(|fault| SamplesError::InFile { path: path.into(), fault: Box::new(fault) })
}

/// The unit in a comment `unit: us`.
fn stated_unit(comment: &str, line: usize) -> Result<Option<TimeUnit>, SamplesError> {
    match comment.strip_prefix("unit:") {
        Some(text) => text.parse().map(Some).map_err(|fault| SamplesError::Unit { line, fault }),
        None => Ok(None),
    }
}

/// The value of a line, unless the line holds only a comment.
fn value(fields: &[(LinePlace, &str)], unit: Option<TimeUnit>) -> Result<Option<Time>, SamplesError> {
    let Some(&(place, text)) = fields.first() else { return Ok(None) };
    let behind = match fields.get(1) {
        Some((_, word)) if fields.len() == 2 && word.parse::<TimeUnit>().is_ok() => *word,
        Some(&(place, text)) => return Err(SamplesError::SecondColumn { place, text: text.into() }),
        None => "",
    };
    let time = match unit {
        Some(unit) if behind.is_empty() => unit.times(text),
        _ => format!("{text}{behind}").parse(),
    };
    match time {
        Ok(Time::ZERO) => Err(SamplesError::Zero { place }),
        Ok(time) => Ok(Some(time)),
        Err(UnitError::NoUnit { .. }) => Err(SamplesError::NoUnit { place, text: text.into() }),
        Err(fault) => Err(SamplesError::Value { place, fault }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(value: u64) -> Time {
        Time(value * 1_000_000)
    }

    fn fault(text: &str) -> String {
        parse(text.as_bytes(), None).unwrap_err().to_string()
    }

    #[test]
    fn with_and_without_units() {
        assert_eq!(parse(b"173us\n\n 180 us # slow\n0.2ms", None).unwrap(), [us(173), us(180), us(200)]);
        assert_eq!(parse(b"# unit: us\n173\n0.2 ms\n", None).unwrap(), [us(173), us(200)]);
        let unit = "us".parse().ok();
        assert_eq!(parse(b"173\n174", unit).unwrap(), [us(173), us(174)]);
        // Numbers in the notation that programs print.
        assert_eq!(
            parse(b"1.73e-05 s\n1.8E2us\n2e+2us", None).unwrap(),
            [Time(17_300_000), us(180), us(200)]
        );
        assert_eq!(parse(b"# unit: s\n1.73e-05", None).unwrap(), [Time(17_300_000)]);
        // A unit stated in the file takes precedence over the given one.
        assert_eq!(parse(b"# unit: ms\n173", unit).unwrap(), [us(173_000)]);
    }

    #[test]
    fn what_is_wrong_and_where() {
        assert!(fault("1us\n173\n").starts_with("line 2, column 1: `173` has no unit: write 173us"));
        assert_eq!(fault("1us\n -3us"), "line 2, column 2: `-3us` is negative: a time is 0 or more");
        assert!(fault("0us").starts_with("line 1, column 1: a time of 0 cannot"));
        assert!(fault("1us 2us").starts_with("line 1, column 5: `2us` is a second value"));
        assert!(fault("1 us 3").contains("second value"));
        assert!(fault("fast").contains("does not start with a number"));
        assert!(fault("# unit: fortnight\n1").starts_with("line 1: unknown unit `fortnight`"));
        assert!(fault("# nothing\n").contains("holds no times"));
        assert!(fault("").contains("holds no times"));
        assert!(fault("1us\n99999999999999s").contains("too large"));
        let absent = read(Path::new("no/such/file"), None).unwrap_err().to_string();
        assert!(absent.starts_with("no/such/file: cannot be read"), "{absent}");
    }
}
