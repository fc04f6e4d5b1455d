//! Computes a frequency from the exact times of detours.

use num_complex::Complex;
use std::f64::consts::TAU;
use straggler_noise::recording::Core;

/// A detour as a point in time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::noise) struct Pulse {
    pub seconds: f64,
    pub duration_ps: f64,
}

pub(super) fn pulses(core: &Core) -> Vec<Pulse> {
    let pulse = |detour: &straggler_noise::recording::Detour| Pulse {
        seconds: detour.start.seconds(),
        duration_ps: detour.duration.ps() as f64,
    };
    core.detours.iter().map(pulse).collect()
}

/// The detours in step with a frequency, on all cores.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::noise) struct Exact {
    pub frequency_hz: f64,
    pub events: f64,
    pub noise_ps: f64,
}

/// A recording is cut into this many pieces. Within one, a frequency that is off by less than 1.5 / length rotates by
/// less than a fourteenth of a circle, so that a piece can be rotated as a whole.
const PIECES: usize = 64;
/// How far around the given frequency to search, in units of 1 / length, and the step.
const REACH: f64 = 1.5;
const STEPS: i32 = 60;

/// The frequency near `frequency_hz` that most pulses follow, by noise time or by number, with a separate phase for
/// each core. Reads the detours once.
pub(in crate::noise) fn refine(
    cores: &[Vec<Pulse>],
    frequency_hz: f64,
    seconds: f64,
    by_time: bool,
) -> Exact {
    let pieces: Vec<Vec<[Complex<f64>; 2]>> =
        cores.iter().map(|pulses| demodulate(pulses, frequency_hz, seconds)).collect();
    let which = usize::from(by_time);
    let power = |offset: f64| -> f64 {
        let of_core = |pieces: &Vec<[Complex<f64>; 2]>| turned(pieces, which, offset).norm_sqr();
        pieces.iter().map(of_core).sum()
    };
    let step = REACH / f64::from(STEPS);
    let best = (-STEPS..=STEPS).map(|index| f64::from(index) * step).map(|offset| (power(offset), offset));
    let (_, coarse) = best.fold((-1.0, 0.0), |best, other| if other.0 > best.0 { other } else { best });
    let offset = coarse + vertex(power(coarse - step), power(coarse), power(coarse + step)) * step;
    let amplitude = |which: usize| -> f64 {
        pieces.iter().map(|pieces| 2.0 * turned(pieces, which, offset).norm()).sum()
    };
    let frequency_hz = frequency_hz + offset / seconds;
    Exact { frequency_hz, events: amplitude(0), noise_ps: amplitude(1) }
}

/// The mean phase of a core's pulses, or of their time, as a fraction of the period.
pub(super) fn circular_phase(pulses: &[Pulse], frequency_hz: f64, by_time: bool) -> f64 {
    let turn = |pulse: &Pulse| {
        let weight = if by_time { pulse.duration_ps } else { 1.0 };
        Complex::from_polar(weight, TAU * (pulse.seconds * frequency_hz).fract())
    };
    let sum: Complex<f64> = pulses.iter().map(turn).sum();
    (sum.arg() / TAU).rem_euclid(1.0)
}

/// Sums of e^(-2πift), with Hann's window, over the pulses of each piece: by number and by duration.
fn demodulate(pulses: &[Pulse], frequency_hz: f64, seconds: f64) -> Vec<[Complex<f64>; 2]> {
    let mut pieces = vec![[Complex::new(0.0, 0.0); 2]; PIECES];
    for pulse in pulses {
        let at = pulse.seconds / seconds;
        let piece = ((at * PIECES as f64) as usize).min(PIECES - 1);
        let window = 0.5 - 0.5 * (TAU * at).cos();
        let turn = Complex::from_polar(window, -TAU * (pulse.seconds * frequency_hz).fract());
        pieces[piece][0] += turn;
        pieces[piece][1] += turn * pulse.duration_ps;
    }
    pieces
}

/// The sum of all pieces at a frequency that differs by `offset` / length.
fn turned(pieces: &[[Complex<f64>; 2]], which: usize, offset: f64) -> Complex<f64> {
    let middle = |index: usize| (index as f64 + 0.5) / PIECES as f64;
    let turn = |index: usize| Complex::from_polar(1.0, -TAU * offset * middle(index));
    pieces.iter().enumerate().map(|(index, piece)| piece[which] * turn(index)).sum()
}

/// The vertex of the parabola through three points, relative to the middle one, in steps.
fn vertex(left: f64, middle: f64, right: f64) -> f64 {
    let curvature = left - 2.0 * middle + right;
    if curvature < 0.0 { (0.5 * (left - right) / curvature).clamp(-1.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_put_in() {
        let train = |phase: f64| -> Vec<Pulse> {
            (0..2503).map(|n| Pulse { seconds: f64::from(n) / 250.3 + phase, duration_ps: 5e6 }).collect()
        };
        let exact = refine(&[train(0.0), train(0.001)], 250.27, 10.001, false);
        assert!((exact.frequency_hz - 250.3).abs() < 1e-4, "{}", exact.frequency_hz);
        assert!((exact.events / 5006.0 - 1.0).abs() < 0.01, "{}", exact.events);
        assert!((exact.noise_ps / 2.503e10 - 1.0).abs() < 0.01);
    }
}
