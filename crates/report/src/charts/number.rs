//! Numbers in charts, in suitable units. The page formats them in the same way
//! (`web/report/src/format/number.ts`), except for its narrow space before a unit.

use crate::numbers::{group_whole_part, is_factor};
use crate::page::Unit;

const SI: [(f64, &str); 11] = [
    (1e15, "P"),
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
    (1e-12, "p"),
    (1e-15, "f"),
];
const IEC: [(f64, &str); 6] = [
    (1125899906842624.0, "Pi"),
    (1099511627776.0, "Ti"),
    (1073741824.0, "Gi"),
    (1048576.0, "Mi"),
    (1024.0, "Ki"),
    (1.0, ""),
];

/// Tolerance for the rounding of numbers that are meant to be whole.
const NEARLY: f64 = 0.9999999999;
/// From here on a share is written as a factor: 12× instead of 1,200 %.
pub const TENFOLD: f64 = 10.0;

impl Unit {
    /// A number of this unit as charts write it: three significant digits.
    pub fn brief(self, value: f64) -> String {
        brief(value, self)
    }
}

/// A number that stands alone, in three significant digits; whole numbers keep all of theirs.
pub fn brief(value: f64, unit: Unit) -> String {
    const DIGITS: usize = 3;
    if !value.is_finite() {
        return "–".into();
    }
    if unit == Unit::Slowdown && is_factor(value) {
        return brief(value + 1.0, Unit::Factor);
    }
    let (mut factor, mut suffix) = prefix(value.abs(), unit);
    // 999.9996 ms in three digits is 1 s, not 1000 ms.
    let rounded = format!("{:.*e}", DIGITS - 1, value / factor).parse::<f64>().unwrap_or(0.0);
    let has_next = matches!(unit, Unit::Seconds | Unit::Hertz | Unit::BytesPerSecond | Unit::Share);
    if rounded.abs() >= 1000.0 && has_next {
        (factor, suffix) = prefix(value.abs() * (1.0 + 10f64.powi(-(DIGITS as i32))), unit);
    }
    plus(value, unit) + &significant(value / factor, DIGITS as i32) + &suffix
}

/// The label of a tick: in the prefix that suits the largest value of the axis, with as many decimals as steps need.
pub fn tick(value: f64, unit: Unit, step: f64, largest: f64) -> String {
    if unit == Unit::Slowdown && is_factor(value) {
        return tick(value + 1.0, Unit::Factor, step, largest);
    }
    let (factor, suffix) = prefix(largest, unit);
    let decimals = (-((step / factor).log10() + 1e-9).floor()).clamp(0.0, 12.0) as usize;
    let value = value / factor;
    if value.abs() >= 1e15 {
        return plus(value, unit) + &significant(value, 3) + &suffix;
    }
    plus(value, unit) + &signed(value, &format!("{:.decimals$}", value.abs())) + &suffix
}

/// The sign of added time.
fn plus(value: f64, unit: Unit) -> String {
    if unit == Unit::Slowdown && value > 0.0 { "+".into() } else { String::new() }
}

fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-4..15).contains(&magnitude) {
        let text = format!("{:.*e}", (digits - 1) as usize, value);
        let (number, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", trimmed(number)).replace('-', "\u{2212}");
    }
    let decimals = (digits - 1 - magnitude).max(0) as usize;
    signed(value, trimmed(&format!("{:.decimals$}", value.abs())))
}

fn signed(value: f64, digits: &str) -> String {
    let is_zero = !digits.bytes().any(|digit| digit.is_ascii_digit() && digit != b'0');
    let sign = if value < 0.0 && !is_zero { "\u{2212}" } else { "" };
    format!("{sign}{}", group_whole_part(digits))
}

/// Removes trailing zeros of decimals.
fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// The divisor for numbers of this size.
pub fn factor(size: f64, unit: Unit) -> f64 {
    prefix(size, unit).0
}

/// The divisor for a number of this size, and the suffix.
fn prefix(size: f64, unit: Unit) -> (f64, String) {
    match unit {
        // Nobody writes kiloseconds.
        Unit::Seconds => scaled(size, &SI[5..], "s"),
        Unit::Hertz => scaled(size, &SI, "Hz"),
        Unit::Bytes => scaled(size, &IEC, "B"),
        Unit::BytesPerSecond => scaled(size, &SI[..6], "B/s"),
        Unit::Slowdown => (0.01, " %".into()),
        Unit::Share if size < TENFOLD * NEARLY => (0.01, " %".into()),
        Unit::Share | Unit::Factor => (1.0, "×".into()),
        Unit::Count | Unit::None => (1.0, String::new()),
    }
}

fn scaled(size: f64, prefixes: &[(f64, &str)], symbol: &str) -> (f64, String) {
    let fitting = prefixes.iter().find(|(factor, _)| size >= factor * NEARLY).or(prefixes.last());
    let (factor, name) = fitting.copied().filter(|_| size != 0.0).unwrap_or((1.0, ""));
    (factor, format!(" {name}{symbol}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_stand_alone_are_short() {
        for (value, unit, text) in [
            (250.0, Unit::Hertz, "250 Hz"),
            (1234.5, Unit::Hertz, "1.23 kHz"),
            (0.1, Unit::Hertz, "100 mHz"),
            (0.0, Unit::Seconds, "0 s"),
            (0.99999, Unit::Seconds, "1 s"),
            (1e3, Unit::Seconds, "1,000 s"),
            (1.2e-13, Unit::Seconds, "120 fs"),
            (-2.5e-3, Unit::Seconds, "\u{2212}2.5 ms"),
            (1536.0, Unit::Bytes, "1.5 KiB"),
            (2.5e9, Unit::BytesPerSecond, "2.5 GB/s"),
            (12.0, Unit::Factor, "12×"),
            (1048576.0, Unit::Count, "1,048,576"),
            (1e-7, Unit::None, "1e\u{2212}7"),
            (f64::NAN, Unit::Seconds, "–"),
        ] {
            assert_eq!(brief(value, unit), text);
        }
    }

    #[test]
    fn slowdowns_are_added_time() {
        for (value, text) in [
            (0.0, "0 %"),
            (0.1234, "+12.3 %"),
            (-0.05, "\u{2212}5 %"),
            (0.999, "2×"),
            (9.0, "10×"),
            (49309.0, "49,310×"),
        ] {
            assert_eq!(brief(value, Unit::Slowdown), text);
        }
        let labels = [0.0, 5.0, 10.0].map(|value| tick(value, Unit::Slowdown, 5.0, 20.0));
        assert_eq!(labels, ["0 %", "6×", "11×"]);
        let labels = [0.5, 1.0, 1.5].map(|value| tick(value, Unit::Slowdown, 0.5, 1.5));
        assert_eq!(labels, ["+50 %", "2.0×", "2.5×"]);
        let labels = [-0.005, 0.0, 0.005].map(|value| tick(value, Unit::Slowdown, 0.005, 0.01));
        assert_eq!(labels, ["\u{2212}0.5 %", "0.0 %", "+0.5 %"]);
    }

    /// 4,931,000 % are 49,310×.
    #[test]
    fn large_shares_are_factors() {
        for (value, text) in [
            (0.1234, "12.3 %"),
            (9.9, "990 %"),
            (9.9999, "10×"),
            (10.0, "10×"),
            (24.73, "24.7×"),
            (49310.0, "49,310×"),
        ] {
            assert_eq!(brief(value, Unit::Share), text);
        }
        assert_eq!(tick(5.0, Unit::Share, 5.0, 20.0), "5×");
        assert_eq!(tick(0.5, Unit::Share, 0.25, 1.0), "50 %");
    }

    #[test]
    fn ticks_of_one_axis_share_prefix_and_decimals() {
        let labels = [0.0, 0.5e-3, 1e-3].map(|value| tick(value, Unit::Seconds, 0.5e-3, 1.5e-3));
        assert_eq!(labels, ["0.0 ms", "0.5 ms", "1.0 ms"]);
        assert_eq!(tick(-1.25, Unit::Factor, 0.05, 2.0), "\u{2212}1.25×");
    }
}
