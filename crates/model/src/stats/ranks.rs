//! Ranks of the order statistics that bound a quantile, for any number of values.

/// If the standard deviation of a rank exceeds this, the normal approximation is exact to a hundredth of it.
const NORMAL_FROM: f64 = 8000.0;
/// Probabilities this many standard deviations from the mean are negligible.
const REACH: f64 = 12.0;

/// Confidence interval of a quantile, for any distribution: the ranks, from 1, of two of `count` sorted
/// values. The number of values below the quantile is binomial. `None` if there are too few values; the
/// median needs 6 for 95 %.
pub fn quantile_ranks(count: u64, q: f64, confidence: f64) -> Option<(u64, u64)> {
    let doubt = (1.0 - confidence) / 2.0;
    let inside = |share: f64, most: f64| share > 0.0 && share < most;
    if !inside(q, 1.0) || !inside(doubt, 0.5) {
        return None;
    }
    let mean = count as f64 * q;
    let deviation = (mean * (1.0 - q)).sqrt();
    let (below, enough) = if deviation > NORMAL_FROM {
        let half = normal_deviate(doubt) * deviation;
        ((mean - half - 0.5).floor() as u64, (mean + half + 0.5).ceil() as u64)
    } else {
        binomial(count, q, doubt)?
    };
    // Converts a number of values below the quantile to the rank of the first value that is not.
    let (low, high) = (below + 1, enough + 1);
    (high <= count).then_some((low, high))
}

/// For the binomial number X of values below the quantile, returns the largest k with P(X <= k) <= `doubt`
/// and the smallest k with P(X <= k) >= 1 - `doubt`. Each term is computed from the one before; dividing by
/// the sum normalises them.
fn binomial(count: u64, q: f64, doubt: f64) -> Option<(u64, u64)> {
    let mean = count as f64 * q;
    let reach = REACH * (mean * (1.0 - q)).sqrt() + 20.0;
    let first = (mean - reach).max(0.0).floor() as u64;
    let last = ((mean + reach).ceil() as u64).min(count);
    let mut weight = 1.0;
    let mut up_to = Vec::with_capacity((last - first + 1) as usize);
    let mut sum = 0.0;
    for below in first..=last {
        sum += weight;
        up_to.push(sum);
        weight *= (count - below) as f64 / (below + 1) as f64 * (q / (1.0 - q));
    }
    let few = up_to.partition_point(|&part| part <= doubt * sum) as u64;
    let many = up_to.partition_point(|&part| part < (1.0 - doubt) * sum) as u64;
    Some((first + few.checked_sub(1)?, first + many))
}

/// The value that a standard normal variable exceeds with the given probability.
fn normal_deviate(above: f64) -> f64 {
    use statrs::distribution::{ContinuousCDF, Normal};
    Normal::standard().inverse_cdf(1.0 - above)
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{Binomial, DiscreteCDF};

    /// Compared with the definition, using another library's binomial distribution.
    #[test]
    fn ranks_are_those_of_the_binomial_distribution() {
        for count in [1, 5, 6, 17, 60, 367, 368, 1000, 5000] {
            for q in [0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999] {
                let below = Binomial::new(q, count).unwrap();
                let low = (0..=count).take_while(|&k| below.cdf(k) <= 0.025).count().checked_sub(1);
                let high = (0..=count).take_while(|&k| below.cdf(k) < 0.975).count() as u64;
                let expected = low.map(|low| (low as u64 + 1, high + 1)).filter(|(_, high)| *high <= count);
                assert_eq!(quantile_ranks(count, q, 0.95), expected, "{count} {q}");
            }
        }
    }

    /// Where the normal approximation takes over, the ranks continue without a jump.
    #[test]
    fn many_values() {
        let width = |count: u64, q: f64| {
            let (low, high) = quantile_ranks(count, q, 0.95).unwrap();
            assert!((low as f64) < count as f64 * q && (high as f64) > count as f64 * q);
            (high - low) as f64 / (count as f64 * q * (1.0 - q)).sqrt()
        };
        for count in [100_000_000, 256_000_000, 257_000_000, 10_000_000_000] {
            assert!((width(count, 0.5) - 2.0 * 1.95996).abs() < 1e-3, "{count}");
        }
        // About ten of ten thousand million values lie beyond the quantile, enough for an interval.
        assert!(quantile_ranks(10_000_000_000, 1.0 - 1e-9, 0.95).is_some());
        assert_eq!(quantile_ranks(1_000_000_000, 1.0 - 1e-9, 0.95), None);
        assert_eq!(quantile_ranks(0, 0.5, 0.95), None);
        assert_eq!(quantile_ranks(10, 1.0, 0.95), None);
        assert_eq!(quantile_ranks(10, 0.5, 1.0), None);
    }
}
