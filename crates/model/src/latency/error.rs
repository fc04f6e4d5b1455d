//! What can be wrong with measured latencies.

use super::bins::Bins;
use super::series::Labels;
use crate::Rank;
use crate::replace::ReplaceError;
use std::path::PathBuf;

/// Why two measurements do not become one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    #[error(
        "the layouts of bins differ: one is {first}, the other {second}; only equal ones can be merged exactly: \
         measure again with the same --bins"
    )]
    Layouts { first: Bins, second: Bins },
    #[error("there are more than 2^64 - 1 times in the two together: one of the files is damaged")]
    TooMany,
    #[error("{labels}: {fault}")]
    InSeries { labels: Box<Labels>, fault: Box<MergeError> },
    #[error("one is of the kernel `{first}`, the other of `{second}`: compare them instead of merging")]
    Kernels { first: String, second: String },
    #[error(
        "process {rank} runs at different places in the two: merge runs with the same placement, and compare others"
    )]
    Placement { rank: Rank },
}

impl MergeError {
    pub(super) fn of_series(self, labels: &Labels) -> MergeError {
        MergeError::InSeries { labels: Box::new(labels.clone()), fault: Box::new(self) }
    }
}

/// Why the content of a file is no measurement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error(
        "this is no latency file of straggler: it should be JSON that begins with \"format\": \"straggler latency\""
    )]
    NoFormat,
    #[error(
        "the file has version {version}, this straggler reads up to {}: use a newer straggler",
        super::VERSION
    )]
    Newer { version: u32 },
    #[error("the file has version 0, which never was: it is damaged")]
    NoVersion,
    #[error("{0}")]
    Json(String),
    #[error("the file is cut off: it ends in the middle of its text; copy or measure it again")]
    CutOff,
    #[error(
        "series: their {bins} bins take more memory than the {} that are allowed: the file is damaged, or its bins are too fine: \
         measure with coarser --bins",
        super::file::MOST_BINS
    )]
    TooManyBins { bins: u64 },
    #[error("processes: rank {rank} is there twice or out of order")]
    Processes { rank: Rank },
    #[error("series: `{labels}` is there twice or out of order")]
    Order { labels: Box<Labels> },
    #[error("series `{labels}`: {field}: {what}")]
    Series { labels: Box<Labels>, field: &'static str, what: &'static str },
}

/// Why a file cannot be read, written or merged.
#[derive(Debug, thiserror::Error)]
pub enum LatencyError {
    #[error("{}: {fault}", path.display())]
    InFile { path: PathBuf, fault: Fault },
    #[error("{}: cannot be read: {fault}", path.display())]
    Unreadable { path: PathBuf, fault: std::io::Error },
    #[error("{}: cannot be merged with the files before it: {fault}", path.display())]
    Merge { path: PathBuf, fault: MergeError },
    #[error(transparent)]
    Unwritable(#[from] ReplaceError),
}
