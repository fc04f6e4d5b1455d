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
    /// The groups of a measurement, by their labels. Where a series over all pairs is there, it is taken; else those of pairs
    /// are merged, or those of classes.
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
            None if !pairs.is_empty() => merged(&labels, pairs.iter())?,
            None => merged(&labels, members.into_iter())?,
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
