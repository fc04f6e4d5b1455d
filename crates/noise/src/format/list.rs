//! A list of detours while it is read: sorted, repaired, and given a length.

use super::super::DetoursError;
use super::super::recording::{Core, Detour, NoiseRecording, UNNAMED};
use super::repairs::{self, Repairs};
use super::text::value;
use super::{FormatError, FormatOptions};
use straggler_model::Time;
use straggler_model::columns::LinePlace;
use straggler_model::units::{self, Decimal};

/// The length stated by a comment, and its rounding.
#[derive(Clone, Copy)]
pub(super) struct Stated {
    pub length: Time,
    pub rounding: Time,
}

impl Stated {
    /// `Measurement period: 2.44 s`
    pub fn read(comment: &str) -> Option<Stated> {
        let period = value(comment, "Measurement period")?;
        let length = units::time(period).ok().filter(|length| *length > Time::ZERO)?;
        let digits = period.trim_end_matches(|c: char| c.is_alphabetic()).trim();
        let unit = units::time(&format!("1{}", &period[digits.len()..])).ok()?;
        let rounding = Decimal::last_place(digits, u128::from(unit.ps()));
        Some(Stated { length, rounding: Time(rounding as u64) })
    }
}

/// Detours in the order of the file's rows.
#[derive(Default)]
pub(super) struct List {
    rows: Vec<(Time, Time)>,
    /// The latest start and its place.
    latest: Option<(Time, LinePlace)>,
    pub stated: Option<Stated>,
    pub repairs: Repairs,
}

impl List {
    pub fn push(&mut self, place: LinePlace, start: Time, duration: Time) -> Result<(), FormatError> {
        start.checked_add(duration).ok_or(DetoursError::TooLong)?;
        if self.latest.is_none_or(|(latest, _)| start >= latest) {
            self.latest = Some((start, place));
        }
        self.rows.push((start, duration));
        Ok(())
    }

    /// Where the detour of the last row ends.
    pub fn end_of_last(&self) -> Time {
        self.rows.last().map_or(Time::ZERO, |&(start, duration)| start + duration)
    }

    /// Builds the core from its detours; `core` holds whatever else is known.
    pub fn finish(mut self, core: Core, options: &FormatOptions) -> Result<(Core, Repairs), FormatError> {
        let length = self.length(options.length)?;
        self.repairs.sorted += repairs::sort(&mut self.rows, |row| row.0);
        let rows = repairs::overlaps(self.rows, options.overlaps, &mut self.repairs);
        let detours =
            rows.into_iter().map(|(start, duration)| Detour { start, duration, source: UNNAMED }).collect();
        Ok((Core { length, detours, ..core }, self.repairs))
    }

    /// The length to use: `given` by the user, else stated by the file, else to the end of the last detour.
    fn length(&mut self, given: Option<Time>) -> Result<Time, FormatError> {
        let Some((start, place)) = self.latest else {
            let stated = self.stated.map(|stated| stated.length);
            return given.or(stated).ok_or(FormatError::Empty);
        };
        match (given, self.stated) {
            (Some(length), _) if start >= length => {
                let mend = "give a longer length";
                Err(FormatError::BeyondLength { place, length, mend })
            }
            (Some(length), _) => Ok(length),
            (None, Some(Stated { length, .. })) if start < length => Ok(length),
            (None, Some(Stated { length, rounding })) if start < length + rounding => {
                self.repairs.length_extended = true;
                Ok(self.end(start))
            }
            (None, Some(Stated { length, .. })) => {
                let mend = "correct its `# Measurement period` or give length=TIME";
                Err(FormatError::BeyondLength { place, length, mend })
            }
            (None, None) => Ok(self.end(start)),
        }
    }

    /// The end of all detours, and at least 1 ps after the last start in case that detour has duration 0.
    fn end(&self, last_start: Time) -> Time {
        let ends = self.rows.iter().map(|&(start, duration)| start + duration);
        ends.max().unwrap_or(Time::ZERO).max(last_start + Time(1))
    }
}

/// A recording of one core without named sources.
pub(super) fn of_one_core(core: Core) -> NoiseRecording {
    NoiseRecording { sources: NoiseRecording::unnamed(), cores: vec![core], ..NoiseRecording::default() }
}
