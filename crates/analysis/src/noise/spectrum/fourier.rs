//! The fast Fourier transform of series whose length is a power of two, as that of all series of a spectrum is.

use num_complex::Complex;
use std::f64::consts::TAU;

/// The transform of series of one length.
pub(super) struct Transform {
    /// e^(-2πik/n) for the first half of the circle.
    roots: Vec<Complex<f64>>,
    length: usize,
}

impl Transform {
    /// `length` is a power of two.
    pub fn new(length: usize) -> Transform {
        debug_assert!(length.is_power_of_two());
        // Each root from its own angle: powers of one root would add up rounding errors.
        let root = |index: usize| Complex::from_polar(1.0, -TAU * index as f64 / length as f64);
        Transform { roots: (0..length / 2).map(root).collect(), length }
    }

    /// Replaces the series by its transform: decimation in time, radix 2 (Cooley and Tukey 1965).
    pub fn process(&self, series: &mut [Complex<f64>]) {
        assert_eq!(series.len(), self.length, "the transform is for another length");
        reverse_bits(series);
        let mut half = 1;
        while half < self.length {
            let stride = self.length / (2 * half);
            for pairs in series.chunks_exact_mut(2 * half) {
                let (low, high) = pairs.split_at_mut(half);
                let roots = self.roots.iter().step_by(stride);
                for ((one, other), root) in low.iter_mut().zip(high).zip(roots) {
                    let turned = *other * root;
                    (*one, *other) = (*one + turned, *one - turned);
                }
            }
            half *= 2;
        }
    }
}

/// Moves every value to the place whose index has the same bits in reverse.
fn reverse_bits(series: &mut [Complex<f64>]) {
    let Some(bits) = series.len().checked_ilog2().filter(|&bits| bits > 0) else { return };
    for index in 0..series.len() {
        let mirrored = index.reverse_bits() >> (usize::BITS - bits);
        if index < mirrored {
            series.swap(index, mirrored);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, in quadratic time.
    fn literal(series: &[Complex<f64>]) -> Vec<Complex<f64>> {
        let length = series.len();
        let turn =
            |product: usize| Complex::from_polar(1.0, -TAU * (product % length) as f64 / length as f64);
        let bin = |bin: usize| (0..length).map(|at| series[at] * turn(bin * at)).sum();
        (0..length).map(bin).collect()
    }

    #[test]
    fn agrees_with_the_definition() {
        for length in [1, 2, 4, 8, 64, 1024] {
            // Numbers without a pattern.
            let value = |at: usize| Complex::new((at as f64 * 1.7).sin(), ((at * at) as f64 * 0.3).cos());
            let series: Vec<_> = (0..length).map(value).collect();
            let mut transformed = series.clone();
            Transform::new(length).process(&mut transformed);
            for (found, wanted) in transformed.iter().zip(literal(&series)) {
                assert!((found - wanted).norm() < 1e-10, "{length}: {found} instead of {wanted}");
            }
        }
    }
}
