//! Observers that come with the engines: the only ones that engines are compiled with.

pub mod recorder;
mod timeline;

pub use recorder::Recorder;
pub use timeline::{Selection, TimelineObserver};
