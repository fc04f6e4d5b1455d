//! Formats of other programs: traces from OTF2, DUMPI, liballprof and SimGrid, archives for OTF2, timelines for Chrome
//! and Perfetto. Straggler's own format is beside the trace, in `straggler_trace::format`.
//!
//! [`import`] recognises a format and returns a [`Trace`](straggler_trace::Trace); the writers take one, or a
//! [`Timeline`](straggler_trace::Timeline).

pub mod chrome;
pub mod import;
pub mod otf2;
pub mod perfetto;

// One test program for the crate: unit tests beside the code, and in `tests` those of what the crate offers.
#[cfg(test)]
extern crate self as straggler_formats;
#[cfg(test)]
#[path = "../tests/formats.rs"]
mod tests;
