//! Compares two recordings: is it the same noise?

use super::durations::{sorted_durations, sorted_gaps};
use super::overhead::{Overhead, Resampled};
use serde::Serialize;
use straggler_model::stats::CONFIDENCE;
use straggler_model::stats::{chance_distance, distance, quantile_in_place};
use straggler_noise::NoiseRecording;
use straggler_noise::recording::{Core, SourceId};

/// What differs between two recordings, and by how much.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    pub overheads: [Overhead; 2],
    /// Detours per second and core.
    pub rates_hz: [f64; 2],
    /// The interval of the difference of overheads, the second minus the first; none if one of them has no interval.
    pub overhead_difference: Option<[f64; 2]>,
    pub durations: Distance,
    pub gaps: Distance,
    /// The largest difference first.
    pub sources: Vec<SourceDifference>,
    pub differences: Vec<Difference>,
    /// There are too few detours to tell: any difference could be chance.
    pub too_few: bool,
}

/// The distance between two samples.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Distance {
    /// Smirnov's distance: the largest difference of the distribution functions.
    pub distance: f64,
    /// The distance stays below this in 99 of 100 cases if both samples have the same distribution.
    pub limit: f64,
    pub medians_ps: [Option<u64>; 2],
}

/// A source in both recordings; zeros where it is missing.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SourceDifference {
    pub name: String,
    pub events: [u64; 2],
    pub overheads: [f64; 2],
}

/// A property in which the noise differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    Overhead,
    Durations,
    Gaps,
}

impl Comparison {
    pub fn new(first: &NoiseRecording, second: &NoiseRecording, seed: u64) -> Comparison {
        let both = [first, second];
        let resampled = [0, 1].map(|index| {
            Resampled::new(&both[index].cores.iter().collect::<Vec<&Core>>(), seed, index as u32)
        });
        let overhead_difference = difference(&resampled);
        let durations = Distance::new(both.map(sorted_durations));
        let gaps = Distance::new(both.map(sorted_gaps));
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

    /// Whether no difference was found, and there are enough detours to tell.
    pub fn is_equal(&self) -> bool {
        self.differences.is_empty() && !self.too_few
    }
}

/// The interval of the difference, from pairs of independent resamples.
fn difference(both: &[Resampled; 2]) -> Option<[f64; 2]> {
    let pairs = both[0].resamples.iter().zip(&both[1].resamples);
    // Maps signed floats to integers of the same order.
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
    fn new([one, other]: [Vec<u64>; 2]) -> Distance {
        let median = |values: &[u64]| straggler_model::stats::quantile_of_sorted(values, 0.5);
        Distance {
            distance: distance(&one, &other),
            limit: chance_distance(one.len().max(1), Some(other.len().max(1))),
            medians_ps: [median(&one), median(&other)],
        }
    }

    /// No distance exceeds 1, so a limit of 1 decides nothing.
    fn can_tell(&self) -> bool {
        self.limit < 1.0
    }

    pub fn differs(&self) -> bool {
        self.distance > self.limit
    }
}

fn sources(both: [&NoiseRecording; 2]) -> Vec<SourceDifference> {
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

/// Detours and noise time of each source that has any.
fn totals(recording: &NoiseRecording) -> Vec<(String, u64, f64)> {
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
