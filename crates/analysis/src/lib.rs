//! What a run means.

pub mod critical_path;
pub mod noise;
pub mod recovery;

pub use critical_path::{CriticalPath, Recorder};
