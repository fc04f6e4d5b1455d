//! What a run means.

pub mod critical_path;

pub use critical_path::{CriticalPath, Recorder};
