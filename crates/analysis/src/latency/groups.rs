//! Which series of a measurement belong together: those that differ only in their pair of processes, or in their rank.

use straggler_model::latency::{Cycle, Labels, Measurement, MergeError, Series};

/// One distribution over all pairs or ranks, and those of each where they were kept.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// Without pair, rank and class.
    pub labels: Labels,
    pub all: Series,
    /// By pair; empty where only the whole was kept.
    pub pairs: Vec<Series>,
    /// Of a collective, by rank; empty where only the whole was kept.
    pub ranks: Vec<Series>,
}

impl Group {
    /// The groups of a measurement, by their labels. Where a series over all pairs is there, it is taken; else those of classes
    /// are merged, which have all trials in the finest bins, or those of pairs where there are no classes.
    pub fn of(measurement: &Measurement) -> Result<Vec<Group>, MergeError> {
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
        let all = match members.iter().find(|series| series.labels == labels) {
            Some(&whole) => whole.clone(),
            None if !members.iter().all(is_part) => {
                merged(&labels, members.into_iter().filter(|series| !is_part(series)))?
            }
            None => merged(&labels, pairs.iter().chain(&ranks))?,
        };
        Ok(Group { labels, all, pairs, ranks })
    }

    /// A series that stands for itself, such as that of one pair.
    pub fn single(series: &Series) -> Group {
        Group { labels: series.labels.clone(), all: series.clone(), pairs: Vec::new(), ranks: Vec::new() }
    }

    /// The cycles of each pair or rank, or of all where these were not kept apart.
    pub fn cycles(&self) -> Vec<&[Cycle]> {
        let parts = if self.pairs.is_empty() { &self.ranks } else { &self.pairs };
        if parts.is_empty() {
            return vec![&self.all.cycles];
        }
        parts.iter().map(|series| series.cycles.as_slice()).collect()
    }
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
    use straggler_model::Time;
    use straggler_model::latency::{Bins, Kind, Pair};

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
        let groups = Group::of(&measurement).unwrap();
        assert_eq!((groups.len(), groups[0].pairs.len()), (1, 1));
        assert_eq!((groups[0].all.trials.count(), groups[0].all.trials.bins()), (5, Bins::default()));
        // Ranks of a collective belong together, whether the whole was kept or not.
        let of_rank = |rank| Labels { kind: Kind::PerRank, rank, ..Labels::default() };
        let mut collective = Measurement::default();
        for rank in [Some(3), Some(0), None] {
            let mut one = Series::new(of_rank(rank), Bins::default());
            (0..2).for_each(|trial| one.trials.record(Time(1000 + trial)));
            collective.add(one).unwrap();
        }
        for count in [2, 4] {
            let groups = Group::of(&collective).unwrap();
            assert_eq!((groups.len(), groups[0].ranks.len(), groups[0].all.trials.count()), (1, 2, count));
            assert_eq!(groups[0].cycles().len(), 2);
            collective.series.retain(|series| series.labels.rank.is_some());
        }
        // Only pairs.
        measurement.series.retain(|series| series.labels.pair.is_some());
        assert_eq!(Group::of(&measurement).unwrap()[0].all.trials.count(), 1);
    }
}
