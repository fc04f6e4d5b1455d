//! Two columns, start and duration of each detour in nanoseconds, as LogGOPSim reads them.
//!
//! Columns are separated by blanks or tabs, numbers may have decimals, lines that begin with `#` are
//! comments. A comment may state the measurement period, as Netgauge's do: it is the length of the trace,
//! which otherwise ends with its last detour.

use super::super::recording::{Core, NoiseRecording};
use super::list::{List, Stated, of_one_core};
use super::text::{self, unless_negative};
use super::{FormatError, FormatOptions, Repairs};
use std::fmt::Write;
use straggler_model::Time;
use straggler_model::columns::LinePlace;
use straggler_model::columns::{Line, lines, nanoseconds};

pub(super) fn read(text: &str, options: &FormatOptions) -> Result<(NoiseRecording, Repairs), FormatError> {
    let list = rows(text, &mut |_| ())?;
    let (core, repairs) = list.finish(Core { core: options.core, ..Core::default() }, options)?;
    Ok((of_one_core(core), repairs))
}

/// Reads the rows of a file, passing its comments to `comment`.
pub(super) fn rows(text: &str, comment: &mut dyn FnMut(&str)) -> Result<List, FormatError> {
    let mut list = List::default();
    for (_, line) in lines(text) {
        match line {
            Line::Comment(line) => {
                list.stated = Stated::read(line).or(list.stated);
                comment(line);
            }
            Line::Fields(fields) => row(&fields, &mut list)?,
        }
    }
    Ok(list)
}

fn row(fields: &[(LinePlace, &str)], list: &mut List) -> Result<(), FormatError> {
    let &[(place, start), (duration_place, duration)] = fields else {
        let place =
            fields.get(2).or(fields.first()).map_or(LinePlace { line: 0, column: 0 }, |field| field.0);
        let expected = "two columns, start and duration in ns";
        return Err(FormatError::Columns { place, expected, found: fields.len() });
    };
    let start = nanoseconds(place, start);
    // Counted once, even if both numbers of a row are negative.
    let both = start.and_then(|start| Ok((start, nanoseconds(duration_place, duration)?)));
    match unless_negative(both, &mut list.repairs)? {
        Some((start, duration)) => list.push(place, start, duration),
        None => Ok(()),
    }
}

/// The rows, and the length where it is not the end of the last detour.
pub(super) fn write(core: &Core) -> String {
    let mut text = String::new();
    for detour in &core.detours {
        let (start, duration) = (text::nanoseconds(detour.start, 0), text::nanoseconds(detour.duration, 0));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{start}\t{duration}");
    }
    if core.detours.last().map_or(Time::ZERO, |last| last.end()) != core.length {
        let _ = writeln!(text, "# Measurement period: {} s", text::decimal(core.length, 12, 2));
    }
    text
}
