//! Ranges of sizes and counts in rules.

use straggler_model::units::{self, UnitError};

/// Numbers from the first to the last, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    first: u64,
    last: u64,
}

/// What the numbers count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    Bytes,
    Count,
}

/// Why a text is not a range.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BoundsFault {
    #[error(transparent)]
    Size(#[from] UnitError),
    #[error("`{0}` is not a whole number")]
    Count(String),
    #[error("it is empty; its end must be above its start")]
    Empty,
}

impl Unit {
    fn read(self, text: &str) -> Result<u64, BoundsFault> {
        match self {
            Unit::Bytes => Ok(units::bytes(text)?),
            Unit::Count => text.trim().parse().map_err(|_| BoundsFault::Count(text.trim().to_string())),
        }
    }

    fn write(self, number: u64) -> String {
        match self {
            Unit::Bytes => units::write_bytes(number),
            Unit::Count => number.to_string(),
        }
    }
}

impl Bounds {
    /// Parses `A..B`, which excludes B, `A..=B`, which includes it, or a single number. Either end
    /// may be omitted.
    pub fn parse(text: &str, unit: Unit) -> Result<Bounds, BoundsFault> {
        let Some((first, end)) = text.split_once("..") else {
            let only = unit.read(text)?;
            return Ok(Bounds { first: only, last: only });
        };
        let first = if first.trim().is_empty() { 0 } else { unit.read(first)? };
        let last = match (end.trim(), end.trim().strip_prefix('=')) {
            ("", _) => u64::MAX,
            (_, Some(last)) => unit.read(last)?,
            (end, None) => unit.read(end)?.checked_sub(1).ok_or(BoundsFault::Empty)?,
        };
        if first <= last { Ok(Bounds { first, last }) } else { Err(BoundsFault::Empty) }
    }

    pub fn contains(self, number: u64) -> bool {
        (self.first..=self.last).contains(&number)
    }

    /// A text that [`Bounds::parse`] reads back.
    pub fn write(self, unit: Unit) -> String {
        if self.first == self.last {
            return unit.write(self.first);
        }
        let first = if self.first == 0 { String::new() } else { unit.write(self.first) };
        match self.last.checked_add(1) {
            None => format!("{first}.."),
            // Size ranges mostly end before a round number; counts read better with an inclusive end.
            Some(end) if unit == Unit::Bytes && !self.last.is_multiple_of(1024) => {
                format!("{first}..{}", unit.write(end))
            }
            Some(_) => format!("{first}..={}", unit.write(self.last)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ends_are_in_or_out() {
        let bytes = |text| Bounds::parse(text, Unit::Bytes).unwrap();
        assert!(bytes("..2KiB").contains(2047) && !bytes("..2KiB").contains(2048));
        assert!(bytes("..=2KiB").contains(2048) && !bytes("..=2KiB").contains(2049));
        assert!(bytes("1KiB..").contains(u64::MAX) && !bytes("1KiB..").contains(1023));
        assert!(bytes("..").contains(0) && bytes("..").contains(u64::MAX));
        assert!(bytes(" 8 .. 16 B ").contains(15) && !bytes("8..16").contains(16));
        assert!(bytes("8").contains(8) && !bytes("8").contains(9) && !bytes("8").contains(7));
    }

    #[test]
    fn what_is_no_range() {
        assert_eq!(Bounds::parse("8..8", Unit::Count), Err(BoundsFault::Empty));
        assert_eq!(Bounds::parse("..0", Unit::Bytes), Err(BoundsFault::Empty));
        assert!(matches!(Bounds::parse("8K..", Unit::Bytes), Err(BoundsFault::Size(_))));
        assert_eq!(Bounds::parse("1KiB", Unit::Count), Err(BoundsFault::Count("1KiB".into())));
        assert_eq!(Bounds::parse("...", Unit::Count), Err(BoundsFault::Count(".".into())));
        assert!(Bounds::parse("", Unit::Count).is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(a in any::<u64>(), b in any::<u64>(), shift in 0u32..64) {
            let (first, last) = (a.min(b) >> shift, a.max(b) >> shift);
            for bounds in [Bounds { first, last }, Bounds { first, last: u64::MAX }, Bounds { first: 0, last }] {
                for unit in [Unit::Bytes, Unit::Count] {
                    let text = bounds.write(unit);
                    prop_assert_eq!(Bounds::parse(&text, unit), Ok(bounds), "{}", text);
                }
            }
        }
    }
}
