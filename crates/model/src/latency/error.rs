//! Errors of measured latencies.

use super::bins::Bins;
use super::series::Labels;
use crate::Rank;
use crate::replace::ReplaceError;
use std::path::PathBuf;

/// Why two measurements cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    #[error(
        "the bins differ: one file has {first}, the other {second}; only equal bins can be merged exactly: measure \
         again with the same --bins"
    )]
    Layouts { first: Bins, second: Bins },
    #[error("the two files hold more than 2^64 - 1 times in total: one of them is damaged")]
    TooMany,
    #[error("{labels}: {fault}")]
    InSeries { labels: Box<Labels>, fault: Box<MergeError> },
    #[error("one file is of the kernel `{first}`, the other of `{second}`: compare them instead of merging")]
    Kernels { first: String, second: String },
    #[error(
        "process {rank} has a different placement in the two files: merge only runs with the same placement, and \
         compare others"
    )]
    Placement { rank: Rank },
}

impl MergeError {
    pub(super) fn of_series(self, labels: &Labels) -> MergeError {
        MergeError::InSeries { labels: Box::new(labels.clone()), fault: Box::new(self) }
    }
}

/// Why the content of a file is not a measurement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error(
        "this is not a latency file of straggler: it should be JSON that begins with \"format\": \"straggler latency\""
    )]
    NoFormat,
    #[error(
        "the file has version {version}, but this straggler reads up to {}: use a newer straggler",
        super::VERSION
    )]
    Newer { version: u32 },
    #[error("the file has version 0, which does not exist: it is damaged")]
    NoVersion,
    #[error("{0}")]
    Json(String),
    #[error("the file is truncated: copy it or measure again")]
    CutOff,
    #[error(
        "series: {bins} bins take more memory than the limit of {}: the file is damaged, or its bins are too fine: \
         measure with coarser --bins",
        super::file::MOST_BINS
    )]
    TooManyBins { bins: u64 },
    #[error("processes: rank {rank} appears twice or out of order")]
    Processes { rank: Rank },
    #[error("series: `{labels}` appears twice or out of order")]
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
