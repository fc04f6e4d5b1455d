//! The observers that engines are compiled with.

pub mod recorder;
mod timeline;
mod watcher;

pub use recorder::Recorder;
pub use timeline::{Selection, TimelineObserver};
pub(crate) use watcher::Watcher;
