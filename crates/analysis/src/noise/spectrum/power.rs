//! The power of noise at every frequency, by fast Fourier transform.

use super::exact::Pulse;
use super::fourier::Transform;
use num_complex::Complex;
use std::f64::consts::PI;

/// Slots are at most this long if that many are allowed: this shows frequencies up to 10 kHz.
const WIDEST_SLOT_PS: u64 = 50_000_000;
/// Slots of a core, and of all cores together, at most.
const MOST_SLOTS: u64 = 1 << 20;
const MOST_SLOTS_OF_ALL: u64 = 1 << 23;
/// Fewer slots do not give a useful spectrum.
const FEWEST_SLOTS: u64 = 1 << 10;

/// Powers at the multiples of the resolution, summed over the cores. Time is in units of the mean duration, so that
/// both series have the same sum.
pub(super) struct Powers {
    pub events: Vec<f64>,
    pub time: Vec<f64>,
    pub cores: usize,
    pub detours: f64,
    /// The sum of all squared durations, in units of the mean duration.
    pub squares: f64,
    pub mean_ps: f64,
    pub seconds: f64,
    slots: usize,
}

impl Powers {
    /// None if there are too few detours, or no time.
    pub fn new(cores: &[Vec<Pulse>], length_ps: u64) -> Option<Powers> {
        let detours: usize = cores.iter().map(Vec::len).sum();
        let noise: f64 = cores.iter().flatten().map(|pulse| pulse.duration_ps).sum();
        if length_ps < FEWEST_SLOTS || detours < 8 || noise <= 0.0 {
            return None;
        }
        let slots = slots(length_ps, cores.len() as u64);
        let mean_ps = noise / detours as f64;
        let squares = cores.iter().flatten().map(|pulse| (pulse.duration_ps / mean_ps).powi(2)).sum();
        let mut powers = Powers {
            events: vec![0.0; slots / 2],
            time: vec![0.0; slots / 2],
            cores: cores.len(),
            detours: detours as f64,
            squares,
            mean_ps,
            seconds: length_ps as f64 * 1e-12,
            slots,
        };
        let transform = Transform::new(slots);
        for pulses in cores {
            let mut series = series(pulses, slots, length_ps, mean_ps);
            transform.process(&mut series);
            powers.add(&series);
        }
        Some(powers)
    }

    /// Both series went through one transform, the second as the imaginary part. The transform of a real series is its
    /// own mirror image, which separates them.
    fn add(&mut self, transformed: &[Complex<f64>]) {
        for bin in 1..self.slots / 2 {
            let (here, mirror) = (transformed[bin], transformed[self.slots - bin].conj());
            let correction = window_of_slots(bin as f64 / self.slots as f64);
            self.events[bin] += ((here + mirror) * 0.5).norm_sqr() * correction;
            self.time[bin] += ((here - mirror) * 0.5).norm_sqr() * correction;
        }
    }

    pub fn resolution_hz(&self) -> f64 {
        1.0 / self.seconds
    }

    pub fn nyquist_hz(&self) -> f64 {
        self.slots as f64 / 2.0 / self.seconds
    }

    pub fn slot_ps(&self) -> u64 {
        (self.seconds * 1e12 / self.slots as f64).round() as u64
    }

    /// The number of detours, or of mean durations, in step, if all cores together have this power. The window halves
    /// the amplitude, and the amplitudes of the cores add up.
    pub fn amplitude(&self, power: f64) -> f64 {
        2.0 * (power * self.cores as f64).sqrt()
    }

    /// The share of one core's time that noise with this power takes. The window weights the middle of the recording
    /// twice, so the share of a burst there is capped at all detours.
    pub fn share(&self, power: f64) -> f64 {
        let amplitude = self.amplitude(power).min(self.detours);
        amplitude * self.mean_ps * 1e-12 / self.seconds / self.cores as f64
    }
}

/// A power of two: as many slots as the length asks for and the number of cores allows.
fn slots(length_ps: u64, cores: u64) -> usize {
    let most = (MOST_SLOTS_OF_ALL / cores.max(1)).clamp(FEWEST_SLOTS, MOST_SLOTS);
    let wanted = length_ps.div_ceil(WIDEST_SLOT_PS).next_power_of_two();
    // A short recording has fast rhythms, so its slots are shorter, down to a picosecond.
    let wanted =
        wanted.clamp(FEWEST_SLOTS << 4, MOST_SLOTS).min(length_ps.min(MOST_SLOTS).next_power_of_two());
    let count = if most.is_power_of_two() { most } else { most.next_power_of_two() / 2 };
    wanted.min(count) as usize
}

/// Detours as points split between the two nearest slots, minus the mean, with Hann's window. Numbers are the real
/// part, durations the imaginary part.
fn series(pulses: &[Pulse], slots: usize, length_ps: u64, mean_ps: f64) -> Vec<Complex<f64>> {
    let mut series = vec![Complex::new(0.0, 0.0); slots];
    let scale = slots as f64 / (length_ps as f64 * 1e-12);
    for pulse in pulses {
        let position = pulse.seconds * scale;
        let (slot, part) = (position as usize, position.fract());
        let weight = Complex::new(1.0, pulse.duration_ps / mean_ps);
        series[slot.min(slots - 1)] += weight * (1.0 - part);
        series[(slot + 1).min(slots - 1)] += weight * part;
    }
    let mean = series.iter().sum::<Complex<f64>>() / slots as f64;
    for (index, value) in series.iter_mut().enumerate() {
        let window = 0.5 - 0.5 * (2.0 * PI * index as f64 / slots as f64).cos();
        *value = (*value - mean) * window;
    }
    series
}

/// Splitting a point between two slots attenuates the highest frequencies; this compensates for it.
fn window_of_slots(frequency: f64) -> f64 {
    let x = PI * frequency;
    (x / x.sin()).powi(4)
}
