//! Archives of OTF2, from traces. (placeholder)
use super::WriteError;
use crate::Trace;
use std::path::Path;

/// Writes.
pub fn write(_trace: &Trace, _directory: &Path, name: &str) -> Result<(), WriteError> {
    Err(WriteError::Name(name.into()))
}
