//! Fits a signature to a recording: a few sources, each with its rhythm or rate and its durations, that draw noise
//! with the same statistics.
//!
//! Each named source is fitted separately. Detours that follow its rhythm become one source, the rest another with
//! random times. Unnamed detours are first split by rhythm, one after the other, and the rest by duration where there
//! are gaps. A period in which a rhythm misses is drawn with a duration of zero. The signature describes one core, the
//! average of those recorded.
//!
//! Notes list what a signature cannot express: bursts, and noise that cores have in common.

mod durations;
mod split;

pub use durations::{FittedDurations, fit_durations};

use super::spectrum::{Pulse, Spectrum};
use super::{durations as times, sources};
use serde::Serialize;
use split::Component;
use straggler_model::Time;
use straggler_model::stats::{chance_distance, distance};
use straggler_noise::NoiseRecording;
use straggler_noise::generate::{Durations, Quantiles};
use straggler_noise::recording::{SourceId, UNNAMED};
use straggler_noise::signature::{Arrivals, Signature, SignatureSource};

/// Parts with less than this share of all detours and of all noise are left out.
const NEGLIGIBLE: f64 = 1e-4;
/// Above this share of periods with a detour, no detour counts as missing.
const FULL: f64 = 0.98;
/// Detours come in bursts if their gaps vary this many times as much as random ones.
const BURSTS: f64 = 1.5;

/// A signature and how good it is.
#[derive(Clone, PartialEq, Debug)]
pub struct Fit {
    pub signature: Signature,
    pub sources: Vec<FittedSource>,
    /// The share of noise time in the parts left out.
    pub left_out: f64,
    pub notes: Vec<String>,
}

/// How well one source of a signature fits.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FittedSource {
    pub name: String,
    pub events: u64,
    /// Share of all noise.
    pub share: f64,
    /// The share of periods in which it strikes; none for random times.
    pub occupancy: Option<f64>,
    /// The largest difference between the measured and the fitted distribution of durations, and its limit if they are
    /// the same.
    pub distance: f64,
    pub limit: f64,
}

/// Why a recording has no signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FitError {
    NoDetours,
}

impl std::fmt::Display for FitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the recording holds no detours: there is nothing to fit; measure longer or with a lower threshold")
    }
}

impl std::error::Error for FitError {}

impl Fit {
    /// The signature of a recording; of one core, if the recording holds no other.
    pub fn new(recording: &NoiseRecording, name: &str, made_from: &str) -> Result<Fit, FitError> {
        let (noise, length) = recording.noise_and_length();
        let events: usize = recording.cores.iter().map(|core| core.detours.len()).sum();
        if events == 0 || noise == Time::ZERO {
            return Err(FitError::NoDetours);
        }
        let parts = components(recording);
        let mut fit = Fit {
            signature: Signature { name: name.into(), made_from: made_from.into(), sources: Vec::new() },
            sources: Vec::new(),
            left_out: 0.0,
            notes: notes(recording),
        };
        for part in parts {
            let share = part.noise_ps() / noise.ps() as f64;
            if share < NEGLIGIBLE && (part.durations.len() as f64) < NEGLIGIBLE * events as f64 {
                fit.left_out += share;
            } else {
                fit.add(part, share, length);
            }
        }
        Ok(fit)
    }

    fn add(&mut self, part: Component, share: f64, length: Time) {
        let events = part.durations.len();
        let fitted = fit_durations(&part.durations);
        let (arrivals, occupancy) = arrivals(&part, length);
        let missing = 1.0 - occupancy.unwrap_or(1.0);
        let durations =
            if missing > 1.0 - FULL { with_missing(&part.durations, missing) } else { fitted.durations };
        let name = self.unused(&part.name);
        self.sources.push(FittedSource {
            name: name.clone(),
            events: events as u64,
            share,
            occupancy,
            distance: fitted.distance,
            limit: fitted.limit,
        });
        self.signature.sources.push(SignatureSource { name, arrivals, durations });
    }

    /// A name that no other source of the signature has.
    fn unused(&self, name: &str) -> String {
        let is_used = |name: &str| self.signature.sources.iter().any(|source| source.name == name);
        let numbered = (2..).map(|number| format!("{name} {number}"));
        std::iter::once(name.to_string()).chain(numbered).find(|name| !is_used(name)).unwrap_or_default()
    }
}

/// The parts of all sources, those with the most noise first.
fn components(recording: &NoiseRecording) -> Vec<Component> {
    let spectrum = Spectrum::new(recording);
    let steady = spectrum.lines.iter().filter(|line| line.steady && line.events > 0);
    let frequencies: Vec<f64> = steady.map(|line| line.frequency_hz).take(12).collect();
    let seconds = recording.cores.iter().map(|core| core.length.seconds()).fold(0.0, f64::max);
    let mut parts = Vec::new();
    for (id, source) in (0..=SourceId::MAX).zip(&recording.sources) {
        let pulses: Vec<Vec<Pulse>> = sources::pulses(recording, |detour| detour.source == id);
        let split = split::Split { seconds, frequencies: &frequencies, name: &source.name };
        parts.extend(if id == UNNAMED { split.unnamed(pulses) } else { split.named(pulses) });
    }
    parts.retain(|part| !part.durations.is_empty());
    parts.sort_by(|a, b| b.noise_ps().total_cmp(&a.noise_ps()));
    parts
}

/// The rhythm with the share of periods that have a detour, or a rate.
fn arrivals(part: &Component, length: Time) -> (Arrivals, Option<f64>) {
    let events = part.durations.len().max(1) as f64;
    let mean_gap = Time((length.ps() as f64 / events).round().max(1.0) as u64);
    let Some(rhythm) = part.rhythm else { return (Arrivals::Random { mean_gap }, None) };
    let occupancy = events * rhythm.period_ps / length.ps().max(1) as f64;
    let period = Time(rhythm.period_ps.round().max(1.0) as u64);
    (Arrivals::Periodic { period, jitter: Time(rhythm.jitter_ps.round() as u64) }, Some(occupancy.min(1.0)))
}

/// Durations with a share of zeros, which stand for periods without a detour.
fn with_missing(sorted: &[u64], missing: f64) -> Durations {
    let step = 1e-12;
    // Files hold these digits.
    let rounded = |share: f64| (share * 1e12).round() / 1e12;
    let missing = rounded(missing);
    let mut points = vec![(0.0, Time::ZERO), (missing, Time::ZERO)];
    for (share, duration) in durations::quantile_points(sorted) {
        let share = rounded(missing + step + (1.0 - missing - step) * share);
        points.push((if share >= 1.0 - step { 1.0 } else { share }, duration));
    }
    points.dedup_by(|later, earlier| later.0 <= earlier.0);
    Quantiles::new(points).map_or_else(|_| fit_durations(sorted).durations, Durations::Quantiles)
}

/// What a signature cannot express.
fn notes(recording: &NoiseRecording) -> Vec<String> {
    let mut notes = Vec::new();
    let gaps = times::sorted_gaps(recording);
    if let Some(gaps) = times::Times::of_sorted(&gaps)
        && gaps.variation > BURSTS
    {
        notes.push(format!(
            "detours come in bursts (their gaps vary {:.1} times as much as random ones would); a signature draws \
             them independently",
            gaps.variation
        ));
    }
    if recording.cores.len() > 1 {
        notes.push(format!(
            "it represents one core, the average of the {} recorded cores",
            recording.cores.len()
        ));
    }
    notes
}

/// Distances between the recorded noise and noise drawn from the signature, of durations and of gaps, each with its
/// limit if only chance separates them.
pub fn distances(recorded: &NoiseRecording, drawn: &NoiseRecording) -> [(f64, f64); 2] {
    let pair = |one: Vec<u64>, other: Vec<u64>| {
        (distance(&one, &other), chance_distance(one.len().max(1), Some(other.len().max(1))))
    };
    [
        pair(times::sorted_durations(recorded), times::sorted_durations(drawn)),
        pair(times::sorted_gaps(recorded), times::sorted_gaps(drawn)),
    ]
}
