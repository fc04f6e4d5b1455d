//! Nonparametric tests on binned trials: Kolmogorov–Smirnov, Mann–Whitney and Anderson–Darling.
//!
//! Trials in one bin are ties. Mann–Whitney and Anderson–Darling take account of them; they make the p-value of
//! Kolmogorov–Smirnov too large rather than too small. With millions of trials every difference is significant, so
//! each test has an effect size besides its p-value. Dependent trials count as fewer (see [`super::variation`]).

use super::Distribution;
use super::variation::student;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};
use straggler_model::stats::CONFIDENCE;

/// Several samples, counted in the same cells.
#[derive(Clone, PartialEq, Debug)]
pub struct Aligned {
    /// The counts of each sample in each cell; fractions if the cells of the samples do not match.
    counts: Vec<Vec<f64>>,
    /// Whether the samples have the same cells, so that all counts are exact.
    pub exact: bool,
    /// For each sample, how many of its trials are worth one independent trial. As this is estimated itself, it holds
    /// the square by which Student's quantile is larger than the normal one.
    for_one: Vec<f64>,
}

impl Aligned {
    /// Cells of different layouts are cut at each other's edges, with trials spread evenly over their cell. Beyond
    /// the end of the shortest bins, all trials of all samples are equal.
    pub fn new(samples: &[&Distribution]) -> Aligned {
        let cut = samples.iter().filter_map(|sample| sample.edge_of_bins()).fold(f64::INFINITY, f64::min);
        let end = samples.iter().map(|sample| sample.max_ps + 1.0).fold(0.0, f64::max);
        let mut edges: Vec<f64> = samples
            .iter()
            .flat_map(|sample| sample.ranked_cells(cut, end))
            .flat_map(|cell| [cell.low, cell.high])
            .collect();
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        let mut exact = true;
        let mut of_sample = |sample: &Distribution| {
            let mut counts = vec![0.0; edges.len()];
            for cell in sample.ranked_cells(cut, end) {
                let first = edges.partition_point(|&edge| edge < cell.low);
                let end = edges.partition_point(|&edge| edge < cell.high);
                exact &= end - first <= 1;
                for place in first..end {
                    let share = (edges[place + 1] - edges[place]) / (cell.high - cell.low);
                    counts[place] += share * cell.count as f64;
                }
            }
            counts
        };
        let counts = samples.iter().map(|sample| of_sample(sample)).collect();
        let parts = samples.iter().map(|sample| sample.variation.ranks / sample.count() as f64);
        let (sum, squares) = samples.iter().zip(parts).fold((0.0, 0.0), |(sum, squares), (sample, part)| {
            (sum + part, squares + part * part / sample.freedom())
        });
        let freedom = if squares > 0.0 { sum * sum / squares } else { f64::INFINITY };
        let more = (student(freedom, CONFIDENCE) / student(f64::INFINITY, CONFIDENCE)).powi(2);
        let for_one = samples.iter().map(|sample| more * sample.variation.ranks).collect();
        Aligned { counts, exact, for_one }
    }

    /// Samples of few values, with a cell for each distinct value.
    pub fn of_values(samples: &[&[f64]]) -> Aligned {
        let mut values: Vec<f64> = samples.concat();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let of_sample = |sample: &&[f64]| {
            let mut counts = vec![0.0; values.len()];
            sample.iter().for_each(|value| counts[values.partition_point(|other| other < value)] += 1.0);
            counts
        };
        let counts = samples.iter().map(of_sample).collect();
        Aligned { counts, exact: true, for_one: vec![1.0; samples.len()] }
    }

    fn total(&self, sample: usize) -> f64 {
        self.counts[sample].iter().sum()
    }

    /// The equivalent number of independent trials.
    fn worth(&self, sample: usize) -> f64 {
        self.total(sample) / self.for_one[sample]
    }

    /// The counts of two samples, cell by cell.
    fn two(&self, one: usize, other: usize) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.counts[one].iter().copied().zip(self.counts[other].iter().copied())
    }
}

/// The Kolmogorov–Smirnov test.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct KolmogorovSmirnov {
    /// The largest difference between the two distribution functions, at the edges of cells: the effect size.
    pub distance: f64,
    pub p: f64,
}

impl KolmogorovSmirnov {
    pub fn new(aligned: &Aligned, one: usize, other: usize) -> KolmogorovSmirnov {
        let (n, m) = (aligned.total(one), aligned.total(other));
        let (mut below, mut distance) = ((0.0, 0.0), 0.0f64);
        for (first, second) in aligned.two(one, other) {
            below = (below.0 + first, below.1 + second);
            distance = distance.max((below.0 / n - below.1 / m).abs());
        }
        let (n, m) = (aligned.worth(one), aligned.worth(other));
        let effective = (n * m / (n + m)).sqrt();
        let p = kolmogorov((effective + 0.12 + 0.11 / effective) * distance);
        KolmogorovSmirnov { distance, p }
    }
}

/// The probability that Kolmogorov's statistic exceeds `x`.
fn kolmogorov(x: f64) -> f64 {
    if x < 0.2 {
        return 1.0;
    }
    let term = |j: i32| f64::from(1 - 2 * ((j + 1) % 2)) * (-2.0 * f64::from(j * j) * x * x).exp();
    (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

/// The Mann–Whitney test.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct MannWhitney {
    /// The probability that a trial of the second takes longer than one of the first; ties count half.
    pub longer: f64,
    /// Cliff's delta, the effect size: -1 if all of the second are shorter, 1 if all are longer.
    pub delta: f64,
    pub p: f64,
}

impl MannWhitney {
    pub fn new(aligned: &Aligned, one: usize, other: usize) -> MannWhitney {
        let (n, m) = (aligned.total(one), aligned.total(other));
        let all = n + m;
        let (mut below, mut wins, mut ties) = (0.0, 0.0, 0.0);
        for (first, second) in aligned.two(one, other) {
            wins += second / m * ((below + first / 2.0) / n);
            below += first;
            let tied = first + second;
            ties += (tied / all).powi(3) - tied / all / all / all;
        }
        let (n, m) = (aligned.worth(one), aligned.worth(other));
        let all = n + m;
        // The variance of U / (n m), corrected for ties.
        let variance = (all + 1.0 - ties * all * all / (all - 1.0)) / (12.0 * n * m);
        let z = if variance > 0.0 { (wins - 0.5).abs() / variance.sqrt() } else { 0.0 };
        MannWhitney { longer: wins, delta: 2.0 * wins - 1.0, p: two_sided(z) }
    }
}

/// The probability that a standard normal value is farther from 0 than this.
pub(super) fn two_sided(z: f64) -> f64 {
    2.0 * Normal::standard().sf(z.abs())
}

/// The Anderson–Darling test of any number of samples, after Scholz and Stephens (JASA 82, 1987): the midrank
/// statistic, for samples with ties.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct AndersonDarling {
    /// Standardised by its mean and standard deviation under the hypothesis that all samples have one distribution.
    pub statistic: f64,
    /// Tabulated between 0.001 and 0.25 only: these two values stand for less and for more.
    pub p: f64,
}

/// Table 2 of the paper: levels, and the three coefficients of the critical values.
const CRITICAL: [(f64, [f64; 3]); 7] = [
    (0.25, [0.675, -0.245, -0.105]),
    (0.10, [1.281, 0.250, -0.305]),
    (0.05, [1.645, 0.678, -0.362]),
    (0.025, [1.960, 1.149, -0.391]),
    (0.01, [2.326, 1.822, -0.396]),
    (0.005, [2.573, 2.364, -0.345]),
    (0.001, [3.085, 3.615, -0.154]),
];

impl AndersonDarling {
    /// None for fewer than two samples, an empty sample, or fewer than five trials in all.
    pub fn new(aligned: &Aligned) -> Option<AndersonDarling> {
        let totals: Vec<f64> = (0..aligned.counts.len()).map(|sample| aligned.total(sample)).collect();
        let sizes: Vec<f64> = (0..aligned.counts.len()).map(|sample| aligned.worth(sample)).collect();
        let all: f64 = sizes.iter().sum();
        if sizes.len() < 2 || all < 5.0 || sizes.contains(&0.0) {
            return None;
        }
        let together: f64 = totals.iter().sum();
        let raw: f64 = aligned
            .counts
            .iter()
            .zip(totals.iter().zip(&sizes))
            .map(|(counts, (&total, &size))| size * distance(aligned, counts, total, together))
            .sum();
        let freedom = sizes.len() as f64 - 1.0;
        let sd = variance(&sizes, all).sqrt();
        let statistic = ((all - 1.0) / all * raw - freedom) / sd;
        statistic.is_finite().then(|| AndersonDarling { statistic, p: tabulated(statistic, freedom) })
    }
}

/// The distance of one sample from the common distribution, weighted by the variance of the latter.
fn distance(aligned: &Aligned, counts: &[f64], size: f64, all: f64) -> f64 {
    let (mut common, mut own, mut sum) = (0.0, 0.0, 0.0);
    for (place, &count) in counts.iter().enumerate() {
        let tied: f64 = aligned.counts.iter().map(|counts| counts[place]).sum();
        if tied > 0.0 {
            // Midranks, as shares to avoid overflow.
            let (b, m) = ((common + tied / 2.0) / all, (own + count / 2.0) / size);
            let weight = b * (1.0 - b) - tied / all / 4.0;
            if weight > 1e-15 {
                sum += tied / all * (m - b).powi(2) / weight;
            }
        }
        common += tied;
        own += count;
    }
    sum
}

/// The variance of the statistic for samples of these sizes.
fn variance(sizes: &[f64], all: f64) -> f64 {
    let k = sizes.len() as f64;
    let inverse: f64 = sizes.iter().map(|size| 1.0 / size).sum();
    let (h, g) = harmonic(all);
    let a = (4.0 * g - 6.0) * (k - 1.0) + (10.0 - 6.0 * g) * inverse;
    let b = (2.0 * g - 4.0) * k * k + 8.0 * h * k + (2.0 * g - 14.0 * h - 4.0) * inverse - 8.0 * h + 4.0 * g
        - 6.0;
    let c = (6.0 * h + 2.0 * g - 2.0) * k * k
        + (4.0 * h - 4.0 * g + 6.0) * k
        + (2.0 * h - 6.0) * inverse
        + 4.0 * h;
    let d = (2.0 * h + 6.0) * k * k - 4.0 * h * k;
    let (n1, n2, n3) = (1.0 - 1.0 / all, 1.0 - 2.0 / all, 1.0 - 3.0 / all);
    (a + b / all + c / all / all + d / all.powi(3)) / (n1 * n2 * n3)
}

/// Σ 1/i over i < n, and Σ Σ 1/((n - i) j) over i < j < n, which tends to π²/6.
fn harmonic(all: f64) -> (f64, f64) {
    const EXACT: f64 = 100_000.0;
    if all > EXACT {
        return (all.ln() + 0.577_215_664_901_532_9 - 0.5 / all, std::f64::consts::PI.powi(2) / 6.0);
    }
    let n = all.round() as u64;
    let h: f64 = (1..n).map(|i| 1.0 / i as f64).sum();
    let (mut rest, mut g) = (0.0, 0.0);
    // From the last i to the first; `rest` is the sum over all larger j.
    for i in (1..n.saturating_sub(1)).rev() {
        rest += 1.0 / (i + 1) as f64;
        g += rest / (n - i) as f64;
    }
    (h, g)
}

/// Interpolates between the critical values, in the logarithm of the level.
fn tabulated(statistic: f64, freedom: f64) -> f64 {
    let critical = |[a, b, c]: [f64; 3]| a + b / freedom.sqrt() + c / freedom;
    let known: Vec<(f64, f64)> =
        CRITICAL.iter().map(|&(level, parts)| (critical(parts), level.ln())).collect();
    let behind = known.partition_point(|&(value, _)| value < statistic);
    match (behind.checked_sub(1).map(|before| known[before]), known.get(behind)) {
        (Some((x0, y0)), Some(&(x1, y1))) => (y0 + (statistic - x0) / (x1 - x0) * (y1 - y0)).exp(),
        (None, _) => CRITICAL[0].0,
        (_, None) => CRITICAL[CRITICAL.len() - 1].0,
    }
}

#[cfg(test)]
mod tests;
