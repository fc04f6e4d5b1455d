//! Two recordings side by side: is it the same noise?

use super::durations::{sorted_durations, sorted_gaps};
use super::overhead::{Overhead, Resampled};
use serde::Serialize;
use straggler_model::noise::Recording;
use straggler_model::noise::recording::{Core, SourceId};
use straggler_model::stats::CONFIDENCE;
use straggler_model::stats::{chance_distance, distance, quantile_in_place};

/// What differs between two recordings, and by how much.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    pub overheads: [Overhead; 2],
    /// Detours a second on a core.
    pub rates_hz: [f64; 2],
    /// Between what the difference of the overheads lies, the second less the first; nothing where one of
    /// them has no interval.
    pub overhead_difference: Option<[f64; 2]>,
    pub durations: Distance,
    pub gaps: Distance,
    /// Those that differ most first.
    pub sources: Vec<SourceDifference>,
    pub differences: Vec<Difference>,
    /// There are so few detours that any difference could be chance: nothing can be told.
    pub too_few: bool,
}

/// How far two samples are apart.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Distance {
    /// Smirnov's: the largest difference of their distribution functions.
    pub distance: f64,
    /// What it stays below in 99 of 100 cases if both come from the same distribution.
    pub limit: f64,
    pub medians_ps: [Option<u64>; 2],
}

/// A source in both recordings; zeros where it is in one only.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SourceDifference {
    pub name: String,
    pub events: [u64; 2],
    pub overheads: [f64; 2],
}

/// A respect in which the noise is not the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    Overhead,
    Durations,
    Gaps,
}

impl Comparison {
    pub fn of(first: &Recording, second: &Recording, seed: u64) -> Comparison {
        let both = [first, second];
        let resampled = [0, 1].map(|index| {
            Resampled::new(&both[index].cores.iter().collect::<Vec<&Core>>(), seed, index as u32)
        });
        let overhead_difference = difference(&resampled);
        let durations = Distance::of(both.map(sorted_durations));
        let gaps = Distance::of(both.map(sorted_gaps));
        let differs = overhead_difference.is_some_and(|[low, high]| low > 0.0 || high < 0.0);
        let found = [
            (differs, Difference::Overhead),
            (durations.differs(), Difference::Durations),
            (gaps.differs(), Difference::Gaps),
        ];
        let overheads = resampled.map(|resampled| resampled.overhead);
        let quiet = overheads.iter().all(|overhead| overhead.detours == 0);
        let undecided = overhead_difference.is_none() || !durations.can_tell() || !gaps.can_tell();
        let too_few = undecided && !quiet && found.iter().all(|(differs, _)| !differs);
        let rate = |overhead: &Overhead| overhead.detours as f64 * 1e12 / overhead.length_ps.max(1) as f64;
        Comparison {
            rates_hz: [rate(&overheads[0]), rate(&overheads[1])],
            overheads,
            overhead_difference,
            durations,
            gaps,
            sources: sources(both),
            differences: found.into_iter().filter_map(|(differs, what)| differs.then_some(what)).collect(),
            too_few,
        }
    }

    /// Whether nothing but chance is between them, as far as there is enough to tell.
    pub fn is_equal(&self) -> bool {
        self.differences.is_empty() && !self.too_few
    }
}

/// The interval of the difference: resamples of both, drawn independently, are paired.
fn difference(both: &[Resampled; 2]) -> Option<[f64; 2]> {
    let pairs = both[0].resamples.iter().zip(&both[1].resamples);
    // Differences are signed; this keeps their order in integers.
    let key = |value: f64| {
        let bits = value.to_bits() as i64;
        bits ^ (((bits >> 63) as u64) >> 1) as i64
    };
    let mut keys: Vec<i64> = pairs.map(|(first, second)| key(second - first)).collect();
    let value = |key: i64| f64::from_bits((key ^ (((key >> 63) as u64) >> 1) as i64) as u64);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let mut at = |q| quantile_in_place(&mut keys, q).map(value);
    Some([at(tail)?, at(1.0 - tail)?])
}

impl Distance {
    fn of([one, other]: [Vec<u64>; 2]) -> Distance {
        let median = |values: &[u64]| straggler_model::stats::quantile_of_sorted(values, 0.5);
        Distance {
            distance: distance(&one, &other),
            limit: chance_distance(one.len().max(1), Some(other.len().max(1))),
            medians_ps: [median(&one), median(&other)],
        }
    }

    /// No distance is above 1, so that a limit of 1 is never exceeded.
    fn can_tell(&self) -> bool {
        self.limit < 1.0
    }

    pub fn differs(&self) -> bool {
        self.distance > self.limit
    }
}

fn sources(both: [&Recording; 2]) -> Vec<SourceDifference> {
    let mut list: Vec<SourceDifference> = Vec::new();
    for (side, recording) in both.into_iter().enumerate() {
        let length = recording.noise_and_length().1.ps().max(1) as f64;
        for (name, events, noise_ps) in totals(recording) {
            let index = list.iter().position(|source| source.name == name).unwrap_or_else(|| {
                list.push(SourceDifference { name: name.clone(), events: [0; 2], overheads: [0.0; 2] });
                list.len() - 1
            });
            list[index].events[side] += events;
            list[index].overheads[side] += noise_ps / length;
        }
    }
    let size = |source: &SourceDifference| (source.overheads[1] - source.overheads[0]).abs();
    list.sort_by(|a, b| size(b).total_cmp(&size(a)));
    list
}

/// Detours and noise time of each source that did something.
fn totals(recording: &Recording) -> Vec<(String, u64, f64)> {
    let mut totals: Vec<(String, u64, f64)> =
        recording.sources.iter().map(|source| (source.name.clone(), 0, 0.0)).collect();
    for detour in recording.cores.iter().flat_map(|core| &core.detours) {
        if let Some((_, events, noise)) = totals.get_mut(usize::from(detour.source as SourceId)) {
            *events += 1;
            *noise += detour.duration.ps() as f64;
        }
    }
    totals.retain(|&(_, events, _)| events > 0);
    totals
}
