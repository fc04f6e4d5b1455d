//! What all commands share: exit codes, output, limits, typed values, progress.

pub mod allocator;
pub mod checks;
pub mod console;
pub mod defaults;
pub mod devices;
pub mod exit;
pub mod findings;
pub mod gates;
pub mod interrupt;
pub mod invocation;
pub mod memory;
pub mod meter;
pub mod outputs;
pub mod pages;
pub mod typed;
pub mod valid;
