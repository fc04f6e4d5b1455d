//! Observers that come with the engines.

mod timeline;

pub use timeline::{Selection, TimelineObserver};
