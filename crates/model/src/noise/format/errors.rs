//! What can be wrong with files of noise.

use super::super::recording::RecordingError;
use super::super::{DetoursError, FieldError, Place};
use super::Format;
use super::straggler::StragglerError;
use crate::Time;

/// Why a file is no noise.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error("{place}: expected {expected}, found {found}")]
    Columns { place: Place, expected: &'static str, found: usize },
    #[error("{place}: this detour starts after the trace's length of {length}: {mend}")]
    BeyondLength { place: Place, length: Time, mend: &'static str },
    #[error("the trace holds no detours: use `none` for no noise")]
    Empty,
    #[error("the file holds no samples")]
    NoSamples,
    #[error(
        "the file holds cycle counts and does not say how many there are in a second: give --ghz, as {example}"
    )]
    NoRate { example: &'static str },
    #[error("a clock of {ghz} GHz makes no sense: give cycles in a nanosecond, such as 2.1")]
    BadRate { ghz: f64 },
    #[error("the file does not say how long its quanta are: give --interval, as --interval 1ms")]
    NoInterval,
    #[error("the samples take longer than simulated time can hold (213 days)")]
    TooLong,
    #[error("this is neither a text of numbers nor a noise file of straggler")]
    NotText,
    #[error(transparent)]
    Straggler(#[from] StragglerError),
    #[error(transparent)]
    Detours(#[from] DetoursError),
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

/// Why a recording cannot be written in a format.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error("{format} holds {wanted}, and the recording has {found}: write it as {instead}")]
    Unsuitable { format: Format, wanted: &'static str, found: &'static str, instead: &'static str },
    #[error("{field} is not a finite number")]
    NotFinite { field: &'static str },
    #[error("the recording holds no cores")]
    NoCores,
    #[error("what is known of the recording cannot be written: {fault}")]
    Header { fault: String },
}

/// Why recordings cannot become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    #[error("there are no recordings to join")]
    Nothing,
    #[error(
        "the files were not measured in the same way (detours, fixed work, fixed time): convert them one by one"
    )]
    Methods,
}
