//! A single stream given instead of its folder.

use crate::exit::Failure;
use std::path::Path;
use straggler_trace::Trace;

/// Rejects the stream of one rank if the run has others: it cannot be replayed alone.
pub fn refuse_one_of_many(path: &Path, trace: &Trace) -> Result<(), Failure> {
    let there = trace.ranks.iter().filter(|rank| !rank.calls.is_empty()).count();
    let folder = path.parent().filter(|_| path.is_file() && there == 1 && trace.processes() > 1);
    let Some(folder) = folder.filter(|folder| straggler_trace::format::directory::is_trace(folder)) else {
        return Ok(());
    };
    Err(Failure::bad_input(format!(
        "{} is the stream of one rank of {}: give the folder with all of them, {}",
        path.display(),
        trace.processes(),
        folder.display()
    )))
}
