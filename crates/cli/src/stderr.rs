//! Lines on stderr.

use std::io::{self, Write};
use straggler_report::visible;

/// Prints a line on stderr, without control characters. Errors of stderr (a full disk, a closed pipe) are ignored;
/// `eprintln!` would panic.
pub fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{}", visible(line));
}
