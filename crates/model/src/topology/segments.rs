//! How messages are cut into segments, which ports serve one by one.

use crate::units;
use std::str::FromStr;

/// How long a segment is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SegmentRule {
    /// 64 KiB, or a sixteenth of the message if that is more.
    #[default]
    Auto,
    /// A message is one segment.
    Whole,
    /// So many bytes.
    Bytes(u64),
}

/// The least segment of [`SegmentRule::Auto`].
const LEAST: u64 = 64 << 10;
/// The most segments of a message, by [`SegmentRule::Auto`] and at all.
const MOST_AUTO: u64 = 16;
const MOST: u64 = 1 << 16;

impl SegmentRule {
    /// The length of the segments of a message; the last may be shorter.
    #[inline(always)]
    pub fn length(self, message: u64) -> u64 {
        match self {
            SegmentRule::Auto if message <= LEAST => LEAST,
            SegmentRule::Auto => message.div_ceil(MOST_AUTO).max(LEAST),
            SegmentRule::Whole => message.max(1),
            SegmentRule::Bytes(bytes) => bytes.max(message.div_ceil(MOST)).max(1),
        }
    }

    /// The number of segments of a message, at least 1.
    #[inline(always)]
    pub fn count(self, message: u64) -> u32 {
        match self {
            SegmentRule::Auto if message <= LEAST => 1,
            SegmentRule::Whole => 1,
            _ => message.div_ceil(self.length(message)).max(1) as u32,
        }
    }

    /// The bytes of one segment of a message.
    #[inline(always)]
    pub fn bytes(self, message: u64, segment: u32) -> u64 {
        let length = self.length(message);
        let begin = length.saturating_mul(segment.into());
        message.saturating_sub(begin).min(length)
    }
}

impl FromStr for SegmentRule {
    type Err = String;

    fn from_str(text: &str) -> Result<SegmentRule, String> {
        match text.trim() {
            "auto" => Ok(SegmentRule::Auto),
            "none" => Ok(SegmentRule::Whole),
            size => match units::bytes(size) {
                Ok(0) => Err("a segment has at least one byte".into()),
                Ok(bytes) => Ok(SegmentRule::Bytes(bytes)),
                Err(fault) => Err(format!("{fault}: write \"auto\", \"none\" or a size such as \"64KiB\"")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn segments_make_up_the_message(message: u64, size in 1u64..1 << 40, rule in 0usize..3) {
            let rule = [SegmentRule::Auto, SegmentRule::Whole, SegmentRule::Bytes(size)][rule];
            let count = rule.count(message);
            prop_assert!((1..=1 << 16).contains(&count));
            if count <= 64 {
                let sum: u64 = (0..count).map(|segment| rule.bytes(message, segment)).sum();
                prop_assert_eq!(sum, message);
            }
            prop_assert!(message == 0 || rule.bytes(message, count - 1) > 0);
            prop_assert_eq!(rule.bytes(message, count), 0);
        }
    }

    #[test]
    fn automatic_segments() {
        let counts =
            [0, 1, 65_536, 65_537, 131_072, 1 << 20, 1 << 30].map(|bytes| SegmentRule::Auto.count(bytes));
        assert_eq!(counts, [1, 1, 1, 2, 2, 16, 16]);
        assert_eq!("none".parse(), Ok(SegmentRule::Whole));
        assert_eq!("4KiB".parse(), Ok(SegmentRule::Bytes(4096)));
        assert!("0B".parse::<SegmentRule>().is_err() && "many".parse::<SegmentRule>().is_err());
    }
}
