//! Simulated time: an unsigned 64-bit count of picoseconds, about 213 days long.

use crate::units::group_whole_part;
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point in simulated time, or a length of it, in picoseconds, as which it is serialised.
///
/// Addition saturates at [`Time::NEVER`], so a run that leaves the representable
/// range ends with that value instead of a wrapped, plausible-looking one.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    bytemuck::Pod,
    bytemuck::Zeroable,
    serde::Serialize,
    serde::Deserialize,
)]
#[repr(transparent)]
#[serde(transparent)]
pub struct Time(pub u64);

impl Time {
    pub const ZERO: Time = Time(0);
    /// Later than any event.
    pub const NEVER: Time = Time(u64::MAX);

    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }

    /// Whole nanoseconds, saturating.
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns.saturating_mul(1_000))
    }

    pub const fn ps(self) -> u64 {
        self.0
    }

    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-12
    }

    /// The length from `earlier` to `self`, zero when `earlier` is later.
    pub const fn since(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }

    pub const fn checked_add(self, other: Time) -> Option<Time> {
        match self.0.checked_add(other.0) {
            Some(ps) => Some(Time(ps)),
            None => None,
        }
    }
}

impl Add for Time {
    type Output = Time;
    #[inline(always)]
    fn add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    #[inline(always)]
    fn add_assign(&mut self, other: Time) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Time;
    #[inline(always)]
    fn sub(self, other: Time) -> Time {
        debug_assert!(self >= other, "{self:?} - {other:?}");
        Time(self.0.saturating_sub(other.0))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ps", self.0)
    }
}

/// The largest unit that leaves at least one digit before the point, four significant digits.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 5] =
            [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "µs"), (1_000, "ns"), (1, "ps")];
        if self.0 == 0 {
            return f.pad("0 s");
        }
        // The unit and the digits are those of the rounded number: 999.96 µs are 1.000 ms.
        let fills = |scale: u64| self.0 >= scale - scale / 20_000;
        let (scale, unit) = UNITS.into_iter().find(|&(scale, _)| fills(scale)).unwrap_or((1, "ps"));
        let value = self.0 as f64 / scale as f64;
        let digits = match value {
            _ if self.0.is_multiple_of(scale) => 0,
            _ if value >= 99.995 => 1,
            _ if value >= 9.9995 => 2,
            _ => 3,
        };
        f.pad(&format!("{} {unit}", group_whole_part(&format!("{value:.digits$}"))))
    }
}

/// Serialises a time, or none, in seconds, not in picoseconds.
pub fn in_seconds<S: serde::Serializer>(
    time: &(impl Into<Option<Time>> + Copy),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let time: Option<Time> = (*time).into();
    serde::Serialize::serialize(&time.map(Time::seconds), serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_the_unit_a_person_would_choose() {
        assert_eq!(Time(0).to_string(), "0 s");
        assert_eq!(Time(999).to_string(), "999 ps");
        assert_eq!(Time::from_ns(5_330).to_string(), "5.330 µs");
        assert_eq!(Time::from_ns(220_000).to_string(), "220 µs");
        assert_eq!(Time(1_234_567_890_123).to_string(), "1.235 s");
        assert_eq!(Time::from_ns(999_940).to_string(), "999.9 µs");
        assert_eq!(Time::from_ns(999_960).to_string(), "1.000 ms");
        assert_eq!(Time::from_ns(99_996).to_string(), "100.0 µs");
        assert_eq!(Time::from_ns(10_011_540_000_000).to_string(), "10,011.5 s");
        assert_eq!(Time::from_ns(460_000_000_000_000).to_string(), "460,000 s");
    }

    #[test]
    fn saturates_instead_of_wrapping() {
        assert_eq!(Time::NEVER + Time(1), Time::NEVER);
        assert_eq!(Time::from_ns(u64::MAX), Time::NEVER);
    }
}
