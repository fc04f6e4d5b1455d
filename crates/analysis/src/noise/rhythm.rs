//! Whether the detours of one source are periodic, and how precisely.
//!
//! The resultant of a period is the mean of e^(2πit/period) over the detours: 1 if all are in step, near 0 if they are
//! random. If a share α is in step with a normal jitter of σ, the resultants of the period and of its half are α·e^-s
//! and α·e^-4s with s = 2π²σ²/period², which gives both α and σ.

use super::chance::exceeded;
use super::spectrum::{Pulse, refine};
use serde::Serialize;
use std::f64::consts::{PI, TAU};
use straggler_model::stats::{median_in_place, quantile_in_place};

/// Fewer detours do not show a rhythm.
const FEWEST: usize = 8;
/// The probability that random times look regular at a given period.
const FALSE_ALARM: f64 = 1e-6;
/// Gaps that vary by less than this share of their mean are regular even without a common step.
const REGULAR_GAPS: f64 = 0.3;

/// The rhythm of a source.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Rhythm {
    pub period_ps: f64,
    /// The standard deviation from the expected times.
    pub jitter_ps: f64,
    /// The share of detours in step.
    pub in_step: f64,
    /// The share of periods with a detour in step.
    pub occupancy: f64,
    /// Whether one phase is kept through the whole recording; else each gap counts from the last detour.
    pub steady: bool,
}

/// The slowest of the best rhythms. `frequencies_hz` are tried in addition to what the gaps suggest.
pub(super) fn find(cores: &[Vec<Pulse>], seconds: f64, frequencies_hz: &[f64]) -> Option<Rhythm> {
    let events: usize = cores.iter().map(Vec::len).sum();
    let busiest = cores.iter().max_by_key(|pulses| pulses.len())?;
    if busiest.len() < FEWEST || seconds <= 0.0 {
        return None;
    }
    let own = period_of_gaps(busiest).map(|period| 1.0 / period);
    let candidates = own.into_iter().chain(frequencies_hz.iter().copied());
    let mut tried: Vec<(f64, f64)> = candidates
        .filter(|frequency| *frequency * seconds >= 3.0 && frequency.is_finite())
        .map(|frequency| refine(cores, frequency, seconds, false).frequency_hz)
        .filter(|&frequency| is_beyond_chance(cores, frequency))
        .map(|frequency| (frequency, resultant(cores, frequency)))
        .collect();
    tried.sort_by(|a, b| a.0.total_cmp(&b.0));
    let strongest = tried.iter().map(|&(_, resultant)| resultant).fold(0.0, f64::max);
    let slowest = tried.iter().find(|&&(_, resultant)| resultant >= 0.8 * strongest);
    let steady = slowest.map(|&(frequency, resultant)| {
        let periods = frequency * seconds * cores.iter().filter(|pulses| !pulses.is_empty()).count() as f64;
        steady(cores, events, frequency, resultant, periods)
    });
    steady.filter(|rhythm| rhythm.in_step > 0.3).or_else(|| drifting(busiest)).or(steady)
}

fn steady(cores: &[Vec<Pulse>], events: usize, frequency: f64, first: f64, periods: f64) -> Rhythm {
    let second = resultant(cores, 2.0 * frequency);
    let by_chance = 2.0 / (events as f64).sqrt();
    // If the second harmonic is insignificant, only the first is used: all detours are in step, with much jitter.
    let spread = if second > by_chance { (first / second).ln().max(0.0) / 3.0 } else { -first.ln() };
    let in_step = (first * spread.exp()).min(1.0);
    let period_ps = 1e12 / frequency;
    let (period_ps, jitter) = settle(cores, period_ps, spread.max(0.0).sqrt() / (PI * 2f64.sqrt()));
    Rhythm {
        period_ps,
        jitter_ps: period_ps * jitter,
        in_step,
        occupancy: (in_step * events as f64 / periods).min(1.0),
        steady: true,
    }
}

/// Refines period and jitter, ignoring the few detours that were delayed by others. The period is fitted to the
/// detours near their expected times; the jitter comes from their median distance, which is 0.6745 standard deviations
/// of a normal distribution. The jitter decides which detours are near, so this is repeated a few times.
fn settle(cores: &[Vec<Pulse>], mut period_ps: f64, mut jitter: f64) -> (f64, f64) {
    for _ in 0..3 {
        let reach = 4.0 * jitter + 1e-3;
        let near: Vec<Vec<(f64, f64)>> = cores.iter().map(|pulses| near(pulses, period_ps, reach)).collect();
        let mut distances: Vec<u64> =
            near.iter().flatten().map(|&(_, offset)| offset.abs().to_bits()).collect();
        period_ps *= 1.0 + slope(&near);
        jitter = median_in_place(&mut distances).map_or(jitter, |bits| f64::from_bits(bits) / 0.6745);
    }
    (period_ps, jitter)
}

/// Detours near their expected times: the number of the period, and the offset in periods.
fn near(pulses: &[Pulse], period_ps: f64, reach: f64) -> Vec<(f64, f64)> {
    let phase = step_phase(pulses, period_ps, reach);
    let placed = pulses.iter().map(|pulse| {
        let position = pulse.seconds * 1e12 / period_ps - phase;
        (position.round(), position - position.round())
    });
    placed.filter(|&(_, offset)| offset.abs() <= reach).collect()
}

/// The growth of offsets per period, by least squares, each core relative to its own mean.
fn slope(cores: &[Vec<(f64, f64)>]) -> f64 {
    let (mut product, mut square) = (0.0, 0.0);
    for near in cores {
        let count = near.len().max(1) as f64;
        let middle = near.iter().map(|&(step, _)| step).sum::<f64>() / count;
        product += near.iter().map(|&(step, offset)| (step - middle) * offset).sum::<f64>();
        square += near.iter().map(|&(step, _)| (step - middle).powi(2)).sum::<f64>();
    }
    if square > 0.0 { product / square } else { 0.0 }
}

/// The offset of a detour from its expected time, in periods, from -0.5 to 0.5.
fn offset(pulse: &Pulse, period_ps: f64, phase: f64) -> f64 {
    let position = pulse.seconds * 1e12 / period_ps - phase;
    position - position.round()
}

/// The phase of a core as a fraction of the period: the median of the detours near the mean.
pub(super) fn step_phase(pulses: &[Pulse], period_ps: f64, reach: f64) -> f64 {
    let (x, y) = sum(pulses, 1e12 / period_ps);
    let mean = (y.atan2(x) / TAU).rem_euclid(1.0);
    let offsets = pulses.iter().map(|pulse| offset(pulse, period_ps, mean));
    // Offsets plus one are positive, and the bits of positive floats have the order of the values.
    let mut near: Vec<u64> =
        offsets.filter(|offset| offset.abs() <= reach).map(|offset| (offset + 1.0).to_bits()).collect();
    median_in_place(&mut near).map_or(mean, |bits| mean + f64::from_bits(bits) - 1.0)
}

/// Gaps of similar length without a common phase.
fn drifting(pulses: &[Pulse]) -> Option<Rhythm> {
    let gaps: Vec<f64> = pulses.windows(2).map(|pair| pair[1].seconds - pair[0].seconds).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    let sd = variance.sqrt();
    (gaps.len() >= 2 * FEWEST && mean > 0.0 && sd < REGULAR_GAPS * mean).then(|| Rhythm {
        period_ps: mean * 1e12,
        jitter_ps: sd * 1e12 / 2f64.sqrt(),
        in_step: 1.0,
        occupancy: 1.0,
        steady: false,
    })
}

/// The resultant, with a separate phase for each core.
fn resultant(cores: &[Vec<Pulse>], frequency: f64) -> f64 {
    let events: usize = cores.iter().map(Vec::len).sum();
    cores.iter().map(|pulses| length(sum(pulses, frequency))).sum::<f64>() / events.max(1) as f64
}

fn is_beyond_chance(cores: &[Vec<Pulse>], frequency: f64) -> bool {
    let busy = cores.iter().filter(|pulses| !pulses.is_empty());
    let power: f64 =
        busy.clone().map(|pulses| length(sum(pulses, frequency)).powi(2) / pulses.len() as f64).sum();
    power > exceeded(busy.count(), FALSE_ALARM)
}

fn sum(pulses: &[Pulse], frequency: f64) -> (f64, f64) {
    pulses.iter().fold((0.0, 0.0), |(x, y), pulse| {
        let (sine, cosine) = (TAU * (pulse.seconds * frequency).fract()).sin_cos();
        (x + cosine, y + sine)
    })
}

fn length((x, y): (f64, f64)) -> f64 {
    x.hypot(y)
}

/// The period in seconds that the gaps suggest: the middle of the narrowest range that holds a quarter of them,
/// refined over spans of 1, 2, 4, … detours. Each span is precise enough to count the periods of the next.
fn period_of_gaps(pulses: &[Pulse]) -> Option<f64> {
    let mut period = commonest_gap(pulses)?;
    let mut span = 1;
    while span < pulses.len() {
        let apart = |(early, late): (&Pulse, &Pulse)| {
            let time = late.seconds - early.seconds;
            let periods = (time / period).round();
            (periods >= 1.0).then(|| (time / periods).to_bits())
        };
        let mut exact: Vec<u64> = pulses.iter().zip(&pulses[span..]).filter_map(apart).collect();
        // The bits of positive floats have the order of the values.
        if let Some(bits) = median_in_place(&mut exact) {
            period = f64::from_bits(bits);
        }
        span *= 2;
    }
    (period > 0.0).then_some(period)
}

fn commonest_gap(pulses: &[Pulse]) -> Option<f64> {
    let mut gaps: Vec<u64> = pulses
        .windows(2)
        .map(|pair| pair[1].seconds - pair[0].seconds)
        .filter(|&gap| gap > 0.0)
        .map(f64::to_bits)
        .collect();
    gaps.sort_unstable();
    let quarter = gaps.len() / 4 + 1;
    let ratio =
        |start: usize| Some(f64::from_bits(*gaps.get(start + quarter)?) / f64::from_bits(gaps[start]));
    let narrowest = (0..gaps.len()).filter_map(|start| Some((ratio(start)?, start)));
    let (_, start) = narrowest.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let mut range = gaps.get(start..=start + quarter)?.to_vec();
    quantile_in_place(&mut range, 0.5).map(f64::from_bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::philox::Stream;

    fn normal(stream: &mut Stream) -> f64 {
        (-2.0 * stream.unit().ln()).sqrt() * (TAU * stream.unit()).cos()
    }

    fn pulses(mut seconds: Vec<f64>) -> Vec<Pulse> {
        seconds.sort_by(f64::total_cmp);
        seconds.into_iter().map(|seconds| Pulse { seconds, duration_ps: 1e6 }).collect()
    }

    /// 250 Hz with a jitter of 100 µs, a tenth of the detours missing, and 40 random detours a second.
    #[test]
    fn a_share_in_step_and_its_jitter() {
        let mut stream = Stream::new(1, 0, 0, 0);
        let mut seconds: Vec<f64> = Vec::new();
        for tick in 1..2500 {
            if stream.unit() < 0.9 {
                seconds.push(f64::from(tick) * 0.004 + 1e-4 * normal(&mut stream));
            }
        }
        seconds.extend((0..400).map(|_| 10.0 * stream.unit()));
        let rhythm = find(&[pulses(seconds)], 10.0, &[]).unwrap();
        assert!((rhythm.period_ps / 4e9 - 1.0).abs() < 1e-4, "{rhythm:?}");
        assert!((rhythm.jitter_ps / 1e8 - 1.0).abs() < 0.15, "{rhythm:?}");
        assert!((rhythm.in_step - 2250.0 / 2650.0).abs() < 0.03, "{rhythm:?}");
        assert!((rhythm.occupancy - 0.9).abs() < 0.03, "{rhythm:?}");
    }

    #[test]
    fn random_times_have_none() {
        for seed in 0..20 {
            let mut stream = Stream::new(seed, 0, 0, 0);
            let seconds = (0..500).map(|_| 10.0 * stream.unit()).collect();
            assert_eq!(find(&[pulses(seconds)], 10.0, &[250.0, 100.0]), None, "{seed}");
        }
        assert_eq!(find(&[], 10.0, &[]), None);
        assert_eq!(find(&[pulses(vec![1.0; 20])], 10.0, &[]).map(|rhythm| rhythm.steady), None);
    }

    /// A sleep of 10 ms from each wake-up: regular gaps without a common phase.
    #[test]
    fn gaps_may_be_regular_without_a_step() {
        let mut stream = Stream::new(2, 0, 0, 0);
        let mut at = 0.0;
        let seconds: Vec<f64> = (0..5000)
            .map(|_| {
                at += 0.01 + 0.001 * normal(&mut stream);
                at
            })
            .collect();
        let rhythm = find(&[pulses(seconds)], at + 0.01, &[]).unwrap();
        assert!(!rhythm.steady && (rhythm.period_ps / 1e10 - 1.0).abs() < 0.01, "{rhythm:?}");
    }
}
