//! Box plots: five numbers and the outliers.

use super::quantile_of_sorted;

/// A sample as Tukey's box plot shows it: the quartiles, whiskers that reach to the most extreme values within
/// one and a half interquartile ranges of the box, and whatever lies beyond them.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct BoxPlot {
    pub count: usize,
    pub min: u64,
    /// The end of the lower whisker.
    pub low: u64,
    pub q1: u64,
    pub median: u64,
    pub q3: u64,
    /// The end of the upper whisker.
    pub high: u64,
    pub max: u64,
    /// Values beyond the whiskers, ascending.
    pub outliers: Vec<u64>,
}

impl BoxPlot {
    /// Returns `None` for no values.
    pub fn of_sorted(values: &[u64]) -> Option<BoxPlot> {
        let at = |q| quantile_of_sorted(values, q);
        let (q1, q3) = (at(0.25)?, at(0.75)?);
        let reach = 3 * i128::from(q3 - q1);
        // Compares doubled integers, so that a value exactly on the fence is inside.
        let too_low = |value: u64| 2 * i128::from(value) < 2 * i128::from(q1) - reach;
        let too_high = |value: u64| 2 * i128::from(value) > 2 * i128::from(q3) + reach;
        // Quartiles are values inside the fences, so a first and a last one exist.
        let first = values.partition_point(|&value| too_low(value));
        let end = values.partition_point(|&value| !too_high(value));
        let outliers = values.iter().take(first).chain(values.iter().skip(end)).copied().collect();
        Some(BoxPlot {
            count: values.len(),
            min: at(0.0)?,
            low: *values.get(first)?,
            q1,
            median: at(0.5)?,
            q3,
            high: *values.get(end.checked_sub(1)?)?,
            max: at(1.0)?,
            outliers,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 1 to 11 with 30: the quartiles are the 3rd and the 9th of 12, so that the fences stand at 3 − 9 and at
    /// 9 + 9 = 18; a value of 18 would be inside.
    #[test]
    fn by_hand() {
        let mut values: Vec<u64> = (1..=11).chain([30]).collect();
        let plot = BoxPlot::of_sorted(&values).unwrap();
        assert_eq!((plot.q1, plot.median, plot.q3), (3, 6, 9));
        assert_eq!((plot.low, plot.high, plot.min, plot.max), (1, 11, 1, 30));
        assert_eq!(plot.outliers, [30]);
        values[11] = 18;
        let plot = BoxPlot::of_sorted(&values).unwrap();
        assert_eq!((plot.high, plot.outliers.len()), (18, 0));
        values[11] = 19;
        assert_eq!(BoxPlot::of_sorted(&values).unwrap().outliers, [19]);
    }

    #[test]
    fn of_few() {
        assert_eq!(BoxPlot::of_sorted(&[]), None);
        let one = BoxPlot::of_sorted(&[7]).unwrap();
        assert_eq!((one.low, one.q1, one.median, one.q3, one.high), (7, 7, 7, 7, 7));
        assert!(one.outliers.is_empty());
        let wide = BoxPlot::of_sorted(&[0, u64::MAX]).unwrap();
        assert_eq!((wide.low, wide.high), (0, u64::MAX));
    }

    proptest! {
        /// Compared with the definition, in floating point and value by value.
        #[test]
        fn as_it_is_defined(mut values in prop::collection::vec(0u64..200, 1..80)) {
            values.sort_unstable();
            let plot = BoxPlot::of_sorted(&values).unwrap();
            let at_or_below = |x: u64| values.iter().filter(|&&value| value <= x).count() as f64;
            for (quartile, share) in [(plot.q1, 0.25), (plot.median, 0.5), (plot.q3, 0.75)] {
                prop_assert!(values.contains(&quartile));
                let wanted = share * values.len() as f64;
                prop_assert!(at_or_below(quartile) >= wanted);
                prop_assert!(quartile == 0 || at_or_below(quartile - 1) < wanted);
            }
            let reach = 1.5 * (plot.q3 - plot.q1) as f64;
            let inside = |value: &u64| {
                (plot.q1 as f64 - reach..=plot.q3 as f64 + reach).contains(&(*value as f64))
            };
            let (within, beyond): (Vec<u64>, Vec<u64>) = values.iter().partition(|value| inside(value));
            prop_assert_eq!(Some(&plot.low), within.first());
            prop_assert_eq!(Some(&plot.high), within.last());
            prop_assert_eq!(plot.outliers, beyond);
            prop_assert_eq!((plot.count, plot.min, plot.max), (values.len(), values[0], values[values.len() - 1]));
        }
    }
}
