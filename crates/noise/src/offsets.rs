//! The starting point of each process in its trace, from a file: one number of nanoseconds per
//! line, in rank order.

use std::path::{Path, PathBuf};
use straggler_model::Time;
use straggler_model::columns::{FieldError, Line, LinePlace, lines, nanoseconds};

/// Why a file is not a list of offsets.
#[derive(Debug, thiserror::Error)]
pub enum OffsetsError {
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error("{place}: this is a second offset: write one per line, in ns, in rank order")]
    SecondColumn { place: LinePlace },
    #[error("the file holds no offsets: write one number of nanoseconds per line, in rank order")]
    Empty,
    #[error("{path}: {fault}")]
    InFile { path: PathBuf, fault: Box<OffsetsError> },
    #[error("{path} cannot be read: {fault}")]
    Unreadable { path: PathBuf, fault: std::io::Error },
}

/// Reads offsets from the bytes of a file.
pub fn parse(bytes: &[u8]) -> Result<Vec<Time>, OffsetsError> {
    let text = String::from_utf8_lossy(bytes);
    let mut offsets = Vec::new();
    for (_, line) in lines(&text) {
        let Line::Fields(fields) = line else { continue };
        if let Some(&(place, _)) = fields.get(1) {
            return Err(OffsetsError::SecondColumn { place });
        }
        for (place, field) in fields {
            offsets.push(nanoseconds(place, field)?);
        }
    }
    if offsets.is_empty() { Err(OffsetsError::Empty) } else { Ok(offsets) }
}

/// Reads an offsets file.
pub fn read(path: &Path) -> Result<Vec<Time>, OffsetsError> {
    let bytes = std::fs::read(path).map_err(|fault| OffsetsError::Unreadable { path: path.into(), fault })?;
    parse(&bytes).map_err(|fault| OffsetsError::InFile { path: path.into(), fault: Box::new(fault) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_a_line() {
        assert_eq!(parse(b"# rank 0\n0\n1.5 # rank 1\n\n20").unwrap(), [Time(0), Time(1500), Time(20_000)]);
        assert!(matches!(parse(b"# nothing\n"), Err(OffsetsError::Empty)));
        let fault = parse(b"1\n2 3\n").unwrap_err();
        assert!(fault.to_string().starts_with("line 2, column 3: this is a second offset"), "{fault}");
    }
}
