//! Medians: the midpoint of the two middle values, or the lower of them. All are computed here, so that they are rounded in
//! the same way.

use std::cmp::Ordering;

/// A type that has a median.
pub trait Middle: Copy + Default {
    fn order(&self, other: &Self) -> Ordering;
    /// The midpoint of two values. Integers are rounded towards 0, so that negating all values negates the median.
    fn between(self, other: Self) -> Self;
}

impl Middle for i64 {
    fn order(&self, other: &i64) -> Ordering {
        self.cmp(other)
    }

    fn between(self, other: i64) -> i64 {
        self.midpoint(other)
    }
}

impl Middle for f64 {
    fn order(&self, other: &f64) -> Ordering {
        self.total_cmp(other)
    }

    fn between(self, other: f64) -> f64 {
        (self + other) / 2.0
    }
}

/// The median. Of an even number of values, the midpoint of the two in the middle. 0 if there are none.
pub fn median<V: Middle>(values: &mut [V]) -> V {
    let (length, middle) = (values.len(), values.len() / 2);
    if length == 0 {
        return V::default();
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, V::order);
    match (length % 2, below.iter().copied().max_by(V::order)) {
        (0, Some(lower)) => lower.between(upper),
        _ => upper,
    }
}

/// The lower median. Of an even number of values, the lower of the two in the middle: of two workers, the faster is typical. 0 if
/// there are none.
pub fn lower_median<V: Middle>(values: &mut [V]) -> V {
    match values.len() {
        0 => V::default(),
        length => *values.select_nth_unstable_by((length - 1) / 2, V::order).1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_few() {
        assert_eq!((median::<i64>(&mut []), lower_median::<f64>(&mut [])), (0, 0.0));
        assert_eq!((median(&mut [5]), lower_median(&mut [5])), (5, 5));
        assert_eq!((median(&mut [9, 1]), lower_median(&mut [9, 1])), (5, 1));
        assert_eq!((median(&mut [3, 1, 2]), lower_median(&mut [3, 1, 2])), (2, 2));
        assert_eq!((median(&mut [4, 1, 3, 10]), median(&mut [-4, -1, -3, -10])), (3, -3));
        assert_eq!(
            (median(&mut [4.0, 1.0, 3.0, 10.0]), lower_median(&mut [4.0, 1.0, 3.0, 10.0])),
            (3.5, 3.0)
        );
        // The difference may not fit into `i64`.
        assert_eq!(median(&mut [i64::MIN, i64::MAX]), 0);
    }
}
