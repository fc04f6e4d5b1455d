//! Order statistics. This is the only median in straggler.

/// The median of a slice, which it reorders; for an even number of values the lower of the
/// middle two, so that the median of integers is one of them.
pub fn median_in_place<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    quantile_in_place(values, 0.5)
}

/// The smallest value with at least a share `q` of the values at or below it (the inverse of the
/// empirical distribution function). Reorders the slice.
pub fn quantile_in_place<T: Ord + Copy>(values: &mut [T], q: f64) -> Option<T> {
    if values.is_empty() {
        return None;
    }
    let position = (q.clamp(0.0, 1.0) * values.len() as f64).ceil() as usize;
    let index = position.clamp(1, values.len()) - 1;
    Some(*values.select_nth_unstable(index).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_a_member() {
        assert_eq!(median_in_place::<u64>(&mut []), None);
        assert_eq!(median_in_place(&mut [7]), Some(7));
        assert_eq!(median_in_place(&mut [4, 1, 3, 2]), Some(2));
        assert_eq!(median_in_place(&mut [5, 4, 1, 3, 2]), Some(3));
    }

    #[test]
    fn quantiles_hit_both_ends() {
        let mut values: Vec<u32> = (1..=100).rev().collect();
        assert_eq!(quantile_in_place(&mut values, 0.0), Some(1));
        assert_eq!(quantile_in_place(&mut values, 0.99), Some(99));
        assert_eq!(quantile_in_place(&mut values, 1.0), Some(100));
    }
}
