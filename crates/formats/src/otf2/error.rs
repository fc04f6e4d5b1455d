//! What can be wrong with an archive, or with a trace to be written as one.

use std::io;
use std::path::{Path, PathBuf};
use straggler_model::Rank;

/// Why an archive cannot be read. Every variant names the file, and the byte where there is one.
#[derive(Debug, thiserror::Error)]
pub enum Otf2Error {
    #[error("{}: cannot be read: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: byte {offset}: {what}", path.display())]
    Malformed { path: PathBuf, offset: u64, what: String },
    #[error("{}: {what}: {mend}", path.display())]
    Unsupported { path: PathBuf, what: String, mend: &'static str },
    #[error("{}: {what}", path.display())]
    Inconsistent { path: PathBuf, what: String },
    #[error(
        "{}: the events of rank {rank} are missing (location {location}): copy the whole folder of the archive",
        path.display()
    )]
    NoEvents { path: PathBuf, rank: Rank, location: u64 },
}

/// Why a trace cannot be written as an archive.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("{}: cannot be written: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} already exists and was not written by straggler as part of an archive (the folder NAME has the events of \
         NAME.otf2): give another name",
        .0.display()
    )]
    Exists(PathBuf),
    #[error("\"{0}\" cannot name an archive: give a nonempty name without slashes")]
    Name(String),
    #[error(
        "rank {rank}, call {call} ({function}): starts before the previous call on the same thread ends, which OTF2 \
         cannot represent"
    )]
    Overlap { rank: Rank, call: usize, function: &'static str },
    #[error("rank {rank}, call {call} ({function}): {what}")]
    Call { rank: Rank, call: usize, function: &'static str, what: &'static str },
    #[error("{what} does not fit into an OTF2 archive")]
    TooLarge { what: String },
}

/// What is wrong at which byte, before the name of the file is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fault {
    pub(super) offset: u64,
    pub(super) what: String,
}

impl Fault {
    pub(super) fn new(offset: u64, what: impl Into<String>) -> Fault {
        Fault { offset, what: what.into() }
    }

    pub(super) fn in_file(self, path: &Path) -> Otf2Error {
        Otf2Error::Malformed { path: path.into(), offset: self.offset, what: self.what }
    }
}
