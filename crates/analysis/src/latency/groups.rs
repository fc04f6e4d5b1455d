//! Which series of a measurement belong together: those that differ only in their pair of processes.

use straggler_model::latency::{Cycle, Labels, Measurement, MergeError, Series};

/// One distribution over all pairs, and those of the pairs where they were kept.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// Without pair and class.
    pub labels: Labels,
    pub all: Series,
    /// By pair; empty where only the whole was kept.
    pub pairs: Vec<Series>,
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
        let pairs: Vec<Series> = members
            .iter()
            .filter(|series| series.labels.pair.is_some())
            .map(|&series| series.clone())
            .collect();
        let all = match members.iter().find(|series| series.labels == labels) {
            Some(&whole) => whole.clone(),
            None if members.len() > pairs.len() => {
                merged(&labels, members.into_iter().filter(|series| series.labels.pair.is_none()))?
            }
            None => merged(&labels, pairs.iter())?,
        };
        Ok(Group { labels, all, pairs })
    }

    /// The cycles of each pair, or of all where pairs were not kept apart.
    pub fn cycles(&self) -> Vec<&[Cycle]> {
        if self.pairs.is_empty() {
            return vec![&self.all.cycles];
        }
        self.pairs.iter().map(|series| series.cycles.as_slice()).collect()
    }
}

fn stripped(labels: &Labels) -> Labels {
    Labels { pair: None, class: None, ..labels.clone() }
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
    use straggler_model::latency::{Bins, Pair};

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
        // Only pairs.
        measurement.series.retain(|series| series.labels.pair.is_some());
        assert_eq!(Group::of(&measurement).unwrap()[0].all.trials.count(), 1);
    }
}
