//! Schedules in GOAL, the language of the field's reference simulator, as text and binary.
//!
//! [`text`] and [`binary`] work on bytes and writers and do no I/O of their own; `file.rs`
//! opens, maps and replaces files. Files are read in batches of ranks, each batch in parallel, so
//! that only one batch is in memory besides the graph.

pub mod binary;
pub(crate) mod error;
pub(crate) mod file;
mod rounding;
pub mod stream;
pub mod text;
pub mod text_write;

pub use error::{BinaryProblem, GoalError, GoalPlace, TextProblem};
pub use file::{Format, Loaded, ReadError, WriteError, binary_ranks, read_path, read_ranks, write_path};

/// Reads GOAL text or binary, detecting the format.
pub fn parse(bytes: &[u8]) -> Result<crate::Graph, GoalError> {
    parse_with(bytes, &mut |_| ())
}

/// Like [`parse`]; calls `consumed` with ranges of the input that will not be read again, unless
/// there is an error to locate.
pub fn parse_with(
    bytes: &[u8],
    consumed: &mut dyn FnMut(std::ops::Range<usize>),
) -> Result<crate::Graph, GoalError> {
    match Format::detect(bytes) {
        Some(Format::Text) => text::parse_with(bytes, consumed),
        Some(Format::Binary) => binary::parse_with(bytes, consumed),
        None => Err(GoalError::UnknownFormat),
    }
}

/// What a writer had to change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// Computations that are not whole nanoseconds, which GOAL needs; each was rounded to the
    /// nearest.
    pub rounded: u64,
}
