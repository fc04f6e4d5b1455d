//! Helpers shared by readers and writers of text formats: numbers in comments, times as decimals.

use super::super::recording::{Core, Method, NoiseRecording, Quantum};
use super::{Format, Repairs};
use std::borrow::Cow;
use straggler_model::Time;
use straggler_model::columns::FieldError;

/// The text of a file; invalid UTF-8 becomes `�`, which is not a number.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Returns a field's number; counts and drops a negative one.
pub(super) fn unless_negative<T>(
    number: Result<T, FieldError>,
    repairs: &mut Repairs,
) -> Result<Option<T>, FieldError> {
    match number {
        Ok(number) => Ok(Some(number)),
        Err(FieldError::Negative { .. }) => {
            repairs.negative_dropped += 1;
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}

/// The value after `key` and a colon in a comment, with optional blanks around the colon.
pub(super) fn value<'a>(comment: &'a str, key: &str) -> Option<&'a str> {
    let rest = comment.strip_prefix(key)?.trim_start();
    Some(rest.strip_prefix(':')?.trim())
}

/// A time in units of 10^`places` ps with at least `least` decimals and no further trailing zeros.
pub(super) fn decimal(time: Time, places: usize, least: usize) -> String {
    let digits = format!("{:0>width$}", time.ps(), width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let kept = fraction.trim_end_matches('0').len().max(least.min(places));
    match kept {
        0 => whole.to_string(),
        _ => format!("{whole}.{}", &fraction[..kept]),
    }
}

pub(super) fn nanoseconds(time: Time, least: usize) -> String {
    decimal(time, 3, least)
}

/// Describes the fractions that are lost because a format's unit is too coarse, with the number of
/// rows concerned.
pub(super) fn rounded(recording: &NoiseRecording, format: Format) -> Option<String> {
    let (unit, name) = match (format, &recording.method) {
        (Format::Sysjitter | Format::Ftq, _) => (1_000, "nanoseconds"),
        (Format::NetgaugeFwq, _) => (1_000_000, "microseconds"),
        (Format::NetgaugeFtq, Method::FixedTime { quantum_ps }) => ((*quantum_ps).max(1), "quanta"),
        _ => return None,
    };
    let broken = |time: Time| !time.ps().is_multiple_of(unit);
    let detours = recording.cores.iter().flat_map(|core| &core.detours);
    let quanta = recording.cores.iter().flat_map(|core| &core.quanta);
    let count = match format {
        Format::Sysjitter => detours.filter(|one| broken(one.end()) || broken(one.duration)).count(),
        Format::NetgaugeFwq => quanta.filter(|one| broken(Time(one.value))).count(),
        _ => quanta.filter(|one| broken(one.start)).count(),
    };
    let rows = if count == 1 { "row" } else { "rows" };
    (count > 0).then(|| format!("fractions of {name}, in {count} {rows}"))
}

/// Describes the pauses between quanta of fixed work, which formats that hold only durations lose.
pub(super) fn pauses(recording: &NoiseRecording, format: Format) -> Option<String> {
    let apart = |core: &Core| core.quanta.windows(2).filter(|pair| !adjacent(pair[0], pair[1])).count();
    let count: usize = match format {
        Format::NetgaugeFwq | Format::LlnlFwq => recording.cores.iter().map(apart).sum(),
        _ => 0,
    };
    (count > 0).then(|| format!("{count} pauses between samples"))
}

fn adjacent(one: Quantum, next: Quantum) -> bool {
    next.start == one.start + Time(one.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(nanoseconds(Time(171_420), 2), "171.42");
        assert_eq!(nanoseconds(Time(171_422), 2), "171.422");
        assert_eq!(nanoseconds(Time(0), 2), "0.00");
        assert_eq!(nanoseconds(Time(5_000), 0), "5");
        assert_eq!(nanoseconds(Time(7), 0), "0.007");
        assert_eq!(decimal(Time(2_440_000_000_000), 12, 2), "2.44");
    }

    #[test]
    fn values_of_comments() {
        assert_eq!(value("Sysname : Linux", "Sysname"), Some("Linux"));
        assert_eq!(value("Measurement period: 2.44 s ", "Measurement period"), Some("2.44 s"));
        assert_eq!(value("Sysname", "Sysname"), None);
    }
}
