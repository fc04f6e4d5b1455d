//! Periodicity: the frequencies of noise, and how much noise each carries.
//!
//! Detours are points in time. They give two series, the number of detours and the noise time per slot, and the
//! spectra of both are searched: in noise time, one long detour outweighs a hundred short ones, and a tick of
//! microseconds among detours of milliseconds shows only in the numbers. Powers are summed over cores, since each core
//! has its own phase.
//!
//! A peak counts if it stands so far above its neighbourhood that chance would produce one in ten thousand recordings.
//! Rhythms that drift have broad peaks, so the search is repeated with sums over 8 and 64 neighbouring frequencies. A
//! peak only suggests a frequency; `comb.rs` decides from the exact times which detours are in step with it. The
//! slowest of the best rhythms becomes a line, its detours are removed, and the search continues with the rest. So
//! multiples, aliases and the broad spectrum of a burst do not become lines, and no detour counts twice.

mod comb;
mod exact;
mod fourier;
mod peaks;
mod power;

pub(super) use exact::{Pulse, refine};

use comb::Comb;
use peaks::Peak;
use power::Powers;
use serde::Serialize;
use straggler_noise::NoiseRecording;
use straggler_noise::recording::Core;

/// Peaks to try: this many of the strongest and of the lowest, since the strongest peak of a comb may be any harmonic.
const MOST_TRIED: usize = 24;
/// Detours per core that decide which frequency comes first; then all are counted.
const MOST_TO_DECIDE: usize = 20_000;
/// With more lines than this, the spectrum has no useful rhythm.
const MOST_LINES: usize = 8;
/// How often the rest is transformed again.
const ROUNDS: usize = 3;
/// Whether a line is a multiple of a lower one is tested up to this multiple.
const MOST_PARTS: u32 = 16;
/// How far a drifting frequency strays from its mean, as a share of it.
const DRIFT: f64 = 0.01;
/// Points of the plotted curve.
const CURVE_POINTS: usize = 800;

/// The frequencies of noise.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Spectrum {
    /// 1 / measured time: closer frequencies cannot be separated.
    pub resolution_hz: f64,
    /// The highest frequency that was searched.
    pub nyquist_hz: f64,
    pub slot_ps: u64,
    /// Strongest first, by the noise time they carry.
    pub lines: Vec<Line>,
    pub curve: Vec<Point>,
}

/// A frequency of the noise.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Line {
    pub frequency_hz: f64,
    pub period_ps: u64,
    /// Noise time in step with it, on all cores.
    pub noise_ps: f64,
    /// The same as a share of all noise.
    pub share: f64,
    /// Detours in step with it; 0 if only their durations vary at this frequency.
    pub events: u64,
    pub noise_per_event_ps: Option<f64>,
    /// Multiples of the frequency that were also found.
    pub harmonics: u32,
    /// Whether it keeps one frequency through the whole recording; else it drifts around this frequency.
    pub steady: bool,
    /// Its power relative to its neighbourhood.
    pub over_floor: f64,
}

/// The spectrum near one frequency, as the maximum of a range: the share of a core's time that noise in step with it
/// takes, and the mean of its neighbourhood.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Point {
    pub frequency_hz: f64,
    pub share: f64,
    pub floor: f64,
}

impl Spectrum {
    pub fn new(recording: &NoiseRecording) -> Spectrum {
        let cores: Vec<&Core> = recording.cores.iter().filter(|core| !core.detours.is_empty()).collect();
        let pulses: Vec<Vec<Pulse>> = cores.iter().map(|core| exact::pulses(core)).collect();
        let length_ps = cores.iter().map(|core| core.length.ps()).max().unwrap_or(0);
        let Some(powers) = Powers::new(&pulses, length_ps) else { return Spectrum::default() };
        let noise_ps: f64 = pulses.iter().flatten().map(|pulse| pulse.duration_ps).sum();
        let mut lines = lines(pulses, &powers, length_ps);
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

/// The lines of the recording, then those of the rest, until nothing new is found.
fn lines(mut pulses: Vec<Vec<Pulse>>, whole: &Powers, length_ps: u64) -> Vec<Line> {
    let all = peaks::find(whole);
    let mut lines: Vec<Line> = Vec::new();
    let mut peaks = all.clone();
    for _ in 0..ROUNDS {
        let before = lines.len();
        while lines.len() < MOST_LINES {
            peaks.retain(|peak| !lines.iter().any(|line| is_multiple(peak.frequency_hz, line, whole)));
            let Some((peak, mut comb)) = best(&worth_trying(&peaks), &pulses, whole.seconds) else { break };
            if comb.steady {
                comb.frequency_hz = polished(&comb, &pulses, whole.seconds);
            }
            lines.push(line(&peak, &comb, &all, whole));
            take_away(&mut pulses, &comb);
        }
        if lines.len() == before {
            break;
        }
        let Some(rest) = Powers::new(&pulses, length_ps) else { break };
        peaks = peaks::find(&rest);
    }
    lines
}

/// The strongest peaks, the lowest, and the lowest of the strong ones: the fundamental of a comb is among them.
fn worth_trying(found: &[Peak]) -> Vec<Peak> {
    let mut strongest = found.to_vec();
    strongest.sort_by(|a, b| b.amplitude.total_cmp(&a.amplitude));
    let strong = strongest.first().map_or(0.0, |peak| 0.5 * peak.amplitude);
    let lowest = found.iter().take(MOST_TRIED);
    let lowest_strong = found.iter().filter(|peak| peak.amplitude >= strong).take(MOST_TRIED);
    let mut tried: Vec<Peak> =
        strongest.iter().take(MOST_TRIED).chain(lowest).chain(lowest_strong).copied().collect();
    tried.sort_by(|a, b| a.frequency_hz.total_cmp(&b.frequency_hz));
    tried.dedup_by_key(|peak| peak.bin);
    tried
}

/// The slowest of the best rhythms. A rhythm that strikes in few of its periods scores less: whatever is in step with
/// a frequency is also in step with its multiples.
fn best(tried: &[Peak], pulses: &[Vec<Pulse>], seconds: f64) -> Option<(Peak, Comb)> {
    let few: Vec<Vec<Pulse>> =
        pulses.iter().map(|core| core.iter().take(MOST_TO_DECIDE).copied().collect()).collect();
    let found: Vec<(Peak, Comb)> =
        tried.iter().filter_map(|peak| Some((*peak, comb_of(peak, &few, seconds)?))).collect();
    let by_number = found.iter().any(|(_, comb)| comb.by_number);
    let score = |comb: &Comb| {
        let kept = if by_number { counted(comb) } else { comb.noise_ps };
        kept * comb.occupancy.sqrt()
    };
    let most = found.iter().map(|(_, comb)| score(comb)).fold(0.0, f64::max);
    let is_best = |(_, comb): &&(Peak, Comb)| score(comb) >= 0.8 * most;
    let slowest = found.iter().find(is_best)?;
    // A drifting comb may have been pulled here by a steady one next to it.
    let own = slowest.1.frequency_hz;
    let is_near = |(_, comb): &&(Peak, Comb)| comb.steady && (comb.frequency_hz / own - 1.0).abs() < DRIFT;
    let (peak, comb) = found.iter().filter(is_best).find(is_near).unwrap_or(slowest);
    match fundamental(comb, &few) {
        Some(frequency_hz) => Some((*peak, comb::track(pulses, frequency_hz)?)),
        None => Some((*peak, comb_of(peak, pulses, seconds)?)),
    }
}

/// The frequency refined from the detours in step only.
fn polished(comb: &Comb, pulses: &[Vec<Pulse>], seconds: f64) -> f64 {
    let of_core = |(pulses, members): (&Vec<Pulse>, &Vec<usize>)| {
        members.iter().filter_map(|&index| pulses.get(index)).copied().collect()
    };
    let members: Vec<Vec<Pulse>> = pulses.iter().zip(&comb.members).map(of_core).collect();
    refine(&members, comb.frequency_hz, seconds, !comb.by_number).frequency_hz
}

/// The lowest frequency that this one is a multiple of and that has as much in step.
fn fundamental(comb: &Comb, pulses: &[Vec<Pulse>]) -> Option<f64> {
    let keeps_as_much = |other: &Comb| match comb.by_number {
        true => counted(other) >= 0.95 * comb.events,
        false => other.noise_ps >= 0.95 * comb.noise_ps,
    };
    let parts = (2..=MOST_PARTS).rev().map(|part| comb.frequency_hz / f64::from(part));
    let mut tracked = parts.filter_map(|frequency_hz| comb::track(pulses, frequency_hz));
    tracked.find(keeps_as_much).map(|comb| comb.frequency_hz)
}

/// Detours in step, if the line shows in numbers.
fn counted(comb: &Comb) -> f64 {
    if comb.by_number { comb.events } else { 0.0 }
}

fn comb_of(peak: &Peak, pulses: &[Vec<Pulse>], seconds: f64) -> Option<Comb> {
    let near = refine(pulses, peak.frequency_hz, seconds, peak.by_time).frequency_hz;
    let frequency = if peak.width == 1 { near } else { peak.frequency_hz };
    comb::track(pulses, frequency)
}

fn line(peak: &Peak, comb: &Comb, all: &[Peak], powers: &Powers) -> Line {
    let mut line = Line {
        frequency_hz: comb.frequency_hz,
        period_ps: (1e12 / comb.frequency_hz).round() as u64,
        noise_ps: comb.noise_ps,
        share: 0.0,
        events: counted(comb).round() as u64,
        noise_per_event_ps: (counted(comb) > 0.0).then(|| comb.noise_ps / comb.events),
        harmonics: 0,
        steady: comb.steady,
        over_floor: peak.over_floor,
    };
    let multiples = all.iter().filter(|peak| is_multiple(peak.frequency_hz, &line, powers));
    let mut multiples: Vec<u64> = multiples
        .map(|peak| (peak.frequency_hz / line.frequency_hz).round() as u64)
        .filter(|&n| n > 1)
        .collect();
    multiples.dedup();
    line.harmonics = multiples.len() as u32;
    line
}

/// Whether a frequency is that of a line or a multiple of it, within the precision of the line.
fn is_multiple(frequency_hz: f64, line: &Line, powers: &Powers) -> bool {
    let multiple = (frequency_hz / line.frequency_hz).round();
    let exact = powers.resolution_hz() * (1.5 + 0.02 * multiple);
    let drift = if line.steady { 0.0 } else { DRIFT * frequency_hz };
    let tolerance = (exact + drift).min(0.2 * line.frequency_hz);
    multiple >= 1.0 && (frequency_hz - multiple * line.frequency_hz).abs() <= tolerance
}

fn take_away(pulses: &mut [Vec<Pulse>], comb: &Comb) {
    for (pulses, members) in pulses.iter_mut().zip(&comb.members) {
        let mut members = members.iter().copied().peekable();
        let mut index = 0;
        pulses.retain(|_| {
            let is_member = members.next_if_eq(&index).is_some();
            index += 1;
            !is_member
        });
    }
}

/// The spectrum of noise time, as the maximum over each of several hundred ranges of equal ratio.
fn curve(powers: &Powers) -> Vec<Point> {
    let count = powers.time.len();
    let floor = peaks::background(&powers.time, powers.cores);
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
