//! Random deviates from the project's generator.

use straggler_model::philox::Stream;

/// A stream of deviates; the same seed and number give the same ones.
pub(super) struct Draws {
    stream: Stream,
    spare: Option<f64>,
}

impl Draws {
    pub fn new(seed: u64, number: u32) -> Draws {
        Draws { stream: Stream::new(seed, 0, number, 0), spare: None }
    }

    pub fn unit(&mut self) -> f64 {
        self.stream.unit()
    }

    /// Standard normal, two at a time by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let (radius, angle) = ((-2.0 * self.unit().ln()).sqrt(), std::f64::consts::TAU * self.unit());
        self.spare = Some(radius * angle.sin());
        radius * angle.cos()
    }

    /// Gamma of scale 1, by Marsaglia and Tsang.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let more = self.gamma(shape + 1.0);
            return more * self.unit().powf(1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.unit().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }

    /// Random levels in the underlying distribution at which the quantiles of a sample of `count` trials at ascending
    /// `levels` may lie: spacings of order statistics are gamma deviates. This is Rubin's Bayesian bootstrap with the
    /// weights of all trials between two quantiles drawn at once, so the cost does not depend on `count`. For
    /// dependent trials, pass a smaller count.
    pub fn levels(&mut self, count: f64, levels: &[f64]) -> Vec<f64> {
        let ends = levels.iter().copied().chain([1.0]);
        let mut before = 0.0;
        let mut sum = 0.0;
        let sums: Vec<f64> = ends
            .map(|level| {
                let share = (level - before).max(0.0);
                before = level;
                if share > 0.0 {
                    sum += self.gamma(share * count);
                }
                sum
            })
            .collect();
        sums[..levels.len()].iter().map(|part| part / sum).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and variance of a gamma deviate equal its shape; a level varies with the variance of a binomial share.
    #[test]
    fn moments() {
        let mut draws = Draws::new(1, 0);
        for shape in [0.3, 1.0, 4.0, 1e5] {
            let values: Vec<f64> = (0..4000).map(|_| draws.gamma(shape)).collect();
            let mean = values.iter().sum::<f64>() / 4000.0;
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 4000.0;
            assert!((mean / shape - 1.0).abs() < 5.0 / (4000.0 * shape.min(1.0)).sqrt(), "{shape} {mean}");
            assert!((variance / shape - 1.0).abs() < 0.25, "{shape} {variance}");
        }
        let drawn: Vec<Vec<f64>> = (0..2000).map(|_| draws.levels(10_000.0, &[0.5, 0.99])).collect();
        for (place, q) in [(0, 0.5), (1, 0.99)] {
            let mean = drawn.iter().map(|levels| levels[place]).sum::<f64>() / 2000.0;
            let variance = drawn.iter().map(|levels| (levels[place] - mean).powi(2)).sum::<f64>() / 2000.0;
            assert!((mean - q).abs() < 1e-3);
            assert!((variance / (q * (1.0 - q) / 1e4) - 1.0).abs() < 0.15, "{q} {variance}");
        }
    }
}
