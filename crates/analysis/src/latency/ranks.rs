//! Compares the ranks of a collective: which one is slowest.

use super::Distribution;
use super::distribution::Cell;
use serde::Serialize;
use straggler_model::Rank;
use straggler_model::latency::{Outside, Series};
use straggler_model::stats::CONFIDENCE;

/// Findings on the ranks of a collective.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Ranks {
    /// Ordered by rank.
    pub ranks: Vec<OneRank>,
    /// The ranks with the highest and the lowest median; the lowest rank of several equal ones.
    pub slowest: OneRank,
    pub fastest: OneRank,
    /// The rank with the middle median.
    pub typical: OneRank,
    /// The rank with the second-highest median.
    pub runner_up: OneRank,
    pub lead: Lead,
    /// The error of each clock relative to the first, if it is known; two clocks may differ by twice this.
    pub clock_error_ps: Option<f64>,
}

/// Whether the slowest rank can be named.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lead {
    /// All medians lie in the same bin.
    None,
    /// Medians lie outside the bins, and their bounds do not show who is slowest.
    OutsideBins,
    /// The slowest and the fastest rank differ by less than the error of their clocks.
    WithinClockError,
    /// The slowest and the fastest rank do not differ significantly.
    WithinChance,
    /// Ranks differ, but the slowest does not differ significantly from the next.
    Shared,
    /// The slowest is slower than any other, beyond chance and clock error.
    Sure,
}

/// The typical latency of one rank of a collective.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct OneRank {
    pub rank: Rank,
    pub trials: u64,
    /// Known to the width of its bin, or a bound if it lies outside the bins.
    pub median_ps: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Outside>,
    /// Confidence interval of the median, 95 % for all ranks together; none if there are too few trials.
    pub interval_ps: Option<[f64; 2]>,
    pub min_ps: f64,
}

impl Ranks {
    /// None for fewer than two ranks with trials.
    pub fn new(series: &[Series]) -> Option<Ranks> {
        let doubt = (1.0 - CONFIDENCE) / series.len().max(1) as f64;
        let ranks: Vec<OneRank> = series.iter().filter_map(|one| OneRank::new(one, 1.0 - doubt)).collect();
        if ranks.len() < 2 {
            return None;
        }
        let clock_error = series.iter().filter_map(|one| one.clock_error).max();
        let clock_error_ps = clock_error.map(|error| error.ps() as f64);
        let mut by_median = ranks.clone();
        by_median.sort_by(|a, b| a.median_ps.total_cmp(&b.median_ps).then(b.rank.cmp(&a.rank)));
        let typical = by_median[by_median.len() / 2];
        let fastest = *by_median.iter().rfind(|one| one.median_ps == by_median[0].median_ps)?;
        let [.., runner_up, slowest] = by_median[..] else { return None };
        let lead = lead([fastest, runner_up, slowest], clock_error_ps.unwrap_or(0.0));
        Some(Ranks { ranks, slowest, fastest, typical, runner_up, lead, clock_error_ps })
    }
}

fn lead([fastest, runner_up, slowest]: [OneRank; 3], clock_error: f64) -> Lead {
    // Both clocks may be off.
    let within_clocks = |other: OneRank| slowest.median_ps - other.median_ps <= 2.0 * clock_error;
    match () {
        () if slowest.outside.is_some() && fastest.outside == slowest.outside => Lead::OutsideBins,
        () if slowest.median_ps <= fastest.median_ps => Lead::None,
        () if within_clocks(fastest) => Lead::WithinClockError,
        () if !slowest.is_surely_above(fastest) => Lead::WithinChance,
        () if slowest.is_surely_above(runner_up) && !within_clocks(runner_up) => Lead::Sure,
        () => Lead::Shared,
    }
}

impl OneRank {
    fn new(series: &Series, confidence: f64) -> Option<OneRank> {
        let distribution = Distribution::from_histogram(&series.trials)?;
        let rank = series.labels.rank?;
        let outside = distribution.outside(0.5);
        // The middle of the bin, so that ranks whose medians lie in the same bin are equal.
        let (low, high) = distribution.bounds(0.5);
        let middle = Cell { low, high, count: 0 }.middle();
        let median_ps = outside.map_or(middle, |outside| outside.bound().ps() as f64);
        let interval = distribution.interval(0.5, confidence).map(|(low, high)| [low, high]);
        let (trials, min_ps) = (distribution.count(), distribution.min_ps);
        Some(OneRank { rank, trials, median_ps, outside, interval_ps: interval, min_ps })
    }

    fn is_surely_above(self, other: OneRank) -> bool {
        self.interval_ps.zip(other.interval_ps).is_some_and(|(own, other)| own[0] > other[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::samples::lognormal;
    use straggler_model::Time;
    use straggler_model::latency::{Bins, Histogram, Labels};

    fn of_rank(rank: Rank, trials: Histogram) -> Series {
        let labels = Labels { rank: Some(rank), ..Labels::default() };
        Series { trials, ..Series::new(labels, Bins::default()) }
    }

    fn series(rank: Rank, ns: u64) -> Series {
        let mut trials = Histogram::default();
        (0..99).for_each(|trial| trials.record(Time::from_ns(ns + trial % 9)));
        of_rank(rank, trials)
    }

    #[test]
    fn the_slowest_is_named() {
        let found =
            Ranks::new(&[series(0, 5000), series(1, 4000), series(2, 9000), series(3, 4000)]).unwrap();
        assert_eq!((found.slowest.rank, found.fastest.rank, found.ranks.len()), (2, 1, 4));
        assert_eq!((found.runner_up.rank, found.lead), (0, Lead::Sure));
        assert!((found.typical.median_ps / 5e6 - 1.0).abs() < 0.01, "{found:?}");
        let same = Ranks::new(&[series(0, 5000), series(1, 5000)]).unwrap();
        assert_eq!((same.slowest.rank, same.fastest.rank, same.lead), (0, 0, Lead::None));
        assert!(Ranks::new(&[series(0, 5000)]).is_none());
    }

    /// Differences that chance, clocks or bins may explain are not reported.
    #[test]
    fn the_slowest_is_not_named_without_a_reason() {
        let mut sure = 0;
        for seed in 0..40 {
            let drawn = |rank: Rank| {
                let mut trials = Histogram::default();
                let values = lognormal(2 * seed + u64::from(rank), 500, 0.0, 5e6, 0.3);
                values.iter().for_each(|&ps| trials.record(Time(ps)));
                of_rank(rank, trials)
            };
            sure += usize::from(Ranks::new(&[drawn(0), drawn(1)]).unwrap().lead == Lead::Sure);
        }
        assert!(sure <= 3, "{sure}");
        let off = |rank, ns, error| Series { clock_error: Some(Time::from_ns(error)), ..series(rank, ns) };
        let lead = |error| Ranks::new(&[off(0, 5000, error), off(1, 5600, error)]).unwrap().lead;
        assert_eq!((lead(400), lead(100)), (Lead::WithinClockError, Lead::Sure));
        let two = Ranks::new(&[series(0, 5000), series(1, 9000), series(2, 9000)]).unwrap();
        assert_eq!(two.lead, Lead::Shared);
        let beyond = |rank, ps: u64| {
            let mut trials = Histogram::new(Bins::FixedWidth { width_ps: 10, count: 10 });
            (0..100u64).for_each(|trial| trials.record(Time(ps + trial)));
            of_rank(rank, trials)
        };
        let found = Ranks::new(&[beyond(0, 500), beyond(1, 9000)]).unwrap();
        assert_eq!((found.lead, found.slowest.median_ps), (Lead::OutsideBins, 100.0));
        // One median within the bins, one beyond them.
        let found = Ranks::new(&[beyond(0, 0), beyond(1, 9000)]).unwrap();
        assert_eq!((found.lead, found.slowest.outside), (Lead::Sure, Some(Outside::Above(Time(100)))));
    }
}
