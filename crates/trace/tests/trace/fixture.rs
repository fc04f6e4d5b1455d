//! Computed traces that are stored in the repository.

use std::path::Path;
use straggler_trace::format::{directory, save};
use straggler_trace::trace::Trace;

/// Checks that the files equal what the trace is written as, and read back as the trace. With
/// STRAGGLER_WRITE_FIXTURES they are written first.
pub fn assert_written(folder: &Path, made: &Trace) {
    let ranks = 0..made.ranks.len() as u32;
    if std::env::var_os("STRAGGLER_WRITE_FIXTURES").is_some() {
        std::fs::create_dir_all(folder).unwrap();
        for rank in ranks.clone() {
            std::fs::write(folder.join(directory::file_name(rank)), save::stream(made, rank)).unwrap();
        }
    }
    for rank in ranks {
        let there = std::fs::read(folder.join(directory::file_name(rank))).unwrap();
        assert_eq!(there, save::stream(made, rank), "rank {rank}");
    }
    let (read, findings) = directory::open(folder).unwrap();
    assert_eq!(findings, []);
    assert_eq!(&read, made);
}
