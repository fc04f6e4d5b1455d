//! Whole numbers within bounds, as [`units::count`] reads them.

use crate::kernel::Outcome;
use clap::Error;
use clap::builder::{OsStringValueParser, PathBufValueParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::{Deref, RangeBounds};
use std::{fmt::Display, path::PathBuf, str::FromStr};
use straggler_measure::cores;
use straggler_model::units::{self, group_whole_part};
use straggler_model::{Rank, Time, path_text::text_of, spelling::nearest};
use straggler_noise::NoiseSpec;

/// Numbers that options take.
pub trait Whole: TryFrom<u128> + PartialOrd + Display + Copy {
    /// The largest one.
    const MOST: Self;
}

macro_rules! whole {
    ($($number:ty),*) => { $(impl Whole for $number { const MOST: Self = <$number>::MAX; })* };
}
whole!(u8, u16, u32, u64, usize);

/// A parser of numbers within some bounds.
pub fn count<T>(
    bounds: impl RangeBounds<T> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: Whole,
{
    move |text| {
        let typed = units::wide_count(text)
            .ok_or_else(|| "not a whole number: write it as 1000, 1,000, 1e6, 1M or 2^20".to_string())?;
        let number = T::try_from(typed).ok();
        if let Some(number) = number.filter(|number| bounds.contains(number)) {
            return Ok(number);
        }
        let least = match bounds.start_bound() {
            Included(least) | Excluded(least) => format!("at least {}", with_commas(least)),
            Unbounded => String::new(),
        };
        let most = match bounds.end_bound() {
            Included(most) => format!("at most {}", with_commas(most)),
            Excluded(most) => format!("less than {}", with_commas(most)),
            Unbounded if number.is_none() => format!("at most {}", with_commas(&T::MOST)),
            Unbounded => String::new(),
        };
        let both =
            [least, most].into_iter().filter(|bound| !bound.is_empty()).collect::<Vec<_>>().join(" and ");
        Err(format!("{} is out of range: it must be {both}", with_commas(&typed)))
    }
}

fn with_commas(number: &impl Display) -> String {
    group_whole_part(&number.to_string())
}

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

/// Parses text that may hold a path, which need not be UTF-8.
pub fn text() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(|typed| text_of(&typed))
}

/// Parses noise: the path of an existing file, or else a noise spec.
pub fn noise() -> impl TypedValueParser<Value = NoiseSpec> {
    OsStringValueParser::new().try_map(|typed| NoiseSpec::of_typed(&text_of(&typed)))
}

/// Parses a path whose name must pass a check.
pub fn path(pleases: fn(PathBuf) -> Result<PathBuf, String>) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(pleases)
}

/// Adds the value that was probably meant to the error.
pub fn with_value(mut error: Error) -> Error {
    let meant = match (error.get(ContextKind::InvalidValue), error.get(ContextKind::ValidValue)) {
        (Some(ContextValue::String(typed)), Some(ContextValue::Strings(valid))) => {
            nearest(typed, valid.iter().map(String::as_str)).map(String::from)
        }
        _ => None,
    };
    if let Some(value) = meant.filter(|_| error.get(ContextKind::SuggestedValue).is_none()) {
        error.insert(ContextKind::SuggestedValue, ContextValue::String(value));
    }
    error
}

/// `0-3,8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreList(pub Vec<u32>);

pub fn cores_list(text: &str) -> Result<CoreList, String> {
    cores::parse(text).map(CoreList).map_err(|fault| fault.to_string())
}

/// Options that may contradict each other, or name places that cannot be written.
pub trait Check {
    /// Checks everything that can be checked without doing the work.
    fn check(&self) -> Outcome<()>;
}

/// Options that passed their check.
#[derive(Debug)]
pub struct Valid<T>(T);

impl<T: Check> Valid<T> {
    pub fn new(typed: T) -> Outcome<Valid<T>> {
        typed.check()?;
        Ok(Valid(typed))
    }
}

impl<T> Deref for Valid<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;

    #[test]
    fn bounds_are_named() {
        let small = count::<u32>(1..=10);
        assert_eq!(small("7"), Ok(7));
        assert_eq!(small("1k"), Err("1,000 is out of range: it must be at least 1 and at most 10".into()));
        let large =
            |number: &str| Err(format!("{number} is out of range: it must be at least 1 and at most 255"));
        assert_eq!(count::<u8>(1..)("300"), large("300"));
        assert_eq!(count::<u8>(1..)("1e30"), large(&format!("1{}", ",000".repeat(10))));
        let most = count::<u32>(2..=1 << 26);
        assert_eq!(most("1"), Err("1 is out of range: it must be at least 2 and at most 67,108,864".into()));
    }

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

    #[test]
    fn swapped_letters_are_found() {
        for (line, meant) in [
            ("straggler noise measure --method fqw", Some("fwq")),
            ("straggler latency measure --kernel tpc", Some("tcp")),
            ("straggler noise measure --method something", None),
        ] {
            let error = with_value(Cli::try_parse_from(line.split(' ')).unwrap_err());
            let text = error.to_string();
            match meant {
                Some(meant) => {
                    assert!(text.contains(&format!("a similar value exists: '{meant}'")), "{text}")
                }
                None => assert!(!text.contains("similar"), "{text}"),
            }
        }
    }
}
