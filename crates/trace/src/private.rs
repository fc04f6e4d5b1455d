//! Files that only their owner may read: a trace holds the command line of a program and the names of its hosts.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// Writes a file. A new one is readable by its owner only; an existing one is overwritten and keeps its mode.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(bytes)
}
