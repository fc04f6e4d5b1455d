//! Lists of times, each from a start to an end.

/// Sorts times and joins those that overlap or touch.
pub fn join(times: &mut Vec<(i64, i64)>) {
    times.sort_unstable();
    times.dedup_by(|next, last| {
        let joins = next.0 <= last.1;
        if joins {
            last.1 = last.1.max(next.1);
        }
        joins
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_times_are_one() {
        let mut times = vec![(7, 9), (0, 4), (1, 2), (4, 5), (12, 12)];
        join(&mut times);
        assert_eq!(times, [(0, 5), (7, 9), (12, 12)]);
    }
}
