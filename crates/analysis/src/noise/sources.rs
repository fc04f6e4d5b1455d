//! The sources of noise.

use super::rhythm::{self, Rhythm};
use super::spectrum::{Pulse, Spectrum};
use serde::Serialize;
use straggler_model::Time;
use straggler_model::stats::quantile_of_sorted;
use straggler_noise::NoiseRecording;
use straggler_noise::recording::{Detour, Evidence, SourceId};

/// Frequencies of the whole recording that are tried on each source.
const LINES_TRIED: usize = 12;

/// The noise of one source.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SourceNoise {
    pub name: String,
    pub evidence: Evidence,
    pub events: u64,
    pub noise_ps: u64,
    /// Share of all noise.
    pub share: f64,
    /// Share of the measured time.
    pub overhead: f64,
    /// Mean detours per second and core.
    pub rate_hz: f64,
    pub median_ps: u64,
    pub p99_ps: u64,
    pub max_ps: u64,
    /// Its rhythm; none if it is random.
    pub rhythm: Option<Rhythm>,
}

/// Shares of the noise time by the evidence for its source. They add up to 1 if there is noise.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Explained {
    /// Observed by the kernel at that time on that core.
    pub traced: f64,
    /// A counter rose in the same slices of time.
    pub correlated: f64,
    /// Stated in a file or a description.
    pub stated: f64,
    /// The kernel was traced and recorded nothing: the hypervisor or the firmware.
    pub remainder: f64,
    pub unnamed: f64,
}

/// All sources that have noise, the most first.
pub fn table(recording: &NoiseRecording, spectrum: &Spectrum) -> Vec<SourceNoise> {
    let seconds = recording.cores.iter().map(|core| core.length.seconds()).fold(0.0, f64::max);
    let mut lines: Vec<_> = spectrum.lines.iter().filter(|line| line.steady && line.events > 0).collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.events));
    let frequencies: Vec<f64> = lines.iter().take(LINES_TRIED).map(|line| line.frequency_hz).collect();
    let sources = 0..recording.sources.len().min(usize::from(SourceId::MAX) + 1);
    let one = |id| SourceNoise::new(recording, id as SourceId, seconds, &frequencies);
    let mut table: Vec<SourceNoise> = sources.filter_map(one).collect();
    table.sort_by_key(|source| std::cmp::Reverse(source.noise_ps));
    table
}

impl SourceNoise {
    fn new(
        recording: &NoiseRecording,
        id: SourceId,
        seconds: f64,
        frequencies: &[f64],
    ) -> Option<SourceNoise> {
        let source = recording.sources.get(usize::from(id))?;
        let pulses = pulses(recording, |detour| detour.source == id);
        let mut durations: Vec<u64> = pulses.iter().flatten().map(|pulse| pulse.duration_ps as u64).collect();
        durations.sort_unstable();
        let at = |q| quantile_of_sorted(&durations, q);
        let noise_ps = durations.iter().fold(0u64, |sum, &duration| sum.saturating_add(duration));
        let (all, length) = recording.noise_and_length();
        Some(SourceNoise {
            name: source.name.clone(),
            evidence: source.evidence,
            events: durations.len() as u64,
            noise_ps,
            share: noise_ps as f64 / all.ps().max(1) as f64,
            overhead: noise_ps as f64 / length.ps().max(1) as f64,
            rate_hz: durations.len() as f64 / length.seconds().max(1e-12),
            median_ps: at(0.5)?,
            p99_ps: at(0.99)?,
            max_ps: at(1.0)?,
            rhythm: rhythm::find(&pulses, seconds, frequencies),
        })
    }
}

/// Detours of one kind on each core as points in time.
pub(super) fn pulses(recording: &NoiseRecording, keep: impl Fn(&Detour) -> bool) -> Vec<Vec<Pulse>> {
    let pulse =
        |detour: &Detour| Pulse { seconds: detour.start.seconds(), duration_ps: detour.duration.ps() as f64 };
    let of_core = |core: &straggler_noise::recording::Core| {
        core.detours.iter().filter(|detour| keep(detour)).map(pulse).collect()
    };
    recording.cores.iter().map(of_core).collect()
}

impl Explained {
    pub fn new(recording: &NoiseRecording) -> Explained {
        Explained::without(recording, &[])
    }

    /// The shares of what is left without these sources.
    pub fn without(recording: &NoiseRecording, names: &[String]) -> Explained {
        let times = recording.explained_without(names);
        let all = times.total().ps().max(1) as f64;
        let share = |time: Time| time.ps() as f64 / all;
        Explained {
            traced: share(times.traced),
            correlated: share(times.correlated),
            stated: share(times.stated),
            remainder: share(times.remainder),
            unnamed: share(times.unnamed),
        }
    }

    /// The share with a name, whatever the evidence.
    pub fn named(&self) -> f64 {
        self.traced + self.correlated + self.stated + self.remainder
    }
}
