//! The timeline of a run, simulated or measured, and its export.

pub mod chrome;
pub mod timeline;

pub use timeline::{Activity, Arrow, Kind, Lane, Timeline};
