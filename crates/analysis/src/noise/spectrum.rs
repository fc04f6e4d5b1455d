//! Periodicity: at which frequencies noise comes back, and how much of it.
//!
//! Detours are points in time. Two series are made of them, the number of detours and the noise time in each
//! slot, and the spectrum of both is searched: in the noise time, one long detour outweighs a hundred short
//! ones, and a tick of microseconds among detours of milliseconds shows only in the numbers. Powers of cores
//! are added up, since each core has its own phase.
//!
//! A peak counts when it stands so far above its neighbourhood that chance would lift one frequency of all
//! there as high in one recording of ten thousand. Rhythms that drift have broad peaks, so the search is
//! repeated with sums over 8 and 64 neighbouring frequencies. Multiples of a frequency belong to it: a train of
//! short pulses has as strong a second harmonic as a fundamental. What is above the highest frequency of the
//! slots folds back below it; so each line is evaluated once more from the exact times of the detours, where
//! nothing folds back.

mod exact;
mod peaks;
mod power;

pub(super) use exact::{Pulse, refine};

use peaks::Peak;
use power::Powers;
use serde::Serialize;
use straggler_model::noise::Recording;
use straggler_model::noise::recording::Core;

/// Lines that are evaluated, lowest frequency first; after so many there is no rhythm but a forest.
const MOST_LINES: usize = 48;
/// … but these, the strongest, are always evaluated.
const ALWAYS_LOOKED_AT: usize = 16;
/// Points of the curve that a plot gets.
const CURVE_POINTS: usize = 800;

/// The frequencies of noise.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Spectrum {
    /// One by the measured time: closer frequencies cannot be told apart.
    pub resolution_hz: f64,
    /// The highest frequency that was searched.
    pub nyquist_hz: f64,
    pub slot_ps: u64,
    /// Strongest first, by the noise time they carry.
    pub lines: Vec<Line>,
    pub curve: Vec<Point>,
}

/// A frequency at which noise comes back.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Line {
    pub frequency_hz: f64,
    pub period_ps: u64,
    /// Noise time that keeps step with it, on all cores.
    pub noise_ps: f64,
    /// The same as a share of all noise.
    pub share: f64,
    /// Detours that keep step with it. None are counted when only their length changes at this frequency.
    pub events: u64,
    pub noise_per_event_ps: Option<f64>,
    /// Multiples of the frequency that were found, too.
    pub harmonics: u32,
    /// Whether it keeps one frequency through the whole recording; else it drifts about this frequency.
    pub steady: bool,
    /// How many times the power of its neighbourhood it has.
    pub over_floor: f64,
}

/// The spectrum at one frequency, the largest in its neighbourhood: the share of a core's time that noise in
/// step with this frequency takes, and what chance gives there on average.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Point {
    pub frequency_hz: f64,
    pub share: f64,
    pub floor: f64,
}

impl Spectrum {
    pub fn of(recording: &Recording) -> Spectrum {
        let cores: Vec<&Core> = recording.cores.iter().filter(|core| !core.detours.is_empty()).collect();
        let Some(powers) = Powers::of(&cores) else { return Spectrum::default() };
        let pulses: Vec<Vec<Pulse>> = cores.iter().map(|core| exact::pulses(core)).collect();
        let found = peaks::find(&powers);
        let mut lines = fold(&found, &powers, &pulses);
        let noise_ps: f64 = pulses.iter().flatten().map(|pulse| pulse.duration_ps).sum();
        lines.iter_mut().for_each(|line| line.share = line.noise_ps / noise_ps.max(1.0));
        lines.sort_by(|a, b| b.noise_ps.total_cmp(&a.noise_ps));
        Spectrum {
            resolution_hz: powers.resolution_hz(),
            nyquist_hz: powers.nyquist_hz(),
            slot_ps: powers.slot_ps(),
            lines,
            curve: curve(&powers),
        }
    }
}

/// Peaks from the lowest frequency on; those that are multiples of a line join it.
fn fold(found: &[Peak], powers: &Powers, pulses: &[Vec<Pulse>]) -> Vec<Line> {
    let mut amplitudes: Vec<f64> = found.iter().map(|peak| peak.amplitude).collect();
    amplitudes.sort_by(|a, b| b.total_cmp(a));
    let strong = amplitudes.get(ALWAYS_LOOKED_AT).copied().unwrap_or(0.0);
    let mut lines: Vec<Series> = Vec::new();
    for peak in found {
        let joined = lines.iter_mut().find_map(|series| Some((series.multiple(peak, powers)?, series)));
        if let Some((multiple, series)) = joined {
            series.join(peak, multiple);
        } else if lines.len() < MOST_LINES || peak.amplitude > strong {
            lines.extend(evaluate(peak, powers, pulses));
        }
    }
    lines.into_iter().map(Series::line).collect()
}

/// A line with its harmonics. The n-th of them tells the frequency n times as exactly, so that it is fitted to
/// all: the sum of n·f_n by the sum of n².
struct Series {
    line: Line,
    /// Of its detours, or of its noise time in mean durations.
    amplitude: f64,
    weighted: f64,
    squares: f64,
}

impl Series {
    fn frequency_hz(&self) -> f64 {
        self.weighted / self.squares
    }

    /// Which multiple of the line a peak is, or 0 if a frequency above the highest that looks like it is one. A
    /// line of its own at the n-th multiple would have about n times the detours; a harmonic has no more than
    /// the fundamental.
    fn multiple(&self, peak: &Peak, powers: &Powers) -> Option<f64> {
        let rate = 2.0 * powers.nyquist_hz();
        let (bin, own) = (powers.resolution_hz(), self.frequency_hz());
        let nearest = |frequency: f64| {
            let multiple = (frequency / own).round();
            let width = if self.line.steady { 1.0 } else { peaks::WIDEST as f64 * multiple };
            let tolerance = (bin * (width + 0.02 * multiple)).min(0.2 * own);
            (multiple >= 1.0 && (frequency - multiple * own).abs() <= tolerance).then_some(multiple)
        };
        if peak.amplitude > 1.5 * self.amplitude {
            return None;
        }
        let image = || [rate - peak.frequency_hz, rate + peak.frequency_hz].into_iter().find_map(nearest);
        nearest(peak.frequency_hz).or_else(|| image().map(|_| 0.0))
    }

    fn join(&mut self, peak: &Peak, multiple: f64) {
        self.line.harmonics += 1;
        if self.line.steady && peak.width == 1 {
            self.weighted += multiple * peak.frequency_hz;
            self.squares += multiple * multiple;
        }
    }

    fn line(self) -> Line {
        let frequency_hz = self.frequency_hz();
        Line { frequency_hz, period_ps: (1e12 / frequency_hz).round() as u64, ..self.line }
    }
}

/// The line of a peak from the exact times; nothing for a reflection.
fn evaluate(peak: &Peak, powers: &Powers, pulses: &[Vec<Pulse>]) -> Option<Series> {
    let (frequency_hz, events, noise_ps) = if peak.width == 1 {
        let exact = refine(pulses, peak.frequency_hz, powers.seconds, peak.by_time);
        let strength = if peak.by_time { exact.noise_ps / powers.mean_ps } else { exact.events };
        if strength < 0.6 * peak.amplitude {
            return None;
        }
        (exact.frequency_hz, exact.events, exact.noise_ps)
    } else {
        (peak.frequency_hz, peak.events, peak.noise_ps)
    };
    let by_chance: f64 = pulses.iter().map(|core| (core.len() as f64).sqrt()).sum();
    let counted = events > by_chance;
    let line = Line {
        frequency_hz,
        period_ps: 0,
        noise_ps,
        share: 0.0,
        events: if counted { events.round() as u64 } else { 0 },
        noise_per_event_ps: counted.then(|| noise_ps / events),
        harmonics: 0,
        steady: peak.width == 1,
        over_floor: peak.over_floor,
    };
    Some(Series { line, amplitude: peak.amplitude, weighted: frequency_hz, squares: 1.0 })
}

/// The spectrum of noise time, the largest value in each of some hundred ranges of equal ratio.
fn curve(powers: &Powers) -> Vec<Point> {
    let count = powers.time.len();
    let floor = peaks::mean_floor(&powers.time);
    let (first, last) = (peaks::FIRST as f64, count.max(peaks::FIRST + 1) as f64);
    let border = |point: usize| first * (last / first).powf(point as f64 / CURVE_POINTS as f64);
    let mut points: Vec<Point> = Vec::new();
    let mut from = peaks::FIRST;
    for point in 1..=CURVE_POINTS {
        let to = (border(point).ceil() as usize).min(count);
        let largest = (from..to).max_by(|&a, &b| powers.time[a].total_cmp(&powers.time[b]));
        if let Some(bin) = largest {
            points.push(Point {
                frequency_hz: bin as f64 * powers.resolution_hz(),
                share: powers.share(powers.time[bin]),
                floor: powers.share(floor[bin]),
            });
            from = to;
        }
    }
    points
}
