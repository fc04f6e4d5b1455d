//! What all commands share: exit codes, output, limits, typed values, progress. The names that most files need are in
//! the [`prelude`], the only module that is imported with `*`.

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

/// What a command needs to take arguments, to fail, and to print numbers, tables, pages and JSON.
pub mod prelude {
    pub use super::exit::unreadable;
    pub use super::{Check, Console, Exit, Failure, Meter, Orderly, Outcome, Valid};
    pub use super::{
        command_line, interrupt, pages, quoted, refuse_missing_folder, refuse_unwritable, to_json,
    };
    pub use clap::{Args, Subcommand, ValueEnum};
    pub use serde::{Deserialize, Serialize};
    pub use std::path::{Path, PathBuf};
    pub use std::time::Instant;
    pub use straggler_model::{Time, units::Bytes};
    pub use straggler_report::numbers::{counted, grouped, memory, percent, seconds, significant};
    pub use straggler_report::page::{Axis, Chart, Page, Section, Unit};
    pub use straggler_report::{Cell, Columns, Table, replace_file};
}
