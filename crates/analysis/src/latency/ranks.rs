//! Ranks of a collective side by side: who is slowest.

use super::Distribution;
use super::distribution::Cell;
use serde::Serialize;
use straggler_model::Rank;
use straggler_model::latency::Series;

/// What each rank of a collective sees.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Ranks {
    /// By rank.
    pub ranks: Vec<OneRank>,
    /// Of the highest and the lowest median; the lower rank where several are equal.
    pub slowest: OneRank,
    pub fastest: OneRank,
    /// The median of the ranks' medians.
    pub typical_ps: f64,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct OneRank {
    pub rank: Rank,
    pub trials: u64,
    /// Known to the width of its bin.
    pub median_ps: f64,
    pub min_ps: f64,
}

impl Ranks {
    /// Nothing for less than two ranks with trials.
    pub fn of(series: &[Series]) -> Option<Ranks> {
        let ranks: Vec<OneRank> = series.iter().filter_map(OneRank::of).collect();
        if ranks.len() < 2 {
            return None;
        }
        let mut by_median = ranks.clone();
        by_median.sort_by(|a, b| a.median_ps.total_cmp(&b.median_ps).then(b.rank.cmp(&a.rank)));
        let typical_ps = by_median[by_median.len() / 2].median_ps;
        let fastest = by_median.iter().rfind(|one| one.median_ps == by_median[0].median_ps);
        let (slowest, fastest) = (*by_median.last()?, *fastest?);
        Some(Ranks { ranks, slowest, fastest, typical_ps })
    }

    /// Whether the medians differ by more than the bins they lie in.
    pub fn differ(&self) -> bool {
        self.slowest.median_ps > self.fastest.median_ps
    }
}

impl OneRank {
    fn of(series: &Series) -> Option<OneRank> {
        let distribution = Distribution::of(&series.trials)?;
        let rank = series.labels.rank?;
        // The middle of the bin, so that ranks whose medians lie in the same bin are equal.
        let (low, high) = distribution.bounds(0.5);
        let median_ps = Cell { low, high, count: 0 }.middle();
        Some(OneRank { rank, trials: distribution.count(), median_ps, min_ps: distribution.min_ps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::Time;
    use straggler_model::latency::{Bins, Labels};

    fn series(rank: Rank, ns: u64) -> Series {
        let labels = Labels { rank: Some(rank), ..Labels::default() };
        let mut series = Series::new(labels, Bins::default());
        (0..9).for_each(|trial| series.trials.record(Time::from_ns(ns + 10 * trial)));
        series
    }

    #[test]
    fn the_slowest_is_named() {
        let found = Ranks::of(&[series(0, 5000), series(1, 4000), series(2, 9000), series(3, 4000)]).unwrap();
        assert_eq!((found.slowest.rank, found.fastest.rank, found.ranks.len()), (2, 1, 4));
        assert!((found.typical_ps / 5.04e6 - 1.0).abs() < 0.01 && found.differ(), "{found:?}");
        let same = Ranks::of(&[series(0, 5000), series(1, 5000)]).unwrap();
        assert!(!same.differ());
        assert_eq!((same.slowest.rank, same.fastest.rank), (0, 0));
        assert!(Ranks::of(&[series(0, 5000)]).is_none());
    }
}
