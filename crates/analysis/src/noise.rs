//! What a recording of noise says.
mod chance;
pub mod overhead;
mod slots;
pub mod spectrum;
