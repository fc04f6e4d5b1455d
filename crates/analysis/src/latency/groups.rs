//! Groups the series of a measurement that differ only in their pair of processes or their rank.

use std::collections::BTreeMap;
use straggler_model::Rank;
use straggler_model::latency::{Cycle, Labels, Measurement, MergeError, Series};

/// The distribution over all pairs or ranks, and the individual ones if they were kept.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// Labels without pair, rank and class.
    pub labels: Labels,
    pub all: Series,
    /// One for each pair; empty if only the whole was kept.
    pub pairs: Vec<Series>,
    /// One for each rank of a collective; empty if only the whole was kept.
    pub ranks: Vec<Series>,
    /// Lists of cycles that follow each other in time: one for each pair or rank, or otherwise for each process and
    /// class.
    pub cycles: Vec<Vec<Cycle>>,
}

impl Group {
    /// The groups of a measurement, ordered by labels. Uses the series over all pairs if there is one; otherwise
    /// merges the series of classes, which have all trials in the finest bins; otherwise those of pairs or ranks.
    pub fn new(measurement: &Measurement) -> Result<Vec<Group>, MergeError> {
        let mut keys: Vec<Labels> =
            measurement.series.iter().map(|series| stripped(&series.labels)).collect();
        keys.sort();
        keys.dedup();
        keys.into_iter().map(|labels| Group::with(labels, &measurement.series)).collect()
    }

    fn with(labels: Labels, series: &[Series]) -> Result<Group, MergeError> {
        let members: Vec<&Series> =
            series.iter().filter(|series| stripped(&series.labels) == labels).collect();
        let kept = |is_kept: fn(&Labels) -> bool| -> Vec<Series> {
            members.iter().filter(|series| is_kept(&series.labels)).map(|&series| series.clone()).collect()
        };
        let pairs = kept(|labels| labels.pair.is_some());
        let ranks = kept(|labels| labels.rank.is_some());
        let is_part = |series: &&Series| series.labels.pair.is_some() || series.labels.rank.is_some();
        let parts = if pairs.is_empty() { &ranks } else { &pairs };
        let whole: Vec<&Series> = members.iter().filter(|series| series.labels == labels).copied().collect();
        let classes = members.iter().filter(|series| !is_part(series)).copied();
        let cycles = match (parts.is_empty(), whole.is_empty()) {
            (false, _) => parts.iter().flat_map(in_a_row).collect(),
            (true, false) => whole.iter().copied().flat_map(in_a_row).collect(),
            (true, true) => classes.clone().flat_map(in_a_row).collect(),
        };
        let all = match whole.first() {
            Some(&whole) => whole.clone(),
            None if !members.iter().all(is_part) => merged(&labels, classes)?,
            None => merged(&labels, pairs.iter().chain(&ranks))?,
        };
        Ok(Group { labels, all, pairs, ranks, cycles })
    }

    /// A group of a single series, such as that of one pair.
    pub fn single(series: &Series) -> Group {
        let (pairs, ranks) = (Vec::new(), Vec::new());
        Group { labels: series.labels.clone(), all: series.clone(), pairs, ranks, cycles: in_a_row(series) }
    }
}

/// The cycles of a series, split by the process that recorded them, because processes run at the same time.
fn in_a_row(series: &Series) -> Vec<Vec<Cycle>> {
    let mut by_process: BTreeMap<Option<Rank>, Vec<Cycle>> = BTreeMap::new();
    series.cycles.iter().for_each(|cycle| by_process.entry(cycle.process).or_default().push(*cycle));
    by_process.into_values().collect()
}

fn stripped(labels: &Labels) -> Labels {
    Labels { pair: None, rank: None, class: None, ..labels.clone() }
}

fn merged<'a>(labels: &Labels, mut series: impl Iterator<Item = &'a Series>) -> Result<Series, MergeError> {
    let first = series.next().cloned().unwrap_or_default();
    let mut whole = Series { labels: labels.clone(), ..first };
    series.try_for_each(|more| whole.merge(more))?;
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::Stationarity;
    use crate::latency::stationarity::Steadiness;
    use straggler_model::Time;
    use straggler_model::latency::{Bins, Histogram, Kind, Pair};

    #[test]
    fn classes_come_before_pairs() {
        let mut measurement = Measurement::default();
        let class = |name: &str| Labels { class: Some(name.into()), ..Labels::default() };
        let pair = Labels { pair: Some(Pair { from: 0, to: 1 }), ..class("near") };
        let coarse = Bins::HighDynamicRange { octave_bits: 3 };
        let series =
            [(class("near"), Bins::default(), 3), (class("far"), Bins::default(), 2), (pair, coarse, 1)];
        for (labels, bins, trials) in series {
            let mut one = Series::new(labels, bins);
            (0..trials).for_each(|trial| one.trials.record(Time(1000 + trial)));
            measurement.add(one).unwrap();
        }
        let groups = Group::new(&measurement).unwrap();
        assert_eq!((groups.len(), groups[0].pairs.len()), (1, 1));
        assert_eq!((groups[0].all.trials.count(), groups[0].all.trials.bins()), (5, Bins::default()));
        // Ranks of a collective form one group, whether the whole was kept or not.
        let of_rank = |rank| Labels { kind: Kind::PerRank, rank, ..Labels::default() };
        let mut collective = Measurement::default();
        for rank in [Some(3), Some(0), None] {
            let mut one = Series::new(of_rank(rank), Bins::default());
            (0..2).for_each(|trial| one.trials.record(Time(1000 + trial)));
            collective.add(one).unwrap();
        }
        for count in [2, 4] {
            let groups = Group::new(&collective).unwrap();
            assert_eq!((groups.len(), groups[0].ranks.len(), groups[0].all.trials.count()), (1, 2, count));
            assert_eq!(groups[0].cycles.len(), 0);
            collective.series.retain(|series| series.labels.rank.is_some());
        }
        // Pairs only.
        assert!(Group::new(&measurement).unwrap()[0].cycles.is_empty());
        measurement.series.retain(|series| series.labels.pair.is_some());
        assert_eq!(Group::new(&measurement).unwrap()[0].all.trials.count(), 1);
    }

    /// Merged cycles of many processes at different levels are not mistaken for a change over time.
    #[test]
    fn merged_cycles_of_processes_stay_apart() {
        let mut measurement = Measurement::default();
        let class = Labels { class: Some("same node".into()), ..Labels::default() };
        for process in 0..40 {
            let mut series = Series::new(class.clone(), Bins::default());
            for cycle in 0..10 {
                let mut trials = Histogram::default();
                (0..20).for_each(|_| trials.record(Time::from_ns(1000 + 100 * u64::from(process))));
                series.add_cycle(&trials, 1_000_000 * cycle + u64::from(process)).unwrap();
            }
            measurement.add(series.recorded_by(process)).unwrap();
        }
        let group = &Group::new(&measurement).unwrap()[0];
        assert_eq!((group.all.cycles.len(), group.cycles.len()), (400, 40));
        assert_eq!(Stationarity::new(&group.cycles).verdict, Steadiness::Steady);
        assert_ne!(Stationarity::new(std::slice::from_ref(&group.all.cycles)).verdict, Steadiness::Steady);
    }
}
