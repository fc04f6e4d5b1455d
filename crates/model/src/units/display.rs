//! Formatting of quantities, for people and for parsing back.

use super::UNLIMITED;
use super::decimal::point_from_right;
use super::{group_whole_part, grouped};
use crate::{PerByte, Time};
use std::fmt;

/// A number of bytes, for printing and for command lines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Bytes(pub u64);

const BINARY: [(u64, &str); 4] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];

const DECIMAL: [(u64, &str); 4] =
    [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];

/// The largest unit of which this is a multiple below 10,000, binary or decimal; else plain bytes up to 10,000; else
/// three significant digits.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = BINARY.into_iter().chain(DECIMAL);
        let even = units
            .filter(|(scale, _)| (1..10_000).contains(&(self.0 / scale)) && self.0.is_multiple_of(*scale));
        if let Some((scale, unit)) = even.max_by_key(|(scale, _)| *scale) {
            return f.pad(&format!("{} {unit}", grouped(self.0 / scale)));
        }
        if self.0 < 10_000 {
            return f.pad(&format!("{} B", grouped(self.0)));
        }
        // The unit and the digits are those of the rounded number: 1023.9 KiB are 1.00 MiB.
        let fills = |scale: u64| self.0 >= scale - scale / 2048;
        let (scale, unit) = BINARY.into_iter().find(|&(scale, _)| fills(scale)).unwrap_or((1, "B"));
        let value = self.0 as f64 / scale as f64;
        let digits = usize::from(value < 99.95) + usize::from(value < 9.995);
        f.pad(&format!("{} {unit}", group_whole_part(&format!("{value:.digits$}"))))
    }
}

/// Picoseconds or nanoseconds a byte with all the digits that matter: `1.1 ps/B`, `6 ns/B`.
impl fmt::Display for PerByte {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, unit) = shortest(*self);
        f.pad(&format!("{number} {unit}/B"))
    }
}

/// The shortest decimal that [`super::per_byte`] rounds back to the same fixed-point value.
fn shortest(rate: PerByte) -> (String, &'static str) {
    let one = 1u128 << PerByte::FRACTION_BITS;
    let bits = u128::from(rate.bits());
    let mut decimals = 0;
    // 10^-10 is finer than 2^-32, so ten decimals always suffice.
    let digits = loop {
        let power = 10u128.pow(decimals);
        let digits = (bits * power + one / 2) >> PerByte::FRACTION_BITS;
        if (digits * one + power / 2) / power == bits || decimals == 10 {
            break digits;
        }
        decimals += 1;
    };
    if bits >= 1000 * one {
        (point_from_right(digits, decimals as usize + 3), "ns")
    } else {
        (point_from_right(digits, decimals as usize), "ps")
    }
}

/// Writes a time so that [`super::time`] reads it back exactly, in the largest unit that needs no
/// leading zero.
pub fn write_time(time: Time) -> String {
    const UNITS: [(usize, &str); 4] = [(12, "s"), (9, "ms"), (6, "us"), (3, "ns")];
    let unit = UNITS.into_iter().find(|&(decimals, _)| time.ps() >= 10u64.pow(decimals as u32));
    let (decimals, unit) = unit.unwrap_or((0, "ps"));
    format!("{}{unit}", point_from_right(u128::from(time.ps()), decimals))
}

/// Writes a time per byte so that [`super::per_byte`] reads it back exactly.
pub fn write_per_byte(rate: PerByte) -> String {
    let (number, unit) = shortest(rate);
    format!("{number}{unit}")
}

/// Writes a size so that [`super::bytes`] reads it back exactly.
pub fn write_bytes(count: u64) -> String {
    let even = BINARY.into_iter().find(|(scale, _)| count >= *scale && count.is_multiple_of(*scale));
    match even {
        Some((scale, unit)) => format!("{}{unit}", count / scale),
        None => format!("{count}B"),
    }
}

/// Writes a size limit so that [`super::limit`] reads it back exactly.
pub fn write_limit(limit: u64) -> String {
    if limit == u64::MAX { UNLIMITED.into() } else { write_bytes(limit) }
}

/// Formats a size limit for people.
pub fn limit_in_words(limit: u64) -> String {
    if limit == u64::MAX { UNLIMITED.into() } else { Bytes(limit).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_can_read_it() {
        assert_eq!(Bytes(8).to_string(), "8 B");
        assert_eq!(Bytes(65536).to_string(), "64 KiB");
        assert_eq!(Bytes(65432).to_string(), "63.9 KiB");
        assert_eq!(Bytes(9059).to_string(), "9,059 B");
        assert_eq!(Bytes(1_000_000).to_string(), "1 MB");
        assert_eq!(Bytes(1_500_000).to_string(), "1,500 kB");
        assert_eq!(Bytes(1_024_000).to_string(), "1,000 KiB");
        assert_eq!(Bytes(10_000_000_000).to_string(), "10 GB");
        assert_eq!(Bytes(102_350).to_string(), "100 KiB");
        assert_eq!(Bytes((1 << 20) - 1).to_string(), "1.00 MiB");
        assert_eq!(Bytes(3 << 20).to_string(), "3 MiB");
        assert_eq!(PerByte::from_ps(6000).to_string(), "6 ns/B");
        assert_eq!(PerByte::from_ps(1250).to_string(), "1.25 ns/B");
        assert_eq!(PerByte::ZERO.to_string(), "0 ps/B");
        assert_eq!("1.1ps".parse::<PerByte>().unwrap().to_string(), "1.1 ps/B");
    }

    #[test]
    fn written_in_the_unit_one_would_type() {
        assert_eq!(write_time(Time(5_330_000)), "5.33us");
        assert_eq!(write_time(Time(0)), "0ps");
        assert_eq!(write_time(Time(60_000_000_000_000)), "60s");
        assert_eq!(write_bytes(65000), "65000B");
        assert_eq!(write_bytes(1 << 20), "1MiB");
        assert_eq!(write_limit(65000), "65000B");
        assert_eq!(write_limit(u64::MAX), "unlimited");
        assert_eq!(limit_in_words(u64::MAX), "unlimited");
    }
}
