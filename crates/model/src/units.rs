//! Quantities as people write them: `5.33us`, `1MiB`, `10Hz`, `25GB/s`.
//!
//! Numbers are converted from decimal digits to integers without floats, and rounded once, to the nearest
//! representable value. The output of [`write_time`] and [`write_per_byte`] parses back to the same value.

mod count;
mod decimal;
mod display;

pub use count::{count, counted, group_whole_part, grouped, wide_count};
pub use decimal::Decimal;
pub use display::{Bytes, limit_in_words, write_bytes, write_limit, write_per_byte, write_time};

use crate::spelling::{hint, nearest};
use crate::{PerByte, Time};
use std::str::FromStr;

const TIME_UNITS: &str = "ps, ns, us (or µs), ms, s, min";
const BYTE_UNITS: &str = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB";
const FREQUENCY_UNITS: &str = "Hz, kHz, MHz, GHz";
const RATE_UNITS: &str = "a time per byte (6ns, 1.1ps, 0.6ns/B) or a bandwidth (kB/s, MB/s, GB/s, TB/s, MiB/s, \
                          GiB/s, Mb/s, Gb/s, Tb/s)";

/// Why a text is not the expected quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    #[error("`{text}` is not {what}: it does not start with a number; write it like {example}")]
    NoNumber { text: String, what: &'static str, example: &'static str },
    #[error("`{text}` has no unit: write it like {example} (known: {known})")]
    NoUnit { text: String, example: String, known: &'static str },
    #[error("{} (known: {known}){}", unknown_unit(text, unit), hint(*.nearest))]
    UnknownUnit { text: Box<str>, unit: Box<str>, known: &'static str, nearest: Option<&'static str> },
    #[error(
        "`{text}` could be decimal or binary: write {decimal} (powers of 1000) or {binary} (powers of 1024)"
    )]
    Ambiguous { text: String, decimal: String, binary: String },
    #[error("`{text}` is negative: {what} is 0 or more")]
    Negative { text: String, what: &'static str },
    #[error("`{text}` is too large: {what} is at most {limit}")]
    TooLarge { text: String, what: &'static str, limit: &'static str },
    #[error("`{text}` has more than {limit} digits: round it")]
    TooManyDigits { text: String, limit: usize },
    #[error("`{text}` is not a whole number of bytes")]
    NotWhole { text: String },
    #[error("`{text}` is zero: {mend}")]
    Zero { text: String, mend: &'static str },
}

/// "unknown unit `uss`" of a unit alone, "`5uss` has the unknown unit `uss`" of a quantity.
fn unknown_unit(text: &str, unit: &str) -> String {
    let unknown = format!("unknown unit `{unit}`");
    if text.trim() == unit { unknown } else { format!("`{text}` has the {unknown}") }
}

/// The kind of quantity being parsed, for the errors.
#[derive(Clone, Copy)]
struct Kind {
    what: &'static str,
    example: &'static str,
    /// Units of very different sizes, where people may mean either.
    unit_examples: &'static [&'static str],
    known: &'static str,
    /// Units to suggest for a misspelt one. None for rates: `gb/s` may be GB/s or Gb/s.
    suggested: &'static [&'static str],
    limit: &'static str,
}

const TIME: Kind = Kind {
    what: "a time",
    example: "5.33us",
    unit_examples: &["ms", "s"],
    known: TIME_UNITS,
    suggested: &["ps", "ns", "us", "ms", "s", "min"],
    limit: "213 days (2^64 ps)",
};
const BYTES: Kind = Kind {
    what: "a size",
    example: "64KiB",
    unit_examples: &["B"],
    known: BYTE_UNITS,
    suggested: &["B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"],
    limit: "2^64 - 1 bytes",
};
const FREQUENCY: Kind = Kind {
    what: "a frequency",
    example: "10Hz",
    unit_examples: &["Hz"],
    known: FREQUENCY_UNITS,
    suggested: &["Hz", "kHz", "MHz", "GHz"],
    limit: "1 THz, one event per picosecond",
};
const RATE: Kind = Kind {
    what: "a time per byte",
    example: "0.6ns/B or 25GB/s",
    unit_examples: &["ns"],
    known: RATE_UNITS,
    suggested: &[],
    limit: "4.29 ms per byte (2^32 ps)",
};

impl Kind {
    fn too_large(self, text: &str) -> UnitError {
        UnitError::TooLarge { text: text.into(), what: self.what, limit: self.limit }
    }

    fn unknown(self, text: &str, unit: &str) -> UnitError {
        // The first letter is the prefix: `xs` is no more ps than it is ns.
        let first = |unit: &str| unit.chars().next().map(|letter| letter.to_ascii_lowercase());
        let similar = self.suggested.iter().copied().filter(|known| first(known) == first(unit));
        let nearest = nearest(unit, similar);
        UnitError::UnknownUnit { text: text.into(), unit: unit.into(), known: self.known, nearest }
    }

    fn no_unit(self, text: &str) -> UnitError {
        let examples = self.unit_examples.iter().map(|unit| format!("{}{unit}", text.trim()));
        let example = examples.collect::<Vec<_>>().join(" or ");
        UnitError::NoUnit { text: text.into(), example, known: self.known }
    }

    /// Splits into the number and the unit after it, with optional blanks between them.
    fn split(self, text: &str) -> Result<(Decimal, &str), UnitError> {
        let trimmed = text.trim();
        if trimmed.starts_with('-') {
            return Err(UnitError::Negative { text: text.into(), what: self.what });
        }
        let end = number_end(trimmed);
        let (number, unit) = trimmed.split_at(end);
        let number = Decimal::parse(number).map_err(|fault| match fault {
            decimal::Fault::TooManyDigits => {
                UnitError::TooManyDigits { text: text.into(), limit: Decimal::DIGITS }
            }
            decimal::Fault::NotANumber => {
                UnitError::NoNumber { text: text.into(), what: self.what, example: self.example }
            }
        })?;
        Ok((number, unit.trim_start()))
    }
}

/// Finds where the number ends: digits, a point, and an exponent such as `e-05`.
fn number_end(text: &str) -> usize {
    let rest_at = |from: usize, is_part: fn(char) -> bool| {
        text[from..].find(|letter| !is_part(letter)).map_or(text.len(), |more| from + more)
    };
    let end = rest_at(0, |letter| letter.is_ascii_digit() || letter == '.');
    let Some(exponent) = text[end..].strip_prefix(['e', 'E']) else { return end };
    let signed = end + 1 + usize::from(exponent.starts_with(['+', '-']));
    let after = rest_at(signed, |letter| letter.is_ascii_digit());
    if after > signed { after } else { end }
}

/// A unit of time, for numbers that are written without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeUnit {
    picoseconds: u128,
}

impl TimeUnit {
    /// Parses a number in this unit, to the nearest picosecond.
    pub fn times(self, number: &str) -> Result<Time, UnitError> {
        let (count, rest) = TIME.split(number)?;
        if rest.is_empty() { to_time(count, self.picoseconds, number) } else { time(number) }
    }
}

impl FromStr for TimeUnit {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<TimeUnit, UnitError> {
        let unit = text.trim();
        let picoseconds = time_unit(unit).ok_or_else(|| TIME.unknown(text, unit))?;
        Ok(TimeUnit { picoseconds })
    }
}

/// Picoseconds in a unit of time.
fn time_unit(unit: &str) -> Option<u128> {
    Some(match unit {
        "ps" => 1,
        "ns" => 1_000,
        // The micro sign and the Greek letter mu look the same and are both in use.
        "us" | "µs" | "μs" => 1_000_000,
        "ms" => 1_000_000_000,
        "s" => 1_000_000_000_000,
        "min" => 60_000_000_000_000,
        _ => return None,
    })
}

/// Bytes in a unit of size.
fn byte_unit(unit: &str) -> Option<u128> {
    Some(match unit {
        "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return None,
    })
}

/// Bits in a unit of bits.
fn bit_unit(unit: &str) -> Option<u128> {
    let prefix = unit.strip_suffix("bit").or_else(|| unit.strip_suffix('b'))?;
    Some(match prefix {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        _ => return None,
    })
}

/// A time with its unit, to the nearest picosecond. Only 0 may go without a unit.
pub fn time(text: &str) -> Result<Time, UnitError> {
    let (number, unit) = TIME.split(text)?;
    if unit.is_empty() {
        return if number.is_zero() { Ok(Time::ZERO) } else { Err(TIME.no_unit(text)) };
    }
    let scale = time_unit(unit).ok_or_else(|| TIME.unknown(text, unit))?;
    to_time(number, scale, text)
}

fn to_time(number: Decimal, picoseconds: u128, text: &str) -> Result<Time, UnitError> {
    let ps = number.scaled(picoseconds, 1).and_then(|ps| u64::try_from(ps).ok());
    // The largest u64 stands for "never".
    ps.filter(|&ps| ps < u64::MAX).map(Time).ok_or_else(|| TIME.too_large(text))
}

/// A size in bytes; a bare number is bytes. `1M` could mean 10^6 or 2^20, so it is refused.
pub fn bytes(text: &str) -> Result<u64, UnitError> {
    let is_bare = text.chars().all(|letter| !letter.is_alphabetic() || matches!(letter, 'e' | 'E'));
    if let Some(bytes) = count(text).filter(|_| is_bare) {
        return Ok(bytes);
    }
    let (number, unit) = BYTES.split(text)?;
    if matches!(unit, "k" | "K" | "M" | "G" | "T") {
        let letter = if unit == "k" { "K" } else { unit };
        return Err(UnitError::Ambiguous {
            text: text.into(),
            decimal: format!("{unit}B"),
            binary: format!("{letter}iB"),
        });
    }
    let scale = if unit.is_empty() { Some(1) } else { byte_unit(unit) };
    let scale = scale.ok_or_else(|| BYTES.unknown(text, unit))?;
    if !number.is_whole_in(scale) {
        return Err(UnitError::NotWhole { text: text.into() });
    }
    let count = number.scaled(scale, 1).and_then(|count| u64::try_from(count).ok());
    count.ok_or_else(|| BYTES.too_large(text))
}

/// The word for no limit.
const UNLIMITED: &str = "unlimited";

/// Parses a largest allowed size, or `unlimited`, which gives the largest number.
pub fn limit(text: &str) -> Result<u64, UnitError> {
    if text.trim() == UNLIMITED { Ok(u64::MAX) } else { bytes(text) }
}

/// Parses a frequency and returns its period, to the nearest picosecond.
pub fn period(text: &str) -> Result<Time, UnitError> {
    let (number, unit) = FREQUENCY.split(text)?;
    let scale = match unit {
        "Hz" => 1,
        "kHz" => 1_000,
        "MHz" => 1_000_000,
        "GHz" => 1_000_000_000,
        "" => return Err(FREQUENCY.no_unit(text)),
        _ => return Err(FREQUENCY.unknown(text, unit)),
    };
    if number.is_zero() {
        let mend = "remove the source or use `none`";
        return Err(UnitError::Zero { text: text.into(), mend });
    }
    let ps = number.reciprocal(1_000_000_000_000, scale).and_then(|ps| u64::try_from(ps).ok());
    match ps {
        Some(0) => Err(FREQUENCY.too_large(text)),
        Some(ps) if ps < u64::MAX => Ok(Time(ps)),
        _ => Err(UnitError::Zero { text: text.into(), mend: "its period is longer than 213 days" }),
    }
}

/// Parses a time per byte, written directly (`6ns`, `0.6ns/B`) or as a bandwidth (`25GB/s`, `200Gb/s`), to
/// the nearest fixed-point value.
pub fn per_byte(text: &str) -> Result<PerByte, UnitError> {
    let (number, unit) = RATE.split(text)?;
    let fraction = 1 << PerByte::FRACTION_BITS;
    let unit_of_time = unit.strip_suffix("/B").unwrap_or(unit);
    let bits = if unit.is_empty() {
        return if number.is_zero() { Ok(PerByte::ZERO) } else { Err(RATE.no_unit(text)) };
    } else if let Some(scale) = time_unit(unit_of_time) {
        number.scaled(scale * fraction, 1)
    } else {
        let amount = unit.strip_suffix("/s").ok_or_else(|| RATE.unknown(text, unit))?;
        if number.is_zero() {
            let mend = "write 0 for bytes that take no time";
            return Err(UnitError::Zero { text: text.into(), mend });
        }
        let second = 1_000_000_000_000 * fraction;
        match (byte_unit(amount), bit_unit(amount)) {
            (Some(scale), _) => number.reciprocal(second, scale),
            (None, Some(scale)) => number.reciprocal(second * 8, scale),
            _ => return Err(RATE.unknown(text, unit)),
        }
    };
    let bits = bits.and_then(|bits| u64::try_from(bits).ok());
    bits.map(PerByte::from_bits).ok_or_else(|| RATE.too_large(text))
}

impl FromStr for Time {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Time, UnitError> {
        time(text)
    }
}

impl FromStr for PerByte {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<PerByte, UnitError> {
        per_byte(text)
    }
}

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Bytes, UnitError> {
        bytes(text).map(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        for (text, ps) in [
            ("5.33us", 5_330_000),
            ("5.33µs", 5_330_000),
            ("5.33 μs", 5_330_000),
            ("2500ns", 2_500_000),
            ("1.1ps", 1),
            ("1.5ps", 2),
            ("3ms", 3_000_000_000),
            ("2s", 2_000_000_000_000),
            ("1min", 60_000_000_000_000),
            ("0", 0),
            (".5ns", 500),
            ("0.000000000001s", 1),
        ] {
            assert_eq!(time(text), Ok(Time(ps)), "{text}");
        }
    }

    #[test]
    fn a_unit_by_itself() {
        let unit: TimeUnit = "us".parse().unwrap();
        assert_eq!(unit.times("173.5"), Ok(Time(173_500_000)));
        assert_eq!(unit.times("2ms"), Ok(Time(2_000_000_000)));
        assert!(matches!(unit.times("-1"), Err(UnitError::Negative { .. })));
        assert!(matches!("furlong".parse::<TimeUnit>(), Err(UnitError::UnknownUnit { .. })));
    }

    #[test]
    fn sizes_and_frequencies() {
        for (text, count) in [
            ("1MiB", 1 << 20),
            ("64KiB", 65536),
            ("1kB", 1000),
            ("65535", 65535),
            ("8B", 8),
            ("1.5KiB", 1536),
        ] {
            assert_eq!(bytes(text), Ok(count), "{text}");
        }
        assert_eq!(period("10Hz"), Ok(Time(100_000_000_000)));
        assert_eq!(period("1kHz"), Ok(Time(1_000_000_000)));
        assert_eq!(period("0.5Hz"), Ok(Time(2_000_000_000_000)));
    }

    #[test]
    fn rates_by_time_and_by_bandwidth() {
        assert_eq!(per_byte("6ns"), Ok(PerByte::from_ps(6000)));
        assert_eq!(per_byte("0.6ns/B"), Ok(PerByte::from_ps(600)));
        assert_eq!(per_byte("25GB/s"), Ok(PerByte::from_ps(40)));
        assert_eq!(per_byte("200Gb/s"), Ok(PerByte::from_ps(40)));
        assert_eq!(per_byte("200Gbit/s"), Ok(PerByte::from_ps(40)));
        assert_eq!(per_byte("0"), Ok(PerByte::ZERO));
        // 10^12 / (12.5 * 2^30) ps = 74.505805969238...; times 2^32 is 320,000,000,000 exactly.
        assert_eq!(per_byte("12.5GiB/s"), Ok(PerByte::from_bits(320_000_000_000)));
        // 1.1 * 2^32 = 4,724,464,025.6
        assert_eq!(per_byte("1.1ps"), Ok(PerByte::from_bits(4_724_464_026)));
    }
}
