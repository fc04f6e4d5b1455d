//! How much of a slowdown is chance: 95 % intervals by bootstrap over the steps.

use straggler_model::philox::Stream;

const DRAWS: usize = 1000;

/// If there are more steps than this, they are drawn in blocks of consecutive steps.
const MOST_BLOCKS: usize = 2_000;

/// Blocks of steps drawn with replacement, as many as there are blocks. All intervals use the same draws. Usually a block is one
/// step.
pub struct Draws {
    steps: usize,
    blocks: usize,
    /// By draw, then by block: how often it was drawn.
    counts: Vec<f64>,
}

impl Draws {
    pub fn new(steps: usize) -> Draws {
        let blocks = steps.min(MOST_BLOCKS);
        let mut random = Stream::new(0, 0, 0, 0);
        let mut counts = vec![0.0; DRAWS * blocks];
        for draw in counts.chunks_mut(blocks.max(1)) {
            for _ in 0..blocks {
                draw[random.below(blocks as u64) as usize] += 1.0;
            }
        }
        Draws { steps, blocks, counts }
    }

    /// The interval of a ratio of sums over the steps. Steps for which `of_step` returns `None` do not count. 1 if none counts.
    pub fn interval(&self, of_step: impl Fn(usize) -> Option<(i64, i64)>) -> [f64; 2] {
        let (mut above, mut below) = (vec![0.0; self.blocks], vec![0.0; self.blocks]);
        for step in 0..self.steps {
            if let Some((one, other)) = of_step(step) {
                let block = step * self.blocks / self.steps;
                (above[block], below[block]) = (above[block] + one as f64, below[block] + other as f64);
            }
        }
        let ratio = |counts: &[f64]| {
            let below = product(counts, &below);
            (below > 0.0).then(|| product(counts, &above) / below)
        };
        let mut ratios: Vec<f64> = self.counts.chunks(self.blocks.max(1)).filter_map(ratio).collect();
        let (low, high) = (ratios.len() * 25 / 1000, (ratios.len() * 975 / 1000).saturating_sub(1));
        let mut at = |place: usize| match ratios.is_empty() {
            true => 1.0,
            false => *ratios.select_nth_unstable_by(place, f64::total_cmp).1,
        };
        [at(low), at(high)]
    }
}

/// The dot product, in eight independent sums: a single sum would wait for each addition.
fn product(counts: &[f64], values: &[f64]) -> f64 {
    let (counts, counts_left) = counts.as_chunks::<8>();
    let (values, values_left) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (counts, values) in counts.iter().zip(values) {
        (0..8).for_each(|lane| sums[lane] += counts[lane] * values[lane]);
    }
    let left = counts_left.iter().zip(values_left).map(|(count, value)| count * value).sum::<f64>();
    sums.iter().sum::<f64>() + left
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For the mean of many values, the interval extends 1.96 standard errors to each side.
    #[test]
    fn intervals_are_those_of_the_mean() {
        let value = |step: usize| (step as i64 * 7919 % 101) * 1_000_000;
        let [low, high] = Draws::new(400).interval(|step| Some((value(step), 100_000_000)));
        let values: Vec<f64> = (0..400).map(|step| value(step) as f64 / 1e8).collect();
        let mean = values.iter().sum::<f64>() / 400.0;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 400.0;
        let error = 1.96 * (variance / 400.0).sqrt();
        assert!((mean - error - low).abs() < 0.1 * error && (mean + error - high).abs() < 0.1 * error);
        // Steps without a record do not count.
        assert_eq!(Draws::new(4).interval(|step| (step > 1).then_some((30, 20))), [1.5, 1.5]);
        assert_eq!(Draws::new(4).interval(|_| None), [1.0, 1.0]);
        assert_eq!(Draws::new(0).interval(|_| None), [1.0, 1.0]);
    }
}
