//! What all commands share: exit codes, output, limits, typed values, progress. The names that most commands need are
//! re-exported here.

pub mod console;
pub mod defaults;
pub mod devices;
pub mod exit;
pub mod gates;
pub mod interrupt;
pub mod memory;
pub mod meter;
pub mod metrics;
pub mod pages;
pub mod typed;

pub use console::{Console, to_json};
pub use exit::{Exit, Failure, Outcome};
pub use interrupt::Orderly;
pub use meter::Meter;
pub use pages::{command_line, quoted, refuse_missing_folder, refuse_unwritable};
pub use typed::{Check, Valid};
