//! Whole numbers within bounds, as [`units::count`] reads them.

use std::fmt::Display;
use std::ops::RangeBounds;
use straggler_model::units::{self, group_whole_part};

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
    use std::ops::Bound::{Excluded, Included, Unbounded};
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
