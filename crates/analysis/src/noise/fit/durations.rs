//! The distribution that fits durations best.

use straggler_model::Time;
use straggler_model::stats::chance_distance;
use straggler_noise::generate::{Durations, Quantiles};

/// Durations that differ by less than this share of their mean count as constant.
const CONSTANT: f64 = 0.02;
/// A formula is rejected if its mean is off by more than this, however well it fits otherwise.
const MEAN_OFF: f64 = 0.03;
/// A formula with fitted parameters lies closer to its sample than chance: Lilliefors' limits for exponential and
/// normal samples are about 0.65 of Kolmogorov's.
const FITTED: f64 = 0.65;
/// Neighbours that differ by more than this factor are joined by a step.
const STEP: f64 = 1.05;
/// Most points of a list of quantiles.
const MOST_POINTS: usize = 60;

/// A distribution and how well it fits.
#[derive(Clone, PartialEq, Debug)]
pub struct FittedDurations {
    pub durations: Durations,
    /// The largest difference from the distribution of the sample.
    pub distance: f64,
    /// The distance stays below this if the sample was drawn from the distribution.
    pub limit: f64,
}

/// The closest formula if it is close enough, else a list of quantiles. Takes sorted values.
pub fn fit_durations(sorted: &[u64]) -> FittedDurations {
    let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) else {
        return FittedDurations { durations: Durations::Constant(Time::ZERO), distance: 0.0, limit: 1.0 };
    };
    let limit = FITTED * chance_distance(sorted.len(), None);
    let mean = sorted.iter().map(|&value| value as f64).sum::<f64>() / sorted.len() as f64;
    if (last - first) as f64 <= CONSTANT * mean {
        return FittedDurations { durations: Durations::Constant(time(mean)), distance: 0.0, limit };
    }
    let judged = formulas(sorted, mean).into_iter().map(|durations| {
        let distance = distance(sorted, &durations);
        FittedDurations { durations, distance, limit }
    });
    let has_its_mean = |fitted: &FittedDurations| (fitted.durations.mean_ps() / mean - 1.0).abs() < MEAN_OFF;
    let best = judged.filter(has_its_mean).min_by(|a, b| a.distance.total_cmp(&b.distance));
    match best {
        Some(best) if best.distance < limit => best,
        _ => by_quantiles(sorted, mean, limit),
    }
}

fn time(ps: f64) -> Time {
    Time(ps.round() as u64)
}

/// Formulas with the maximum-likelihood parameters for the sample.
fn formulas(sorted: &[u64], mean: f64) -> Vec<Durations> {
    let count = sorted.len() as f64;
    let (min, max) = (sorted[0], sorted[sorted.len() - 1]);
    let logs: Vec<f64> = sorted.iter().map(|&value| (value.max(1) as f64).ln()).collect();
    let log_mean = logs.iter().sum::<f64>() / count;
    let sigma = (logs.iter().map(|log| (log - log_mean).powi(2)).sum::<f64>() / count).sqrt();
    let mut list = vec![
        Durations::Exponential { mean: time(mean) },
        Durations::Uniform { min: Time(min), max: Time(max) },
        Durations::LogNormal { median: time(log_mean.exp()), sigma },
    ];
    let alpha = 1.0 / (log_mean - (min.max(1) as f64).ln());
    if min > 0 && alpha.is_finite() && alpha > 1.0 {
        list.push(Durations::Pareto { min: Time(min), alpha });
    }
    list
}

/// The distribution function of a formula at `x`.
fn share_up_to(durations: &Durations, x: f64) -> f64 {
    match durations {
        Durations::Constant(duration) => f64::from(x >= duration.ps() as f64),
        Durations::Exponential { mean } => 1.0 - (-x / mean.ps().max(1) as f64).exp(),
        Durations::LogNormal { median, sigma } => normal((x / median.ps().max(1) as f64).ln() / sigma),
        Durations::Uniform { min, max } => {
            ((x - min.ps() as f64) / (max.ps() - min.ps()).max(1) as f64).clamp(0.0, 1.0)
        }
        Durations::Pareto { min, alpha } => 1.0 - (min.ps() as f64 / x).min(1.0).powf(*alpha),
        Durations::Quantiles(_) => f64::NAN,
    }
}

/// The normal distribution function, by the error function of Abramowitz and Stegun, 7.1.26, accurate to 1.5e-7.
fn normal(z: f64) -> f64 {
    let x = z.abs() / 2f64.sqrt();
    let t = 1.0 / (1.0 + 0.3275911 * x);
    let polynomial =
        ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
    let upper = 0.5 * polynomial * (-x * x).exp();
    if z > 0.0 { 1.0 - upper } else { upper }
}

/// Kolmogorov's distance of a sorted sample from a formula.
fn distance(sorted: &[u64], durations: &Durations) -> f64 {
    let count = sorted.len() as f64;
    let at = |(index, &value): (usize, &u64)| {
        let share = share_up_to(durations, value as f64);
        (share - index as f64 / count).abs().max((share - (index as f64 + 1.0) / count).abs())
    };
    sorted.iter().enumerate().map(at).fold(0.0, f64::max)
}

fn by_quantiles(sorted: &[u64], mean: f64, limit: f64) -> FittedDurations {
    let (tolerance, points) = thinned(sorted);
    let durations = Quantiles::new(points).map_or(Durations::Constant(time(mean)), Durations::Quantiles);
    FittedDurations { durations, distance: tolerance, limit }
}

/// The points of a list of quantiles.
pub(super) fn quantile_points(sorted: &[u64]) -> Vec<(f64, Time)> {
    thinned(sorted).1
}

/// The fewest points that keep the distance well below the sampling error and preserve the mean, and their distance.
/// If that takes too many points, both tolerances grow.
fn thinned(sorted: &[u64]) -> (f64, Vec<(f64, Time)>) {
    let last = sorted.len().saturating_sub(1);
    if last == 0 {
        let only = Time(sorted.first().copied().unwrap_or(0));
        return (0.0, vec![(0.0, only), (1.0, only)]);
    }
    let mut sums = vec![0.0];
    for &value in sorted {
        sums.push(sums.last().unwrap_or(&0.0) + value as f64);
    }
    let mut tolerance = 0.2 * chance_distance(sorted.len(), None);
    loop {
        let thin = Thin { sorted, sums: &sums, distance: tolerance, mean: 0.1 * tolerance };
        let mut kept = vec![0];
        thin.keep(0, last, &mut kept);
        if kept.len() <= MOST_POINTS || tolerance > 1.0 {
            return (tolerance, points(sorted, &kept));
        }
        tolerance *= 1.3;
    }
}

/// The points of the kept values. A value holds up to the next one, so that neighbours that differ much keep their
/// weights: a straight line to one long detour in a thousand would count it half.
fn points(sorted: &[u64], kept: &[usize]) -> Vec<(f64, Time)> {
    let share = |position: f64| share_of(position, sorted.len());
    let mut points: Vec<(f64, Time)> = Vec::new();
    let mut before: Option<usize> = None;
    for &index in kept {
        if let Some(last) = before.filter(|&last| last + 1 == index)
            && sorted[index] as f64 > STEP * sorted[last] as f64
        {
            points.push((share(index as f64 - 1e-3), Time(sorted[last])));
        }
        points.push((share(index as f64), Time(sorted[index])));
        before = Some(index);
    }
    points.push((1.0, Time(sorted[sorted.len() - 1])));
    points
}

/// A position among `count` values as a share, to a thousandth of their distance or better. Files hold these digits.
fn share_of(position: f64, count: usize) -> f64 {
    let scale = 10f64.powi(count.to_string().len() as i32 + 4);
    (position / count as f64 * scale).round() / scale
}

/// Selects which of many sorted values to keep.
struct Thin<'a> {
    sorted: &'a [u64],
    sums: &'a [f64],
    /// How far straight lines may deviate from the sample, as a share of the values.
    distance: f64,
    /// By which share of the total they may change the sum.
    mean: f64,
}

impl Thin<'_> {
    /// Keeps the values needed between two values, and the later of the two.
    fn keep(&self, from: usize, to: usize, kept: &mut Vec<usize>) {
        // An explicit stack, because its depth depends on the values.
        let mut open = vec![(from, to)];
        while let Some((from, to)) = open.pop() {
            match self.worst(from, to) {
                Some(middle) => open.extend([(middle, to), (from, middle)]),
                None => kept.push(to),
            }
        }
    }

    /// The value at which a straight line deviates most from the sample, if it deviates too much.
    fn worst(&self, from: usize, to: usize) -> Option<usize> {
        if to - from < 2 {
            return None;
        }
        let (low, high) = (self.sorted[from] as f64, self.sorted[to] as f64);
        let steps = (to - from) as f64;
        let off = |index: usize| {
            let line =
                if high > low { (self.sorted[index] as f64 - low) / (high - low) * steps } else { 0.0 };
            if high > low { (line - (index - from) as f64).abs() } else { 0.0 }
        };
        let (largest, at) = (from + 1..to)
            .map(|index| (off(index), index))
            .fold((0.0, from + (to - from) / 2), |best, other| if other.0 > best.0 { other } else { best });
        let inside = self.sums[to] - self.sums[from];
        let mean_off = (inside - (low + high) / 2.0 * steps).abs() / self.sums[self.sorted.len()].max(1.0);
        let is_off = largest > self.distance * self.sorted.len() as f64 || mean_off > self.mean;
        is_off.then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::philox::Stream;
    use straggler_noise::generate::{Extent, Poisson};

    fn drawn(durations: Durations, seed: u64) -> Vec<u64> {
        let poisson = Poisson { mean_gap: Time(1 << 40), durations, extent: Extent::Events(5000) };
        let trace = poisson.generate(Stream::new(seed, 0, 0, 0)).unwrap();
        let mut values: Vec<u64> = trace.iter().map(|(_, duration)| duration.ps()).collect();
        values.sort_unstable();
        values
    }

    #[test]
    fn formulas_are_recognised() {
        let us = |count: u64| Time::from_ns(count * 1000);
        for seed in 0..5 {
            let fit = |durations| fit_durations(&drawn(durations, seed)).durations;
            assert!(matches!(fit(Durations::Constant(us(5))), Durations::Constant(time) if time == us(5)));
            let exponential = fit(Durations::Exponential { mean: us(5) });
            assert!(
                matches!(exponential, Durations::Exponential { mean } if mean.ps().abs_diff(us(5).ps()) < 400_000)
            );
            let lognormal = fit(Durations::LogNormal { median: us(5), sigma: 0.8 });
            assert!(matches!(lognormal, Durations::LogNormal { sigma, .. } if (sigma - 0.8).abs() < 0.05));
            let uniform = fit(Durations::Uniform { min: us(1), max: us(5) });
            assert!(matches!(uniform, Durations::Uniform { .. }), "{uniform:?}");
            let pareto = fit(Durations::Pareto { min: us(1), alpha: 3.0 });
            assert!(
                matches!(pareto, Durations::Pareto { alpha, .. } if (alpha - 3.0).abs() < 0.2),
                "{pareto:?}"
            );
        }
    }

    /// Two kinds of detours and a rare long one: no formula fits, but the quantiles keep shape and mean.
    #[test]
    fn what_no_formula_fits_keeps_its_quantiles() {
        let mut values = drawn(Durations::LogNormal { median: Time(5_000_000), sigma: 0.1 }, 1);
        values.extend(drawn(Durations::Uniform { min: Time(20_000_000), max: Time(22_000_000) }, 2));
        values.push(50_000_000_000);
        values.sort_unstable();
        let fitted = fit_durations(&values);
        assert!(matches!(fitted.durations, Durations::Quantiles(_)));
        let mean = values.iter().map(|&value| value as f64).sum::<f64>() / values.len() as f64;
        assert!(
            (fitted.durations.mean_ps() / mean - 1.0).abs() < 0.01,
            "{} {mean}",
            fitted.durations.mean_ps()
        );
        let again = drawn(fitted.durations, 9);
        let (distance, limit) = (
            straggler_model::stats::distance(&values, &again),
            chance_distance(values.len(), Some(again.len())),
        );
        assert!(distance < limit, "{distance} {limit}");
    }

    #[test]
    fn the_normal_distribution() {
        for (z, share) in [(0.0, 0.5), (1.0, 0.841345), (-1.96, 0.024998), (3.0, 0.998650)] {
            assert!((normal(z) - share).abs() < 1e-6, "{z}");
        }
    }
}
