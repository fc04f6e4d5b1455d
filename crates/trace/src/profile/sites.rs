//! The call sites of a program, as mpiP lists them.

use super::{Counts, RankProfile};
use crate::Function;
use crate::sites::SiteId;
use std::collections::BTreeMap;
use straggler_model::{Rank, Time};

/// The calls of one function from one place, on all ranks.
#[derive(Clone, PartialEq, Debug)]
pub struct SiteProfile {
    pub site: SiteId,
    pub function: Function,
    pub counts: Counts,
    /// The time of each rank that calls from here.
    pub ranks: Vec<(Rank, Time)>,
    /// The standard deviation of these times divided by their mean; 0 if all are equal.
    pub variation: f64,
}

/// The calls of all ranks, and the time of each.
type OfRanks = (Counts, Vec<(Rank, Time)>);

impl SiteProfile {
    /// The call sites of all ranks, most time first.
    pub(super) fn new(ranks: &[RankProfile]) -> Vec<SiteProfile> {
        let mut found: BTreeMap<(SiteId, Function), OfRanks> = BTreeMap::new();
        for (rank, profile) in (0..).zip(ranks) {
            for (&place, counts) in &profile.sites {
                let (all, times) = found.entry(place).or_default();
                all.add(counts);
                times.push((rank, counts.time));
            }
        }
        let site = |((site, function), (counts, ranks)): (_, OfRanks)| {
            let variation = variation(&ranks);
            SiteProfile { site, function, counts, ranks, variation }
        };
        let mut list: Vec<SiteProfile> = found.into_iter().map(site).collect();
        list.sort_by_key(|site| std::cmp::Reverse(site.counts.time));
        list
    }

    /// The rank that spends most time here; the lowest in a tie.
    pub fn slowest(&self) -> Option<(Rank, Time)> {
        self.ranks.iter().copied().rev().max_by_key(|&(_, time)| time)
    }
}

fn variation(times: &[(Rank, Time)]) -> f64 {
    let each = || times.iter().map(|(_, time)| time.ps() as f64);
    let count = times.len().max(1) as f64;
    let mean = each().sum::<f64>() / count;
    if mean <= 0.0 {
        return 0.0;
    }
    let square = each().map(|time| (time - mean).powi(2)).sum::<f64>() / count;
    square.sqrt() / mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variation_is_over_ranks() {
        let times =
            |list: &[u64]| (0..).zip(list).map(|(rank, &time)| (rank, Time(time))).collect::<Vec<_>>();
        assert_eq!(variation(&times(&[])), 0.0);
        assert_eq!(variation(&times(&[7, 7, 7])), 0.0);
        // Mean 2, deviations 1 and 1.
        assert!((variation(&times(&[1_000_000, 3_000_000])) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn places_are_told_apart_by_function_and_sorted_by_time() {
        let counts = |time| Counts { calls: 1, time: Time(time), longest: Time(time), sent: 4, received: 0 };
        let rank = |list: &[(SiteId, Function, u64)]| RankProfile {
            sites: list.iter().map(|&(site, function, time)| ((site, function), counts(time))).collect(),
            ..RankProfile::default()
        };
        let ranks = [
            rank(&[(3, Function::Send, 10), (3, Function::Recv, 25)]),
            rank(&[(3, Function::Send, 30), (5, Function::Send, 1)]),
        ];
        let found = SiteProfile::new(&ranks);
        let told: Vec<_> =
            found.iter().map(|site| (site.site, site.function, site.counts.time.ps())).collect();
        assert_eq!(told, [(3, Function::Send, 40), (3, Function::Recv, 25), (5, Function::Send, 1)]);
        assert_eq!(
            (found[0].counts.calls, found[0].counts.sent, found[0].slowest()),
            (2, 8, Some((1, Time(30))))
        );
        assert_eq!(found[0].variation, 0.5);
    }
}
