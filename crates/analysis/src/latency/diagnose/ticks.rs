//! A tail in steps of the timer tick: a preempted process gets the core back at a tick.

use crate::latency::distribution::Cell;
use crate::latency::{Distribution, Mode};
use serde::Serialize;

/// Tail trials that lie a whole number of ticks above the median.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Ticks {
    pub tick_ps: f64,
    /// Whether the file says that the kernel has this tick.
    pub known: bool,
    /// Trials at least half a tick above the median.
    pub trials: u64,
    /// Of these, the share within an eighth of a tick of a whole number of ticks; by chance it would be a quarter.
    pub share: f64,
    /// Distinct numbers of ticks that have trials.
    pub teeth: usize,
}

/// Kernel ticks in ms, the longest first: multiples of 10 ms are also multiples of 1 ms.
const TICKS_MS: [f64; 5] = [10.0, 4.0, 1000.0 / 300.0, 2.5, 1.0];
const LEAST_TRIALS: u64 = 10;
const NEAR: f64 = 0.125;
/// The share needed, and by how many standard deviations it must exceed the quarter expected by chance.
const SHARE: f64 = 0.7;
const SURE: f64 = 5.0;
/// This many consecutive ticks must have trials.
const COMB: usize = 3;
/// If the kernel is known to have this tick, a single tooth suffices within so many ticks.
const FEW: u64 = 3;
/// A mode one tick above the median needs this share of the trials in the tail; others wait for a part of a tick.
const SHARE_OF_MODE: f64 = 0.3;

impl Ticks {
    /// `tick_hz` is that of the kernel. None if the median lies outside the bins.
    pub fn new(distribution: &Distribution, modes: &[Mode], tick_hz: Option<u32>) -> Option<Ticks> {
        let median = distribution.known_quantile(0.5)?;
        let own = tick_hz.filter(|&hz| hz > 0).map(|hz| 1e12 / f64::from(hz));
        let is_mode = |tick_ps: &f64| {
            modes.iter().any(|mode| ((mode.centre_ps - median) / tick_ps - 1.0).abs() <= NEAR)
        };
        let known =
            own.and_then(|tick_ps| Ticks::with(distribution, median, tick_ps, Some(is_mode(&tick_ps))));
        known
            .or_else(|| TICKS_MS.into_iter().find_map(|ms| Ticks::with(distribution, median, ms * 1e9, None)))
    }

    /// `is_mode`: for the kernel's own tick, whether there is a mode one tick above the median.
    fn with(distribution: &Distribution, median: f64, tick_ps: f64, is_mode: Option<bool>) -> Option<Ticks> {
        let above =
            |cell: &Cell| (cell.middle().clamp(distribution.min_ps, distribution.max_ps) - median) / tick_ps;
        let mut tail = distribution.known_cells().filter(|cell| above(cell) >= 0.5).peekable();
        tail.peek()?;
        let (mut trials, mut near) = (0, 0);
        let mut teeth: Vec<(u64, u64)> = Vec::new();
        for cell in tail {
            // A wider bin does not show where within a tick a trial was.
            if cell.high - cell.low > tick_ps / 4.0 {
                continue;
            }
            trials += cell.count;
            let ticks = above(&cell).round();
            if (above(&cell) - ticks).abs() <= NEAR {
                near += cell.count;
                match teeth.last_mut().filter(|(tooth, _)| *tooth == ticks as u64) {
                    Some((_, count)) => *count += cell.count,
                    None => teeth.push((ticks as u64, cell.count)),
                }
            }
        }
        let share = near as f64 / trials.max(1) as f64;
        let sure = (share - 2.0 * NEAR) / (2.0 * NEAR * (1.0 - 2.0 * NEAR) / trials.max(1) as f64).sqrt();
        teeth.retain(|(_, count)| *count >= (trials / 50).max(2));
        // One or two isolated times, such as a retransmission after 200 ms, are also multiples of some tick.
        let is_comb = teeth.windows(COMB).any(|some| some[COMB - 1].0 - some[0].0 == COMB as u64 - 1);
        let is_near = is_mode.is_some() && teeth.first().is_some_and(|&(tooth, _)| tooth <= FEW);
        let needed = if is_mode == Some(true) { SHARE_OF_MODE } else { SHARE };
        let found = trials >= LEAST_TRIALS && share >= needed && sure >= SURE && (is_comb || is_near);
        let known = is_mode.is_some();
        found.then_some(Ticks { tick_ps, known, trials, share, teeth: teeth.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::draws::Draws;
    use crate::latency::samples::{distribution, lognormal};

    fn with_tail(seed: u64, tail: impl Fn(&mut Draws) -> f64) -> Distribution {
        let mut draws = Draws::new(seed, 9);
        let mut values = lognormal(seed, 20_000, 0.0, 5e6, 0.1);
        values.extend((0..100).map(|_| (5e6 + tail(&mut draws)) as u64));
        distribution(&values)
    }

    fn ticks(distribution: &Distribution) -> Option<Ticks> {
        Ticks::new(distribution, &[], None)
    }

    /// A real tail under load: most of it is a single tick long, some of it shorter.
    #[test]
    fn one_tick_of_the_kernel_is_found() {
        let tail = |draws: &mut Draws| match draws.unit() {
            few if few < 0.55 => 4e9 * (1.0 + 0.005 * draws.normal()),
            _ => 4e9 * draws.unit(),
        };
        let found = with_tail(1, tail);
        let modes = crate::latency::modes::find(&found);
        assert_eq!(Ticks::new(&found, &modes, None), None);
        let ticks = Ticks::new(&found, &modes, Some(250)).unwrap();
        assert!(ticks.known && ticks.teeth == 1, "{ticks:?}");
        assert_eq!(Ticks::new(&found, &modes, Some(1000)), None);
        let other = with_tail(1, |draws| 200e9 * (1.0 + 0.001 * draws.normal()));
        assert_eq!(Ticks::new(&other, &crate::latency::modes::find(&other), Some(250)), None);
    }

    #[test]
    fn steps_of_a_tick_are_found() {
        for ms in [1.0, 2.5, 4.0, 10.0] {
            let found = ticks(&with_tail(1, |draws| {
                1e9 * ms * (1.0 + (draws.unit() * 3.0).floor()) * (1.0 + 0.005 * draws.normal())
            }));
            let found = found.unwrap_or_else(|| panic!("{ms}"));
            assert_eq!(found.tick_ps, ms * 1e9);
            assert!(found.teeth == 3 && found.share > 0.9, "{found:?}");
        }
    }

    #[test]
    fn other_tails_have_no_steps() {
        for seed in 0..30 {
            assert_eq!(ticks(&with_tail(seed, |draws| 3e10 * draws.unit())), None);
            assert_eq!(ticks(&with_tail(seed, |draws| 2e9 * draws.normal().exp())), None);
        }
        let after = |all: &[f64]| with_tail(1, |draws| 1e9 * all[(draws.unit() * all.len() as f64) as usize]);
        for some in [&[200.0][..], &[3.0, 6.0], &[4.0, 8.0], &[10.0, 40.0, 90.0]] {
            assert_eq!(ticks(&after(some)), None, "{some:?}");
        }
        assert_eq!(ticks(&distribution(&lognormal(1, 1000, 0.0, 5e6, 0.1))), None);
    }
}
