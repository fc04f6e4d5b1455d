//! Ranges of ranks, rounds and times as typed.

use std::str::FromStr;
use straggler_model::{Rank, Time};

/// `0-7,9`: first and last rank of each range, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankRanges(pub Vec<(Rank, Rank)>);

impl FromStr for RankRanges {
    type Err = String;

    fn from_str(text: &str) -> Result<RankRanges, String> {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            match (first.trim().parse::<Rank>(), last.trim().parse::<Rank>()) {
                (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
                _ => Err(format!("`{part}` is neither a rank nor FIRST-LAST; write ranks like 0-7,9")),
            }
        };
        text.split(',').map(range).collect::<Result<_, _>>().map(RankRanges)
    }
}

/// `2-5,8`: first and last round of each range, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounds(pub Vec<(u32, u32)>);

impl FromStr for Rounds {
    type Err = String;

    fn from_str(text: &str) -> Result<Rounds, String> {
        let wrong = |_| format!("`{text}` is not a list of rounds; write them like 2-5,8");
        text.parse::<RankRanges>().map(|ranges| Rounds(ranges.0)).map_err(wrong)
    }
}

/// `10us-50us`: start included, end excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    pub from: Time,
    pub to: Time,
}

impl FromStr for TimeRange {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeRange, String> {
        let Some((from, to)) = text.split_once('-') else {
            return Err(format!("`{text}` is not FROM-TO; write times like 10us-50us"));
        };
        let time = |text: &str| text.trim().parse::<Time>().map_err(|fault| fault.to_string());
        let (from, to) = (time(from)?, time(to)?);
        if from < to { Ok(TimeRange { from, to }) } else { Err(format!("{from} is not before {to}")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_times() {
        assert_eq!("0-7,9".parse(), Ok(RankRanges(vec![(0, 7), (9, 9)])));
        assert!("7-0".parse::<RankRanges>().is_err());
        assert!("".parse::<RankRanges>().is_err());
        let range: TimeRange = "10us-50us".parse().unwrap();
        assert_eq!((range.from, range.to), (Time(10_000_000), Time(50_000_000)));
        assert!("50us-10us".parse::<TimeRange>().is_err());
        assert!("50us".parse::<TimeRange>().is_err());
    }
}
