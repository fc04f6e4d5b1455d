//! Where the tables of public jobs are.

use std::io::Write;
use std::path::PathBuf;

/// What STRAGGLER_TRAINING_JOBS says. Without it the test that asks is skipped, which is said on stderr.
pub fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("STRAGGLER_TRAINING_JOBS").map(PathBuf::from);
    if folder.is_none() {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("a test");
        // Not by a macro, whose lines are kept back for tests that pass.
        let _ = writeln!(
            std::io::stderr(),
            "{name} is skipped: set STRAGGLER_TRAINING_JOBS to the folder of the public jobs"
        );
    }
    folder
}
