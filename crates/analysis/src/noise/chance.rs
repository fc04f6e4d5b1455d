//! Spectra of random noise: sums of independent exponential deviates follow Erlang's distribution.

/// The probability that the sum of `count` independent exponential deviates of mean 1 exceeds `x`: e^-x Σ x^j / j!
/// over j < count, summed in logarithms so that large counts do not overflow.
pub(super) fn survival(count: usize, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let (mut term, mut sum) = (-x, -x);
    for j in 1..count.max(1) {
        term += (x / j as f64).ln();
        let (large, small) = if term > sum { (term, sum) } else { (sum, term) };
        sum = large + (small - large).exp().ln_1p();
    }
    sum.exp().min(1.0)
}

/// The value that such a sum exceeds with probability `above`.
pub(super) fn exceeded(count: usize, above: f64) -> f64 {
    let (mut low, mut high) = (0.0, 2.0 * count as f64 + 50.0);
    while survival(count, high) > above {
        high *= 2.0;
        if high > 1e9 {
            break;
        }
    }
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if survival(count, middle) > above {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One deviate is exponential; the sum of 5 is checked against the chi-squared table with 10 degrees of freedom,
    /// which lists twice the sum.
    #[test]
    fn known_values() {
        assert!((exceeded(1, 1e-6) - 1e6f64.ln()).abs() < 1e-9);
        assert!((2.0 * exceeded(5, 0.05) - 18.307).abs() < 1e-3);
        assert!((survival(1, 2.0) - (-2.0f64).exp()).abs() < 1e-12);
        assert!((exceeded(4000, 0.5) - 4000.0).abs() < 1.0);
    }
}
