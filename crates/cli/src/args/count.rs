//! Whole numbers within bounds, as [`units::count`] reads them.

use std::fmt::Display;
use std::ops::RangeBounds;
use straggler_model::units::{self, group_whole_part, grouped};

/// A parser of numbers within some bounds.
pub fn count<T>(
    bounds: impl RangeBounds<T> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: TryFrom<u64> + PartialOrd + Display + Copy,
{
    use std::ops::Bound::{Excluded, Included, Unbounded};
    move |text| {
        let number = units::count(text)
            .ok_or_else(|| "not a whole number: write it as 1000, 1,000, 1e6, 1M or 2^20".to_string())?;
        let number = T::try_from(number).map_err(|_| format!("{} is too large", grouped(number)))?;
        if bounds.contains(&number) {
            return Ok(number);
        }
        let least = match bounds.start_bound() {
            Included(least) | Excluded(least) => format!("at least {}", with_commas(least)),
            Unbounded => String::new(),
        };
        let most = match bounds.end_bound() {
            Included(most) => format!("at most {}", with_commas(most)),
            Excluded(most) => format!("less than {}", with_commas(most)),
            Unbounded => String::new(),
        };
        let both =
            [least, most].into_iter().filter(|bound| !bound.is_empty()).collect::<Vec<_>>().join(" and ");
        Err(format!("{} is out of range: it must be {both}", with_commas(&number)))
    }
}

fn with_commas(number: &impl Display) -> String {
    group_whole_part(&number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_named() {
        let small = count::<u32>(1..=10);
        assert_eq!(small("7"), Ok(7));
        assert_eq!(small("1k"), Err("1,000 is out of range: it must be at least 1 and at most 10".into()));
        assert_eq!(count::<u8>(1..)("300"), Err("300 is too large".into()));
        assert_eq!(count::<u32>(1..)("1e12"), Err("1,000,000,000,000 is too large".into()));
        let most = count::<u32>(2..=1 << 26);
        assert_eq!(most("1"), Err("1 is out of range: it must be at least 2 and at most 67,108,864".into()));
    }
}
