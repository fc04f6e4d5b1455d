//! Analysis of a noise recording: how much time noise takes and how certain that is, the durations of detours and the
//! gaps between them, their frequencies, their sources, and whether cores share them.
//!
//! Everything is a pure function of a recording (and of a seed, where resamples are drawn), and the results can be
//! printed, plotted or written directly. [`Fit`] turns a recording into a signature; [`Comparison`] tells whether two
//! recordings show the same noise.

mod chance;
pub mod compare;
pub mod cores;
pub mod drawn;
pub mod durations;
pub mod fit;
pub mod overhead;
pub(crate) mod phases;
pub(crate) mod rhythm;
mod slots;
pub(crate) mod sources;
pub mod spectrum;

pub use compare::Comparison;
pub use cores::Together;
pub use durations::{DurationBin, Times};
pub use fit::Fit;
pub use overhead::{CoreOverhead, Overhead};
pub use phases::SlowPhases;
pub use rhythm::Rhythm;
pub use sources::{Explained, SourceNoise};
pub use spectrum::Spectrum;

use serde::Serialize;
use straggler_noise::NoiseRecording;

/// The analysis of one recording.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Analysis {
    /// For all cores together.
    pub overhead: Overhead,
    pub cores: Vec<CoreOverhead>,
    pub phases: Vec<SlowPhases>,
    pub durations: Option<Times>,
    pub histogram: Vec<DurationBin>,
    /// From the start of a detour to that of the next on its core.
    pub gaps: Option<Times>,
    pub spectrum: Spectrum,
    pub sources: Vec<SourceNoise>,
    pub explained: Explained,
    /// None for a single core.
    pub together: Option<Together>,
    /// Detours lost to full buffers, and their time.
    pub lost_detours: u64,
    pub lost_ps: u64,
}

impl Analysis {
    /// The same seed gives the same numbers.
    pub fn new(recording: &NoiseRecording, seed: u64) -> Analysis {
        let durations = durations::sorted_durations(recording);
        let spectrum = Spectrum::new(recording);
        Analysis {
            overhead: overhead::of_recording(recording, seed),
            cores: overhead::of_cores(recording, seed),
            phases: recording.cores.iter().map(SlowPhases::new).collect(),
            durations: Times::of_sorted(&durations),
            histogram: durations::histogram(&durations),
            gaps: Times::of_sorted(&durations::sorted_gaps(recording)),
            sources: sources::table(recording, &spectrum),
            spectrum,
            explained: Explained::new(recording),
            together: Together::new(recording, seed),
            lost_detours: recording.cores.iter().map(|core| core.lost.detours).sum(),
            lost_ps: recording.cores.iter().fold(0u64, |sum, core| sum.saturating_add(core.lost.time.ps())),
        }
    }
}
