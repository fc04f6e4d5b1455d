//! Whether noise strikes cores at the same time, and what would be gained if it did.
//!
//! A program that waits for its slowest process at every step loses the time in which any core is disturbed. If noise
//! struck all cores at once (co-scheduling), it would lose only as much as the noisiest core. If the noise of cores is
//! independent, the undisturbed shares multiply; the measured overlap is compared with that product.
//!
//! Two ticks of the same rate are not independent, whatever their phases. Chance is therefore judged by shifting the
//! series of one core cyclically in time: this keeps its rhythm and breaks only what it shares with others.

use super::slots::Slots;
use serde::Serialize;
use straggler_model::philox::Stream;
use straggler_model::stats::quantile_in_place;
use straggler_noise::NoiseRecording;
use straggler_noise::recording::Core;

/// Widths of the slots in which noise is compared.
const WIDTHS_PS: [u64; 3] = [100_000_000, 1_000_000_000, 10_000_000_000];
/// Most slots of a series, from the start of the recording; fewer for many cores.
const MOST_SLOTS: usize = 1 << 18;
const MOST_SLOTS_OF_ALL: usize = 1 << 21;
const FEWEST_SLOTS: usize = 50;
/// Number of random shifts.
const SHIFTS: usize = 200;
/// A correlation above this quantile of the shifts is significant.
const LIMIT: f64 = 0.99;
/// Pairs that are listed, strongest first.
const MOST_PAIRS: usize = 64;

/// The noise of several cores side by side.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Together {
    /// The share of time in which some core is disturbed: the loss of a program that waits for the slowest.
    pub any_core: f64,
    /// The same if the cores were independent.
    pub any_core_if_independent: f64,
    /// The same if all noise coincided: the overhead of the noisiest core.
    pub any_core_if_together: f64,
    /// The share of a core's noise time in which another core is disturbed too.
    pub coincides: f64,
    pub coincides_if_independent: f64,
    pub widths: Vec<Width>,
    pub verdict: Verdict,
}

/// Correlations at one width of slots.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Width {
    pub slot_ps: u64,
    pub slots: usize,
    /// Cores with noise.
    pub cores: usize,
    pub mean: f64,
    /// Larger correlations, in absolute value, are significant.
    pub by_chance: f64,
    /// Strongest first.
    pub pairs: Vec<Pair>,
}

/// Two cores.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Pair {
    pub cores: [u32; 2],
    pub correlation: f64,
}

/// The conclusion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No correlation was found.
    Independent,
    /// More noise coincides than by chance.
    Common,
    /// Cores are rarely disturbed at the same time: their ticks are staggered.
    Staggered,
}

impl Together {
    /// None for fewer than two cores with noise.
    pub fn new(recording: &NoiseRecording, seed: u64) -> Option<Together> {
        let cores: Vec<&Core> = recording.cores.iter().filter(|core| !core.detours.is_empty()).collect();
        let length_ps = cores.iter().map(|core| core.length.ps()).min()?;
        if cores.len() < 2 || length_ps == 0 {
            return None;
        }
        let overlap = Overlap::new(&cores, length_ps);
        let widths: Vec<Width> = (0..)
            .zip(WIDTHS_PS)
            .filter_map(|(index, width)| Width::new(&cores, length_ps, width, seed, index))
            .collect();
        let verdict = verdict(&widths);
        Some(Together {
            any_core: overlap.any,
            any_core_if_independent: 1.0 - overlap.shares.iter().map(|share| 1.0 - share).product::<f64>(),
            any_core_if_together: overlap.shares.iter().copied().fold(0.0, f64::max),
            coincides: overlap.coincides,
            coincides_if_independent: coincides_if_independent(&overlap.shares),
            widths,
            verdict,
        })
    }

    /// What perfect co-scheduling would gain, as a share of time.
    pub fn gain(&self) -> f64 {
        (self.any_core - self.any_core_if_together).max(0.0)
    }
}

/// Common if any width shows it: noise within the same 10 ms is common, though not simultaneous.
fn verdict(widths: &[Width]) -> Verdict {
    let beyond = |sign: f64| move |width: &Width| sign * width.mean > width.by_chance_of_mean();
    match () {
        () if widths.iter().any(beyond(1.0)) => Verdict::Common,
        () if widths.iter().any(beyond(-1.0)) => Verdict::Staggered,
        () => Verdict::Independent,
    }
}

impl Width {
    fn new(cores: &[&Core], length_ps: u64, width_ps: u64, seed: u64, index: u32) -> Option<Width> {
        let mut slots = Slots::of_width(length_ps, width_ps);
        slots.count = slots.count.min(MOST_SLOTS).min(MOST_SLOTS_OF_ALL / cores.len());
        if slots.count < FEWEST_SLOTS {
            return None;
        }
        let series: Vec<Vec<f64>> = cores.iter().map(|core| standardised(slots.noise(core))).collect();
        let mut pairs = Vec::new();
        for (first, one) in series.iter().enumerate() {
            for (second, other) in series.iter().enumerate().skip(first + 1) {
                let cores = [cores[first].core, cores[second].core];
                pairs.push(Pair { cores, correlation: product(one, other) });
            }
        }
        let mean = pairs.iter().map(|pair| pair.correlation).sum::<f64>() / pairs.len() as f64;
        pairs.sort_by(|a, b| b.correlation.abs().total_cmp(&a.correlation.abs()));
        pairs.truncate(MOST_PAIRS);
        let by_chance = by_chance(&series, Stream::new(seed, u32::MAX - 2, index, 0));
        Some(Width { slot_ps: width_ps, slots: slots.count, cores: cores.len(), mean, by_chance, pairs })
    }

    /// The mean over many pairs varies less than a single pair, but pairs share cores: of n cores, only n / 2 pairs
    /// share none.
    fn by_chance_of_mean(&self) -> f64 {
        self.by_chance / (self.cores as f64 / 2.0).sqrt().max(1.0)
    }
}

/// Subtracts the mean and scales to unit length; all zero if nothing varies.
fn standardised(mut values: Vec<f64>) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let norm = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>().sqrt();
    let scale = if norm > 0.0 { 1.0 / norm } else { 0.0 };
    values.iter_mut().for_each(|value| *value = (*value - mean) * scale);
    values
}

fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// The absolute correlation that shifted series rarely exceed.
fn by_chance(series: &[Vec<f64>], mut stream: Stream) -> f64 {
    let count = series.len() as u64;
    let shifted = |_| {
        let first = stream.below(count);
        let second = (first + 1 + stream.below(count - 1)) % count;
        let (one, other) = (&series[first as usize], &series[second as usize]);
        // Shift far enough that a common burst does not overlap itself.
        let length = one.len() as u64;
        let shift = (length / 20 + stream.below(length - length / 10)) as usize;
        let (front, back) = other.split_at(shift);
        let correlation = product(one, back) + product(&one[back.len()..], front);
        correlation.abs().to_bits()
    };
    let mut sizes: Vec<u64> = (0..SHIFTS).map(shifted).collect();
    let least = 2.6 / (series[0].len() as f64).sqrt();
    quantile_in_place(&mut sizes, LIMIT).map_or(1.0, f64::from_bits).max(least)
}

/// How the noise of several cores overlaps in the time in which all were measured.
struct Overlap {
    shares: Vec<f64>,
    any: f64,
    coincides: f64,
}

impl Overlap {
    /// Walks through the starts and ends of all detours.
    fn new(cores: &[&Core], length_ps: u64) -> Overlap {
        let mut borders: Vec<(u64, i32)> = Vec::new();
        let mut shares = Vec::new();
        for core in cores {
            let mut noise = 0;
            for detour in &core.detours {
                let (start, end) = (detour.start.ps().min(length_ps), detour.end().ps().min(length_ps));
                borders.extend([(start, 1), (end, -1)]);
                noise += end - start;
            }
            shares.push(noise as f64 / length_ps as f64);
        }
        borders.sort_unstable();
        let (mut active, mut last, mut any, mut shared, mut all) = (0i32, 0u64, 0.0, 0.0, 0.0);
        for (at, change) in borders {
            let (time, disturbed) = ((at - last) as f64, f64::from(active));
            all += time * disturbed;
            any += if active > 0 { time } else { 0.0 };
            shared += if active > 1 { time * disturbed } else { 0.0 };
            (active, last) = (active + change, at);
        }
        Overlap { shares, any: any / length_ps as f64, coincides: if all > 0.0 { shared / all } else { 0.0 } }
    }
}

fn coincides_if_independent(shares: &[f64]) -> f64 {
    let total: f64 = shares.iter().sum();
    let others_quiet = |core: usize| -> f64 {
        let others = shares.iter().enumerate().filter(|&(other, _)| other != core);
        others.map(|(_, share)| 1.0 - share).product()
    };
    let shared: f64 = shares.iter().enumerate().map(|(core, share)| share * (1.0 - others_quiet(core))).sum();
    if total > 0.0 { shared / total } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::Time;
    use straggler_noise::recording::Detour;

    #[test]
    fn overlap_by_hand() {
        let core = |core, detours: &[(u64, u64)]| {
            let detours = detours.iter().map(|&(start, duration)| Detour {
                start: Time(start),
                duration: Time(duration),
                source: 0,
            });
            Core { core, length: Time(100), detours: detours.collect(), ..Core::default() }
        };
        let cores = [core(0, &[(0, 10), (50, 10)]), core(1, &[(5, 10), (95, 10)])];
        let overlap = Overlap::new(&[&cores[0], &cores[1]], 100);
        assert_eq!(overlap.shares, [0.2, 0.15]);
        assert_eq!((overlap.any, overlap.coincides), (0.3, 10.0 / 35.0));
        let expected = (0.2 * 0.15 + 0.15 * 0.2) / 0.35;
        assert!((coincides_if_independent(&overlap.shares) - expected).abs() < 1e-12);
    }
}
