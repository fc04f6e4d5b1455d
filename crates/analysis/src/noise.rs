//! What a recording of noise says.
pub mod overhead;
pub mod spectrum;
mod chance;
mod slots;
