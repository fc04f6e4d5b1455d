//! Whether a trace fits into memory, with what a command does with it.

use super::{Opened, open_trace};
use crate::exit::{Failure, Outcome};
use crate::memory::{available_bytes, resident_bytes};
use std::path::Path;
use straggler_report::numbers::{counted, memory};
use straggler_trace::format::directory;

/// What a command does with a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    Show,
    Waits,
    Check,
    Simulate,
    WhatIf,
    Search,
}

impl Work {
    /// The most memory it takes per call, the trace included: measured with 8 million calls.
    fn bytes_per_call(self) -> u64 {
        match self {
            Work::Show => 133,
            Work::Waits => 148,
            Work::Check => 184,
            Work::Simulate => 248,
            Work::WhatIf => 263,
            Work::Search => 334,
        }
    }
}

/// A record of straggler's format takes at most this many bytes on average.
const BYTES_OF_A_RECORD: u64 = 20;

/// Reads a trace, unless it takes more memory than there is: first by the size of its files, then by its calls.
pub fn open_trace_for(path: &Path, work: Work) -> Outcome<Opened> {
    let files = if directory::is_trace(path) { directory::files(path).unwrap_or_default() } else { Vec::new() };
    let bytes: u64 = files.iter().filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    refuse_too_long(path, bytes / BYTES_OF_A_RECORD, work, room())?;
    let opened = open_trace(path)?;
    refuse_too_long(path, opened.trace.calls(), work, room())?;
    Ok(opened)
}

/// All memory that this process may use, if the system reports it.
fn room() -> Option<u64> {
    Some(available_bytes()?.saturating_add(resident_bytes()?))
}

fn refuse_too_long(path: &Path, calls: u64, work: Work, room: Option<u64>) -> Outcome<()> {
    let needed = calls.saturating_mul(work.bytes_per_call());
    match room {
        Some(room) if needed > room => {
            Err(Failure::usage(format!(
                "{}: at least {} take about {} of memory, but only {} are available: use a machine with more, or \
                 record less of the run (MPI_Pcontrol)",
                path.display(),
                counted(calls, "call", "calls"),
                memory(needed),
                memory(room)
            )))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_that_do_not_fit_are_refused() {
        let refused = |calls, work| refuse_too_long(Path::new("run"), calls, work, Some(2 << 30));
        assert!(refused(6_000_000, Work::Search).is_ok());
        assert!(refused(8_000_000, Work::Waits).is_ok());
        let failure = refused(8_000_000, Work::Search).unwrap_err();
        let text = format!("{:#}", failure.error);
        assert!(text.starts_with("run: at least 8,000,000 calls take about"), "{text}");
        assert!(refuse_too_long(Path::new("run"), u64::MAX, Work::Show, None).is_ok());
    }
}
