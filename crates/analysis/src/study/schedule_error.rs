//! Why a schedule of a study cannot be built.

use straggler_model::network::NetworkError;
use straggler_model::units::write_bytes;
use straggler_schedule::collectives::{CollectiveError, Job, SelectorError};
use straggler_schedule::goal::ReadError;
use straggler_schedule::traced::PlaybackError;
use straggler_schedule::workloads::WorkloadError;

/// Why a schedule cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    #[error(transparent)]
    Collective(#[from] CollectiveError),
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error("the data exceeds {} in total: give smaller sizes", write_bytes(Job::MOST_BYTES))]
    TooMuch,
    #[error(transparent)]
    Selector(#[from] SelectorError),
    #[error(transparent)]
    Goal(#[from] ReadError),
    /// Why a trace cannot be read or replayed.
    #[error("{0}")]
    Trace(String),
    #[error(transparent)]
    Playback(#[from] PlaybackError),
    /// For a network fitted to a trace.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

impl ScheduleError {
    /// The key of the study that caused the error.
    pub fn key(&self) -> &'static str {
        match self {
            ScheduleError::Collective(CollectiveError::TooManyProcesses { .. }) => "processes",
            ScheduleError::Workload(WorkloadError::Processes { .. }) => "processes",
            ScheduleError::Collective(_) => "collective",
            ScheduleError::Workload(_) => "workload",
            ScheduleError::TooMuch => "size",
            ScheduleError::Selector(_) => "algorithms",
            ScheduleError::Goal(_) => "goal",
            ScheduleError::Network(_) => "network",
            ScheduleError::Playback(PlaybackError::TooManyProcesses { .. } | PlaybackError::NoCopies) => {
                "copies"
            }
            ScheduleError::Trace(_) | ScheduleError::Playback(_) => "trace",
        }
    }
}
