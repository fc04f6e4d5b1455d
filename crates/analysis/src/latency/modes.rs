//! Modes: the peaks of a distribution on a logarithmic axis, as far as counting noise does not explain them.

use super::Distribution;
use super::steps::Steps;
use serde::Serialize;

/// A peak and the trials that belong to it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Mode {
    /// Where the density is highest.
    pub centre_ps: f64,
    /// The share of all trials between the bounds.
    pub weight: f64,
    /// The valleys on both sides, or the shortest and the longest known time. Trials outside the bins belong to no
    /// mode.
    pub low_ps: f64,
    pub high_ps: f64,
    /// The depth of the shallower valley as a share of the peak; 1 for the only mode.
    pub depth: f64,
}

/// Grid places per bandwidth.
const PLACES: f64 = 4.0;
/// A valley must lie this many standard deviations of the counts below the lower of its two peaks. The limit is high
/// because many places are tested.
const SURE: f64 = 4.5;
/// It must also be this deep, as a share of the peak: with millions of trials every ripple is significant.
const DEEP: f64 = 0.15;
/// The smallest bandwidth on the logarithmic axis.
const NARROWEST: f64 = 0.004;

/// Finds the modes, in ascending order. Counts are spread evenly over their cells and over the steps of a coarse
/// timer, then smoothed by a Gaussian whose width follows Silverman's rule. Valleys that counting noise explains are
/// filled, the least significant first.
pub fn find(distribution: &Distribution) -> Vec<Mode> {
    let bandwidth = bandwidth(distribution);
    let step = bandwidth / PLACES;
    let smear = Steps::new(distribution).map_or(0.0, |steps| steps.step_ps);
    let (from, counts) = distribution.on_log_grid(step, smear);
    let smooth = smoothed(&counts);
    let peaks = Peaks::new(&smooth, distribution.count() as f64);
    let edge = |place: usize| (from + (place as f64 + 0.5) * step).exp();
    let Some((first, last)) = distribution.known_range() else { return Vec::new() };
    let [below, above] = distribution.unknown().map(|count| count as f64 / distribution.count() as f64);
    peaks
        .modes(&smooth)
        .map(|found| {
            let (low_ps, high_ps) = (found.low.map_or(first, edge), found.high.map_or(last, edge));
            let upper = found.high.map_or(1.0 - above, |_| distribution.share_below(high_ps));
            let lower = found.low.map_or(below, |_| distribution.share_below(low_ps));
            let centre_ps = edge(found.top).clamp(first, last);
            Mode { centre_ps, weight: upper - lower, low_ps, high_ps, depth: found.depth }
        })
        .collect()
}

/// Silverman's rule on the logarithms, but at least two cells.
fn bandwidth(distribution: &Distribution) -> f64 {
    let ln = |q: f64| distribution.quantile_of_known(q).max(1.0).ln();
    let spread = ((ln(0.75) - ln(0.25)) / 1.349).max((ln(0.9) - ln(0.1)) / 2.563 * 0.3);
    let rule = 0.9 * spread * (distribution.count() as f64).powf(-0.2);
    let (low, high) = distribution.bounds_of_known_median();
    let cell = if low > 0.0 { (high / low).ln() } else { 0.0 };
    rule.max(2.0 * cell).clamp(NARROWEST, 1.0)
}

/// Counts per place, smoothed by a Gaussian of one bandwidth.
fn smoothed(counts: &[f64]) -> Vec<f64> {
    let reach = (4.0 * PLACES) as usize;
    let weights: Vec<f64> = (0..=reach).map(|away| (-0.5 * (away as f64 / PLACES).powi(2)).exp()).collect();
    let sum: f64 = weights[0] + 2.0 * weights[1..].iter().sum::<f64>();
    let at = |index: usize| {
        let part = |away: usize, weight: f64| {
            let left = index.checked_sub(away).and_then(|index| counts.get(index)).unwrap_or(&0.0);
            let right = if away > 0 { counts.get(index + away).unwrap_or(&0.0) } else { &0.0 };
            weight * (left + right)
        };
        weights.iter().enumerate().map(|(away, &weight)| part(away, weight)).sum::<f64>() / sum
    };
    (0..counts.len()).map(at).collect()
}

/// Peaks and the valleys between them, as places on the grid.
struct Peaks {
    tops: Vec<usize>,
    /// One fewer than tops.
    valleys: Vec<usize>,
}

struct Found {
    top: usize,
    low: Option<usize>,
    high: Option<usize>,
    depth: f64,
}

impl Peaks {
    fn new(smooth: &[f64], total: f64) -> Peaks {
        let mut peaks = Peaks::all(smooth, total);
        while let Some(weakest) = peaks.weakest(smooth) {
            peaks.fill(weakest, smooth);
        }
        peaks
    }

    /// All local maxima, with the lowest place between each two. Negligible counts make no peak.
    fn all(smooth: &[f64], total: f64) -> Peaks {
        let least = 1e-12 * total;
        let is_top = |&index: &usize| {
            let before = index.checked_sub(1).map_or(0.0, |before| smooth[before]);
            let after = smooth.get(index + 1).copied().unwrap_or(0.0);
            smooth[index] > least && smooth[index] > before && smooth[index] >= after
        };
        let tops: Vec<usize> = (0..smooth.len()).filter(is_top).collect();
        let lowest = |pair: &[usize]| {
            (pair[0]..=pair[1]).min_by(|&a, &b| smooth[a].total_cmp(&smooth[b])).unwrap_or(pair[0])
        };
        let valleys = tops.windows(2).map(lowest).collect();
        Peaks { tops, valleys }
    }

    /// The least significant valley, if it is not significant or deep enough. A smoothed count has the variance of a
    /// count over 2 √π bandwidths.
    fn weakest(&self, smooth: &[f64]) -> Option<usize> {
        let over = 2.0 * std::f64::consts::PI.sqrt() * PLACES;
        let strength = |index: usize| {
            let top = smooth[self.tops[index]].min(smooth[self.tops[index + 1]]);
            let bottom = smooth[self.valleys[index]];
            let sure = (top - bottom) / ((top + bottom) / over).sqrt() / SURE;
            sure.min((1.0 - bottom / top) / DEEP)
        };
        let strengths = (0..self.valleys.len()).map(|index| (index, strength(index)));
        strengths
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, strength)| *strength < 1.0)
            .map(|(index, _)| index)
    }

    fn fill(&mut self, valley: usize, smooth: &[f64]) {
        let lower =
            if smooth[self.tops[valley]] < smooth[self.tops[valley + 1]] { valley } else { valley + 1 };
        self.valleys.remove(valley);
        self.tops.remove(lower);
    }

    fn modes<'a>(&'a self, smooth: &'a [f64]) -> impl Iterator<Item = Found> + 'a {
        self.tops.iter().enumerate().map(|(index, &top)| {
            let low = index.checked_sub(1).map(|before| self.valleys[before]);
            let high = self.valleys.get(index).copied();
            let shallowest =
                [low, high].into_iter().flatten().map(|valley| smooth[valley]).fold(0.0, f64::max);
            let depth = 1.0 - shallowest / smooth[top];
            Found { top, low, high, depth }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::samples::{distribution, lognormal};
    use straggler_model::Time;
    use straggler_model::latency::{Bins, Histogram};

    /// Samples of one log-normal distribution have one mode, whatever their number and width.
    #[test]
    fn one_distribution_has_one_mode() {
        let mut wrong = 0;
        for seed in 0..60 {
            for (count, sigma) in [(30, 0.3), (300, 0.05), (3000, 1.0), (20_000, 0.2)] {
                let modes = find(&distribution(&lognormal(seed, count, 1e6, 4e6, sigma)));
                wrong += usize::from(modes.len() != 1);
                assert!((modes.iter().map(|mode| mode.weight).sum::<f64>() - 1.0).abs() < 1e-9);
            }
        }
        assert!(wrong <= 3, "{wrong} of 240");
    }

    /// The three modes of figure 3 of the paper: 4.6, 5.7 and 7.5 µs.
    #[test]
    fn three_modes_are_separated() {
        for seed in 0..10 {
            let mut values = lognormal(seed, 6000, 0.0, 4.6e6, 0.04);
            values.extend(lognormal(seed + 100, 3500, 0.0, 5.7e6, 0.04));
            values.extend(lognormal(seed + 200, 500, 0.0, 7.5e6, 0.04));
            let modes = find(&distribution(&values));
            assert_eq!(modes.len(), 3, "{modes:?}");
            for (mode, (centre, weight)) in modes.iter().zip([(4.6e6, 0.6), (5.7e6, 0.35), (7.5e6, 0.05)]) {
                assert!((mode.centre_ps / centre - 1.0).abs() < 0.03, "{mode:?}");
                assert!((mode.weight - weight).abs() < 0.01, "{mode:?}");
                assert!(mode.low_ps < mode.centre_ps && mode.centre_ps < mode.high_ps);
                assert!(mode.depth > 0.8, "{mode:?}");
            }
        }
    }

    /// The depth of a mode is that of its shallower valley: the middle mode is far from one neighbour and overlaps
    /// the other.
    #[test]
    fn a_mode_is_as_deep_as_its_shallower_valley() {
        let mut values = lognormal(1, 20_000, 0.0, 4e6, 0.03);
        values.extend(lognormal(2, 6500, 0.0, 8e6, 0.03));
        values.extend(lognormal(3, 6500, 0.0, 1e7, 0.03));
        let modes = find(&distribution(&values));
        assert_eq!(modes.len(), 3, "{modes:?}");
        assert!(modes[0].depth > 0.99 && modes[1].depth < 0.8, "{modes:?}");
    }

    /// Trials outside the bins are neither a mode nor part of one.
    #[test]
    fn trials_outside_the_bins_are_no_modes() {
        let mut times = Histogram::new(Bins::FixedWidth { width_ps: 100_000, count: 100 });
        lognormal(1, 6000, 0.0, 5e6, 0.05).iter().for_each(|&ps| times.record(Time(ps)));
        (0..3000).for_each(|trial| times.record(Time(500_000_000 + trial)));
        (0..1000).for_each(|_| times.record_underflow());
        let modes = find(&Distribution::from_histogram(&times).unwrap());
        assert_eq!(modes.len(), 1, "{modes:?}");
        assert!((modes[0].weight - 0.6).abs() < 1e-9 && modes[0].high_ps < 1e7, "{modes:?}");
        assert!(modes[0].low_ps > 3e6 && (modes[0].centre_ps / 5e6 - 1.0).abs() < 0.03, "{modes:?}");
    }

    /// A timer of 1 µs turns every distribution into a comb; its teeth are not modes.
    #[test]
    fn steps_of_the_timer_are_no_modes() {
        let values: Vec<u64> =
            lognormal(3, 5000, 4e6, 3e6, 0.4).iter().map(|ps| ps / 1_000_000 * 1_000_000).collect();
        assert_eq!(find(&distribution(&values)).len(), 1);
        assert_eq!(find(&distribution(&[5_000_000])).len(), 1);
        assert_eq!(find(&distribution(&[0, 0])).len(), 1);
    }
}
