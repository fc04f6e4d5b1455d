//! Work that several commands share.

pub mod measure;
pub mod study;
