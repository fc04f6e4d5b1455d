//! Serial overhead: the share of time that noise takes from a core that waits for no other (Table I of the SC10 noise
//! study), with its confidence interval.
//!
//! Noise comes in bursts and rhythms, so slices of time are not independent, and their standard error would be too
//! small. The interval comes from a block bootstrap: blocks of neighbouring slices are drawn with replacement,
//! wrapping around the end, and the overhead of each resample is computed. The block length follows from the
//! correlation of the slices (Politis and White 2004, with the correction of Patton, Politis and White 2009, for the
//! circular bootstrap).

use super::slots::Slots;
use serde::Serialize;
use std::fmt;
use straggler_model::philox::Stream;
use straggler_model::stats::{CONFIDENCE, quantile_in_place};
use straggler_noise::NoiseRecording;
use straggler_noise::recording::Core;

/// Resamples per interval.
const RESAMPLES: usize = 1000;
/// A recording is cut into this many slices.
const SLICES: usize = 2000;
/// With fewer detours, an interval would pretend to know more than it does.
const FEWEST_DETOURS: usize = 10;
/// With fewer blocks, resamples are too similar.
const FEWEST_BLOCKS: usize = 10;

/// The overhead of some cores together.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Overhead {
    pub noise_ps: u64,
    pub length_ps: u64,
    pub detours: u64,
    /// Noise time / measured time.
    pub share: f64,
    pub interval: Option<Interval>,
    /// Why there is no interval.
    pub no_interval: Option<NoInterval>,
    /// The share of noise time in the five longest detours. If it is large, a longer measurement may give another
    /// overhead.
    pub five_longest: f64,
}

/// The confidence interval of an overhead.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    pub confidence: f64,
    /// The length of the blocks.
    pub block_ps: u64,
    pub blocks: usize,
}

/// Why an overhead has no interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoInterval {
    TooFewDetours { detours: usize },
    TooCorrelated { blocks: usize },
}

impl fmt::Display for NoInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoInterval::TooFewDetours { detours } => {
                write!(
                    f,
                    "too short for a confidence interval: it has {detours} of the {FEWEST_DETOURS} detours \
                     needed; measure longer"
                )
            }
            NoInterval::TooCorrelated { blocks } => write!(
                f,
                "too short for a confidence interval: the noise is so correlated in time that it has only \
                 {blocks} of the {FEWEST_BLOCKS} independent blocks needed; measure longer"
            ),
        }
    }
}

/// The overhead of one core.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CoreOverhead {
    pub core: u32,
    #[serde(flatten)]
    pub overhead: Overhead,
}

/// The overhead of all cores together. The same seed gives the same interval.
pub fn of_recording(recording: &NoiseRecording, seed: u64) -> Overhead {
    Resampled::new(&recording.cores.iter().collect::<Vec<_>>(), seed, 0).overhead
}

/// The overhead of each core.
pub fn of_cores(recording: &NoiseRecording, seed: u64) -> Vec<CoreOverhead> {
    let one = |(index, core): (usize, &Core)| CoreOverhead {
        core: core.core,
        overhead: Resampled::new(&[core], seed, index as u32 + 1).overhead,
    };
    recording.cores.iter().enumerate().map(one).collect()
}

/// An overhead with the resamples of its interval; no resamples if there is no interval.
pub(super) struct Resampled {
    pub overhead: Overhead,
    pub resamples: Vec<f64>,
}

impl Resampled {
    /// Slices of all cores at the same time are drawn together, which preserves the correlation between cores.
    pub fn new(cores: &[&Core], seed: u64, stream: u32) -> Resampled {
        let mut overhead = plain(cores);
        let slices = Slots::covering(cores.iter().map(|core| core.length.ps()).max().unwrap_or(0), SLICES);
        let mut noise = vec![0.0; slices.count];
        for core in cores {
            noise.iter_mut().zip(slices.noise(core)).for_each(|(sum, value)| *sum += value);
        }
        let block = block_length(&noise);
        let blocks = noise.len().div_ceil(block);
        let detours = overhead.detours as usize;
        overhead.no_interval = match () {
            () if detours < FEWEST_DETOURS => Some(NoInterval::TooFewDetours { detours }),
            () if blocks < FEWEST_BLOCKS => Some(NoInterval::TooCorrelated { blocks }),
            () => None,
        };
        let mut resamples = Vec::new();
        if overhead.no_interval.is_none() && overhead.length_ps > 0 {
            // No rank or replica draws from this stream.
            let mut stream = Stream::new(seed, u32::MAX - 1, stream, 0);
            let scale = noise.len() as f64 / overhead.length_ps as f64;
            resamples = block_bootstrap(&noise, block, &mut stream);
            resamples.iter_mut().for_each(|mean| *mean *= scale);
            overhead.interval = interval(&resamples, block as u64 * slices.width_ps, blocks);
        }
        Resampled { overhead, resamples }
    }
}

fn plain(cores: &[&Core]) -> Overhead {
    let noise_ps = cores.iter().fold(0u64, |sum, core| sum.saturating_add(core.noise().ps()));
    let length_ps = cores.iter().fold(0u64, |sum, core| sum.saturating_add(core.length.ps()));
    let detours: u64 = cores.iter().map(|core| core.detours.len() as u64).sum();
    let share = if length_ps == 0 { 0.0 } else { noise_ps as f64 / length_ps as f64 };
    let five_longest = five_longest(cores) / (noise_ps.max(1) as f64);
    Overhead { noise_ps, length_ps, detours, share, interval: None, no_interval: None, five_longest }
}

fn five_longest(cores: &[&Core]) -> f64 {
    let mut all: Vec<u64> =
        cores.iter().flat_map(|core| core.detours.iter().map(|detour| detour.duration.ps())).collect();
    let rest = all.len().saturating_sub(5);
    if rest > 0 {
        all.select_nth_unstable(rest);
    }
    all[rest..].iter().map(|&duration| duration as f64).sum()
}

fn interval(resamples: &[f64], block_ps: u64, blocks: usize) -> Option<Interval> {
    // For non-negative floats, the bits have the order of the values.
    let mut bits: Vec<u64> = resamples.iter().map(|share| share.max(0.0).to_bits()).collect();
    let mut at = |q| quantile_in_place(&mut bits, q).map(f64::from_bits);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    Some(Interval { low: at(tail)?, high: at(1.0 - tail)?, confidence: CONFIDENCE, block_ps, blocks })
}

/// Means of resamples composed of circular blocks.
fn block_bootstrap(values: &[f64], block: usize, stream: &mut Stream) -> Vec<f64> {
    let count = values.len();
    let mut before = vec![0.0];
    for value in values.iter().chain(values) {
        before.push(before.last().unwrap_or(&0.0) + value);
    }
    let stretch = |start: usize, length: usize| before[start + length] - before[start];
    let resample = |_| {
        let (mut sum, mut left) = (0.0, count);
        while left > 0 {
            let length = block.min(left);
            sum += stretch(stream.below(count as u64) as usize, length);
            left -= length;
        }
        sum / count as f64
    };
    (0..RESAMPLES).map(resample).collect()
}

/// The block length for correlated values.
fn block_length(values: &[f64]) -> usize {
    let count = values.len() as f64;
    let most = (3.0 * count.sqrt()).min(count / 3.0).ceil().max(1.0);
    let lags = correlated_lags(values) * 2;
    let covariances: Vec<f64> = (0..=lags).map(|lag| covariance(values, lag)).collect();
    // A trapezoid: flat for the first half, then falling to 0.
    let window = |lag: usize| (2.0 * (1.0 - lag as f64 / lags.max(1) as f64)).clamp(0.0, 1.0);
    let both_sides = |term: &dyn Fn(usize) -> f64| -> f64 {
        (1..=lags).map(|lag| 2.0 * window(lag) * covariances[lag] * term(lag)).sum()
    };
    let slope = both_sides(&|lag| lag as f64);
    let long_run = covariances[0] + both_sides(&|_| 1.0);
    let best = (2.0 * slope * slope / (4.0 / 3.0 * long_run * long_run) * count).cbrt();
    if best.is_finite() { best.ceil().clamp(1.0, most) as usize } else { 1 }
}

/// The lag after which several consecutive autocorrelations are insignificant.
fn correlated_lags(values: &[f64]) -> usize {
    let count = values.len() as f64;
    let run = (count.log10().sqrt().ceil() as usize).max(5);
    let most = count.sqrt().ceil() as usize + run;
    let variance = covariance(values, 0);
    if variance <= 0.0 {
        return 1;
    }
    let limit = 2.0 * (count.log10() / count).sqrt();
    let mut quiet = 0;
    for lag in 1..=most {
        let quiet_now = (covariance(values, lag) / variance).abs() < limit;
        quiet = if quiet_now { quiet + 1 } else { 0 };
        if quiet == run {
            return (lag - run).max(1);
        }
    }
    most
}

fn covariance(values: &[f64], lag: usize) -> f64 {
    let count = values.len();
    let mean = values.iter().sum::<f64>() / count.max(1) as f64;
    let shifted = values.get(lag..).unwrap_or_default();
    values.iter().zip(shifted).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / count.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(count: usize, memory: f64) -> Vec<f64> {
        let mut stream = Stream::new(5, 0, 0, 0);
        let mut last = 0.0;
        (0..count)
            .map(|_| {
                last = memory * last + stream.unit() - 0.5;
                last
            })
            .collect()
    }

    #[test]
    fn blocks_are_as_long_as_values_remember() {
        let (none, some, long) = (drawn(2000, 0.0), drawn(2000, 0.7), drawn(2000, 0.97));
        let lengths = [block_length(&none), block_length(&some), block_length(&long)];
        assert!(lengths[0] <= 4 && lengths[0] < lengths[1] && lengths[1] < lengths[2], "{lengths:?}");
        assert_eq!(block_length(&[3.0; 50]), 1);
        assert_eq!(block_length(&[1.0]), 1);
    }

    /// The variance of the mean of a first-order autoregression is known: 1/12 / (1 - memory)² / n.
    #[test]
    fn resamples_spread_as_the_mean_does() {
        let values = drawn(20_000, 0.7);
        let means = block_bootstrap(&values, block_length(&values), &mut Stream::new(1, 0, 0, 0));
        let centre = means.iter().sum::<f64>() / means.len() as f64;
        let spread = means.iter().map(|mean| (mean - centre).powi(2)).sum::<f64>() / means.len() as f64;
        let expected = 1.0 / 12.0 / (0.3 * 0.3) / 20_000.0;
        assert!((spread / expected - 1.0).abs() < 0.25, "{spread} {expected}");
    }
}
