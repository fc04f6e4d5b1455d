//! Errors of noise files.

use super::super::DetoursError;
use super::super::recording::RecordingError;
use super::Format;
use super::straggler::StragglerError;
use straggler_model::Time;
use straggler_model::columns::{FieldError, LinePlace};

/// Why a file is not a noise file.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error("{place}: expected {expected}, found {found}")]
    Columns { place: LinePlace, expected: &'static str, found: usize },
    #[error("{place}: this detour starts after the end of the trace at {length}: {mend}")]
    BeyondLength { place: LinePlace, length: Time, mend: &'static str },
    #[error("the trace holds no detours: use `none` for no noise")]
    Empty,
    #[error("the file holds no samples")]
    NoSamples,
    #[error("the file holds cycle counts without a clock rate: give --ghz, for example {example}")]
    NoRate { example: &'static str },
    #[error("{ghz} is not a valid clock rate: give GHz, for example 2.1")]
    BadRate { ghz: f64 },
    #[error("the file does not state the length of its quanta: give --interval, for example --interval 1ms")]
    NoInterval,
    #[error("the samples exceed the range of simulated time (213 days)")]
    TooLong,
    #[error("this is neither a text file of numbers nor a noise file of straggler")]
    NotText,
    #[error(transparent)]
    Straggler(#[from] StragglerError),
    #[error(transparent)]
    Detours(#[from] DetoursError),
    #[error(transparent)]
    NoiseRecording(#[from] RecordingError),
}

/// Why a recording cannot be written in a format.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error(transparent)]
    NoiseRecording(#[from] RecordingError),
    #[error("{format} holds {wanted}, but the recording has {found}: write it as {instead}")]
    Unsuitable { format: Format, wanted: &'static str, found: &'static str, instead: &'static str },
    #[error("{field} is not a finite number")]
    NotFinite { field: &'static str },
    #[error("the recording holds no cores")]
    NoCores,
    #[error("the metadata of the recording cannot be written: {fault}")]
    Header { fault: String },
}

/// Why recordings cannot be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    #[error("there are no recordings to merge")]
    Nothing,
    #[error("the files use different methods (detours, fixed work, fixed time): convert them one by one")]
    Methods,
}
