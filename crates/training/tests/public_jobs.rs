//! Finds the tables of public jobs.

use std::io::Write;
use std::path::PathBuf;

/// The folder in STRAGGLER_TRAINING_JOBS. Without it, the calling test is skipped, with a message on stderr.
pub fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("STRAGGLER_TRAINING_JOBS").map(PathBuf::from);
    if folder.is_none() {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("a test");
        // Not with `eprintln!`, whose output is captured for tests that pass.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: {name}, as STRAGGLER_TRAINING_JOBS does not name the folder of the public jobs"
        );
    }
    folder
}
