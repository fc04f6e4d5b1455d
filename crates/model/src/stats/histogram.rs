//! Histograms with round bin widths.

/// Values in `from..to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    pub from: u64,
    pub to: u64,
    pub count: u64,
}

/// Sorts values into about `wanted` bins of equal width, 1, 2 or 5 times a power of ten. Zeros have a bin of
/// their own, `0..1`: a process that never waits differs from one that waits a little. The first and the last
/// bin are never empty; those between may be.
pub fn histogram(sorted: &[u64], wanted: u64) -> Vec<Bin> {
    let zeros = sorted.partition_point(|&value| value == 0);
    let mut bins = Vec::new();
    if zeros > 0 {
        bins.push(Bin { from: 0, to: 1, count: zeros as u64 });
    }
    let mut rest = &sorted[zeros..];
    let (Some(&first), Some(&last)) = (rest.first(), rest.last()) else { return bins };
    let width = round_width((last - first) / wanted.max(1) + 1);
    let mut from = first - first % width;
    while !rest.is_empty() {
        let to = from.saturating_add(width);
        // The bin that ends at `u64::MAX` includes it.
        let count = rest.partition_point(|&value| value < to || to == u64::MAX);
        bins.push(Bin { from: from.max(1), to, count: count as u64 });
        rest = &rest[count..];
        from = to;
    }
    bins
}

/// The smallest of 1, 2, 5, 10, 20, 50, … that is at least `least`.
fn round_width(least: u64) -> u64 {
    let mut power = 1u64;
    loop {
        for digit in [1, 2, 5] {
            match power.checked_mul(digit) {
                Some(width) if width >= least => return width,
                Some(_) => {}
                None => return u64::MAX,
            }
        }
        match power.checked_mul(10) {
            Some(next) => power = next,
            None => return u64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bin(from: u64, to: u64, count: u64) -> Bin {
        Bin { from, to, count }
    }

    #[test]
    fn by_hand() {
        assert_eq!(histogram(&[], 10), []);
        assert_eq!(histogram(&[0, 0], 10), [bin(0, 1, 2)]);
        assert_eq!(histogram(&[7], 10), [bin(7, 8, 1)]);
        assert_eq!(
            histogram(&[0, 3, 12, 47], 5),
            [bin(0, 1, 1), bin(1, 10, 1), bin(10, 20, 1), bin(20, 30, 0), bin(30, 40, 0), bin(40, 50, 1),]
        );
        assert_eq!(histogram(&[u64::MAX], 1), [bin(u64::MAX, u64::MAX, 1)]);
        assert_eq!([1, 2, 3, 6, 11, 51].map(round_width), [1, 2, 5, 10, 20, 100]);
        assert_eq!(round_width(u64::MAX), u64::MAX);
    }

    proptest! {
        #[test]
        fn every_value_is_counted_once(mut values in prop::collection::vec(any::<u64>(), 0..50), wanted in 0u64..40) {
            values.sort_unstable();
            let bins = histogram(&values, wanted);
            prop_assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), values.len() as u64);
            prop_assert!(bins.len() as u64 <= wanted.max(1) + 3);
            for bin in &bins {
                let inside = values.iter().filter(|&&value| (bin.from..bin.to).contains(&value));
                let largest = values.iter().filter(|&&value| value == u64::MAX && bin.to == u64::MAX);
                prop_assert_eq!(inside.chain(largest).count() as u64, bin.count);
            }
        }
    }
}
