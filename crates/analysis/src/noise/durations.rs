//! The durations of detours, and the gaps between them.

use serde::Serialize;
use straggler_model::stats::{Summary, quantile_of_sorted};
use straggler_noise::NoiseRecording;

/// A distribution of times, in ps.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Times {
    #[serde(flatten)]
    pub summary: Summary,
    pub p95: u64,
    pub p999: u64,
    /// Standard deviation / mean: 0 for a clock, 1 for random times, more for bursts.
    pub variation: f64,
}

/// A range of durations: from `from_ps` up to, but excluding, `to_ps`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct DurationBin {
    pub from_ps: u64,
    pub to_ps: u64,
    pub count: u64,
    pub noise_ps: u64,
}

/// Ranges per factor of ten.
const BINS_A_DECADE: i32 = 5;

impl Times {
    pub fn of_sorted(sorted: &[u64]) -> Option<Times> {
        let summary = Summary::of_sorted(sorted)?;
        let at = |q| quantile_of_sorted(sorted, q);
        let variation = if summary.mean > 0.0 { summary.sd / summary.mean } else { 0.0 };
        Some(Times { summary, p95: at(0.95)?, p999: at(0.999)?, variation })
    }
}

/// Durations of all detours, sorted.
pub fn sorted_durations(recording: &NoiseRecording) -> Vec<u64> {
    let detours = recording.cores.iter().flat_map(|core| &core.detours);
    let mut durations: Vec<u64> = detours.map(|detour| detour.duration.ps()).collect();
    durations.sort_unstable();
    durations
}

/// Times from the start of a detour to the start of the next on its core, sorted.
pub fn sorted_gaps(recording: &NoiseRecording) -> Vec<u64> {
    let of_core = |core: &straggler_noise::recording::Core| -> Vec<u64> {
        core.detours.windows(2).map(|pair| pair[1].start.since(pair[0].start).ps()).collect()
    };
    let mut gaps: Vec<u64> = recording.cores.iter().flat_map(of_core).collect();
    gaps.sort_unstable();
    gaps
}

/// Ranges of equal ratio, from the shortest to the longest; ranges in between may be empty.
pub fn histogram(sorted: &[u64]) -> Vec<DurationBin> {
    let mut rest = &sorted[sorted.partition_point(|&duration| duration == 0)..];
    let mut bins = Vec::new();
    let Some(&first) = rest.first() else { return bins };
    let edge = |step: i32| 10f64.powf(f64::from(step) / f64::from(BINS_A_DECADE)).round() as u64;
    let mut step = ((first as f64).log10() * f64::from(BINS_A_DECADE)).floor() as i32;
    while edge(step) > first {
        step -= 1;
    }
    while !rest.is_empty() {
        let (from_ps, to_ps) = (edge(step), edge(step + 1));
        let count = rest.partition_point(|&duration| duration < to_ps || to_ps == u64::MAX);
        let (here, later) = rest.split_at(count);
        let noise_ps = here.iter().fold(0u64, |sum, &duration| sum.saturating_add(duration));
        if count > 0 || !bins.is_empty() {
            bins.push(DurationBin { from_ps, to_ps, count: count as u64, noise_ps });
        }
        rest = later;
        step += 1;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_duration_is_in_its_range(mut durations in prop::collection::vec(1u64.., 0..60)) {
            durations.extend([1, 2, 10, u64::MAX].iter().take(durations.len() % 5));
            durations.sort_unstable();
            let bins = histogram(&durations);
            prop_assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), durations.len() as u64);
            for bin in &bins {
                let inside = |&&duration: &&u64| {
                    duration >= bin.from_ps && (duration < bin.to_ps || bin.to_ps == u64::MAX)
                };
                prop_assert_eq!(durations.iter().filter(inside).count() as u64, bin.count);
            }
        }
    }
}
