//! Numbers at the ticks of an axis, in the unit a person would choose.

use crate::numbers::grouped;

/// What the numbers of an axis are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unit {
    Seconds,
    Hertz,
    /// How many there are: `100`, `10k`, `1M`.
    #[default]
    Count,
    /// The same with 1k = 1,024, for powers of two.
    Processes,
    /// A factor: `1.5×`.
    Times,
    /// A share, shown in percent.
    Share,
    /// Without any unit.
    Plain,
    Bytes,
    BytesPerSecond,
}

type Scales = &'static [(f64, &'static str)];

const SECONDS: Scales = &[(1.0, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns"), (1e-12, " ps")];
const HERTZ: Scales = &[(1e9, " GHz"), (1e6, " MHz"), (1e3, " kHz"), (1.0, " Hz"), (1e-3, " mHz")];
const COUNT: Scales = &[(1e9, "G"), (1e6, "M"), (1e4, "k"), (1.0, "")];
const PROCESSES: Scales = &[(1073741824.0, "G"), (1048576.0, "M"), (1024.0, "k"), (1.0, "")];
const BYTES: Scales = &[(1073741824.0, " GiB"), (1048576.0, " MiB"), (1024.0, " KiB"), (1.0, " B")];
const BYTES_PER_SECOND: Scales = &[(1e9, " GB/s"), (1e6, " MB/s"), (1e3, " kB/s"), (1.0, " B/s")];

impl Unit {
    /// `value` as text, in the unit that suits `reference`, exact to a multiple of `step`.
    pub fn label(self, value: f64, reference: f64, step: f64) -> String {
        let (scale, suffix) = self.scale(reference);
        let (value, step) = (value / scale, step / scale);
        let size = value.abs();
        if size == 0.0 {
            return format!("0{suffix}");
        }
        if size >= 1e7 || (size > 0.0 && size < 1e-4) {
            return format!("{value:.2e}{suffix}").replace(".00e", "e");
        }
        let decimals = if step > 0.0 { (-(step.log10() + 1e-9).floor()).clamp(0.0, 9.0) as usize } else { 2 };
        format!("{}{suffix}", with_commas(&format!("{:.decimals$}", value)))
    }

    /// A number that stands alone, in three significant digits.
    pub fn show(self, value: f64) -> String {
        let magnitude = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
        let step = 10f64.powf(magnitude - 2.0);
        let (scale, suffix) = self.scale(value.abs());
        let text = self.label(value, value.abs(), if step >= scale { scale } else { step });
        let number = text.strip_suffix(suffix).unwrap_or(&text);
        let number = match number.contains('.') && !number.contains('e') {
            true => number.trim_end_matches('0').trim_end_matches('.'),
            false => number,
        };
        format!("{number}{suffix}")
    }

    fn scale(self, reference: f64) -> (f64, &'static str) {
        let scales = match self {
            Unit::Seconds => SECONDS,
            Unit::Hertz => HERTZ,
            Unit::Count => COUNT,
            Unit::Processes => PROCESSES,
            Unit::Times => return (1.0, "×"),
            Unit::Share => return (0.01, " %"),
            Unit::Plain => return (1.0, ""),
            Unit::Bytes => BYTES,
            Unit::BytesPerSecond => BYTES_PER_SECOND,
        };
        // 999.9999999 µs from a rounding error is 1 ms.
        let reference = reference.abs() * (1.0 + 1e-9);
        if reference <= 1e-9
            && matches!(
                self,
                Unit::Count | Unit::Processes | Unit::Hertz | Unit::Bytes | Unit::BytesPerSecond
            )
            || reference == 0.0
        {
            return scales.iter().copied().find(|(scale, _)| *scale == 1.0).unwrap_or((1.0, ""));
        }
        let smallest = scales.last().copied().unwrap_or((1.0, ""));
        let (scale, suffix) =
            scales.iter().copied().find(|(scale, _)| reference >= *scale).unwrap_or(smallest);
        // Counts get their k at ten thousand, but a k is still a thousand.
        (if suffix == "k" && self == Unit::Count { 1e3 } else { scale }, suffix)
    }
}

fn with_commas(number: &str) -> String {
    let (sign, rest) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (whole, decimals) = rest.split_once('.').map_or((rest, ""), |(whole, decimals)| (whole, decimals));
    let whole = whole.parse::<u64>().map_or_else(|_| whole.to_string(), grouped);
    let is_zero = (whole.bytes().chain(decimals.bytes())).all(|digit| digit == b'0');
    let (sign, dot) = (if is_zero { "" } else { sign }, if decimals.is_empty() { "" } else { "." });
    format!("{sign}{whole}{dot}{decimals}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_read_as_people_write_them() {
        for (unit, value, text) in [
            (Unit::Seconds, 1e-6, "1 µs"),
            (Unit::Seconds, 1e-3, "1 ms"),
            (Unit::Seconds, 1e-5, "10 µs"),
            (Unit::Seconds, 1e3, "1,000 s"),
            (Unit::Seconds, 1e-15, "0.001 ps"),
            (Unit::Seconds, 1e-20, "1e-8 ps"),
            (Unit::Hertz, 1e3, "1 kHz"),
            (Unit::Hertz, 0.1, "100 mHz"),
            (Unit::Count, 1e3, "1,000"),
            (Unit::Count, 1e4, "10k"),
            (Unit::Count, 1e6, "1M"),
            (Unit::Times, 0.1, "0.1×"),
            (Unit::Share, 0.1, "10 %"),
        ] {
            assert_eq!(unit.label(value, value, value), text);
        }
    }

    #[test]
    fn ticks_of_one_axis_share_their_unit() {
        assert_eq!(Unit::Seconds.label(0.0, 2e-3, 5e-4), "0 ms");
        assert_eq!(Unit::Seconds.label(5e-4, 2e-3, 5e-4), "0.5 ms");
        assert_eq!(Unit::Times.label(-1.25, 2.0, 0.05), "-1.25×");
    }

    #[test]
    fn numbers_that_stand_alone_are_short() {
        for (unit, value, text) in [
            (Unit::Hertz, 250.0, "250 Hz"),
            (Unit::Hertz, 1234.5, "1.23 kHz"),
            (Unit::Seconds, 0.0, "0 s"),
            (Unit::Share, 0.1234, "12.3 %"),
            (Unit::Times, 12.0, "12×"),
            (Unit::Processes, 1536.0, "1.5k"),
            (Unit::Processes, 16384.0, "16k"),
            (Unit::Processes, 1048576.0, "1M"),
            (Unit::Count, 123456.0, "123k"),
        ] {
            assert_eq!(unit.show(value), text);
        }
    }
}
