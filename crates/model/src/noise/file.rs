//! Noise traces in files: two columns, start and duration of each detour in nanoseconds.
//!
//! Columns are separated by blanks or tabs, numbers may have decimals, lines that begin with `#`
//! are comments. The output of Netgauge's selfish benchmark is such a file; its comments state the
//! measurement period, which is the length of the trace.

use super::columns::{FieldError, Line, Place, lines, nanoseconds};
use super::{Detours, DetoursError};
use crate::Time;
use crate::units::{self, Decimal};
use std::path::{Path, PathBuf};

/// Which program wrote a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Format {
    #[default]
    Columns,
    /// Netgauge, selfish pattern.
    Selfish,
}

/// What reading a trace brought to light, for whoever judges the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Noticed {
    pub format: Format,
    /// The measurement period the file states.
    pub stated_length: Option<Time>,
    /// The stated period is rounded and ends before the last detour: the trace ends with it instead.
    pub length_extended: bool,
    /// Detours that start before an earlier one has ended.
    pub overlaps: usize,
}

/// A trace and what was noticed while reading it.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceFile {
    pub detours: Detours,
    pub noticed: Noticed,
}

/// Why a file is no noise trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceFileError {
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error("{place}: expected two columns, start and duration in ns, found {found}")]
    Columns { place: Place, found: usize },
    #[error(
        "{place}: this detour starts at {start} ns, before the one above it: sort the file (sort -g FILE)"
    )]
    Unsorted { place: Place, start: String },
    #[error("{place}: this detour starts after the trace's length of {length}: {mend}")]
    BeyondLength { place: Place, length: Time, mend: &'static str },
    #[error("line {line}: this is the output of a fixed-work or fixed-time benchmark, not a list of detours")]
    Cycles { line: usize },
    #[error("the trace holds no detours: use `none` for no noise")]
    Empty,
    #[error(transparent)]
    Detours(#[from] DetoursError),
    #[error("{path}: {fault}")]
    InFile { path: PathBuf, fault: Box<TraceFileError> },
    #[error("{path} cannot be read: {fault}")]
    Unreadable { path: PathBuf, fault: std::io::Error },
}

/// The length a comment states, and how coarsely it is rounded.
#[derive(Clone, Copy)]
struct Stated {
    length: Time,
    rounding: Time,
}

impl Stated {
    /// `Measurement period: 2.44 s`
    fn read(comment: &str) -> Option<Stated> {
        let period = comment.strip_prefix("Measurement period:")?.trim();
        let length = units::time(period).ok().filter(|length| *length > Time::ZERO)?;
        let digits = period.trim_end_matches(|c: char| c.is_alphabetic()).trim();
        let unit = units::time(&format!("1{}", &period[digits.len()..])).ok()?;
        let rounding = Decimal::last_place(digits, u128::from(unit.ps()));
        Some(Stated { length, rounding: Time(rounding as u64) })
    }
}

/// A trace on its way in.
#[derive(Default)]
struct Reader {
    detours: Vec<(Time, Time)>,
    last: Option<Place>,
    stated: Option<Stated>,
    noticed: Noticed,
    busy_until: Time,
}

impl Reader {
    fn comment(&mut self, line: usize, comment: &str) -> Result<(), TraceFileError> {
        if comment.starts_with("cycle number") {
            return Err(TraceFileError::Cycles { line });
        }
        if comment == "Selfish Benchmark" || comment.starts_with("Benchmark Method: selfish") {
            self.noticed.format = Format::Selfish;
        }
        if let Some(stated) = Stated::read(comment) {
            self.stated = Some(stated);
            self.noticed.stated_length = Some(stated.length);
        }
        Ok(())
    }

    fn row(&mut self, fields: &[(Place, &str)]) -> Result<(), TraceFileError> {
        let &[(place, start_text), (duration_place, duration)] = fields else {
            let place = fields.get(2).or(fields.first()).map_or(Place { line: 0, column: 0 }, |f| f.0);
            return Err(TraceFileError::Columns { place, found: fields.len() });
        };
        let start = nanoseconds(place, start_text)?;
        let duration = nanoseconds(duration_place, duration)?;
        if self.detours.last().is_some_and(|&(last, _)| start < last) {
            return Err(TraceFileError::Unsorted { place, start: start_text.into() });
        }
        self.noticed.overlaps += usize::from(start < self.busy_until);
        self.busy_until = self.busy_until.max(start + duration);
        self.detours.push((start, duration));
        self.last = Some(place);
        Ok(())
    }

    /// The length to use: `given` by the user, else stated by the file, else none.
    fn length(&mut self, given: Option<Time>) -> Result<Option<Time>, TraceFileError> {
        let (Some(&(start, _)), Some(place)) = (self.detours.last(), self.last) else {
            return Err(TraceFileError::Empty);
        };
        match (given, self.stated) {
            (Some(length), _) if start >= length => {
                let mend = "give a longer one";
                Err(TraceFileError::BeyondLength { place, length, mend })
            }
            (Some(length), _) => Ok(Some(length)),
            (None, Some(Stated { length, .. })) if start < length => Ok(Some(length)),
            (None, Some(Stated { length, rounding })) if start < length + rounding => {
                self.noticed.length_extended = true;
                Ok(None)
            }
            (None, Some(Stated { length, .. })) => {
                let mend = "correct its `# Measurement period` or give length=TIME";
                Err(TraceFileError::BeyondLength { place, length, mend })
            }
            (None, None) => Ok(None),
        }
    }
}

impl TraceFile {
    /// Reads a trace from the bytes of a file. `length`, when given, replaces the stated one.
    pub fn parse(bytes: &[u8], length: Option<Time>) -> Result<TraceFile, TraceFileError> {
        let text = String::from_utf8_lossy(bytes);
        let mut reader = Reader::default();
        for (number, line) in lines(&text) {
            match line {
                Line::Comment(comment) => reader.comment(number, comment)?,
                Line::Fields(fields) => reader.row(&fields)?,
            }
        }
        let length = reader.length(length)?;
        let detours = Detours::new(&reader.detours, length)?;
        Ok(TraceFile { detours, noticed: reader.noticed })
    }

    /// Reads a trace file.
    pub fn read(path: &Path, length: Option<Time>) -> Result<TraceFile, TraceFileError> {
        let bytes =
            std::fs::read(path).map_err(|fault| TraceFileError::Unreadable { path: path.into(), fault })?;
        TraceFile::parse(&bytes, length)
            .map_err(|fault| TraceFileError::InFile { path: path.into(), fault: Box::new(fault) })
    }
}

impl Noticed {
    /// What to tell the user, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.overlaps > 0 {
            warnings.push(format!(
                "{} detours start before an earlier one has ended: were two sources merged into one file?",
                self.overlaps
            ));
        }
        if self.length_extended {
            warnings.push(
                "the stated measurement period ends before the last detour: extended to its end".into(),
            );
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SELFISH: &str = "# Benchmark Method: selfish\n# Selfish Benchmark\n\
        # Minimal cycle length [ns]: 15.236965 \n# \n# Time [ns]\tselfish duration [ns]\n\
        0.00\t171.42\n1000.5\t20\n\n2435000000\t171.4215\n\
        # CPU overhead due to noise: 74.46%\n# Measurement period: 2.44 s\n";

    #[test]
    fn reads_netgauge() {
        let file = TraceFile::parse(SELFISH.as_bytes(), None).unwrap();
        assert_eq!(file.detours.length(), Time(2_440_000_000_000));
        let list: Vec<_> = file.detours.iter().collect();
        assert_eq!(list[0], (Time(0), Time(171_420)));
        assert_eq!(list[1], (Time(1_000_500), Time(20_000)));
        assert_eq!(list[2].1, Time(171_422));
        let noticed = Noticed {
            format: Format::Selfish,
            stated_length: Some(Time(2_440_000_000_000)),
            ..Noticed::default()
        };
        assert_eq!(file.noticed, noticed);
    }

    #[test]
    fn a_period_rounded_down_ends_with_the_last_detour() {
        let text = "2444000000 10\n# Measurement period: 2.44 s";
        let file = TraceFile::parse(text.as_bytes(), None).unwrap();
        assert_eq!(file.detours.length(), Time(2_444_000_010_000));
        assert!(file.noticed.length_extended);
        let text = "2451000000 10\n# Measurement period: 2.44 s";
        assert!(matches!(TraceFile::parse(text.as_bytes(), None), Err(TraceFileError::BeyondLength { .. })));
        let file = TraceFile::parse(text.as_bytes(), Some(Time(3_000_000_000_000))).unwrap();
        assert_eq!(file.detours.length(), Time(3_000_000_000_000));
    }

    #[test]
    fn the_last_line_needs_no_newline_and_overlaps_are_counted() {
        let file = TraceFile::parse(b"5 10 # first\r\n 7\t\t1\n7.5 0.5\n100 1e1", None).unwrap();
        assert_eq!(file.detours.len(), 4);
        assert_eq!(file.detours.length(), Time(110_000));
        assert_eq!(file.noticed.overlaps, 2);
        assert_eq!(file.noticed.warnings().len(), 1);
    }
}
