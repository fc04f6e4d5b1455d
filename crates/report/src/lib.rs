//! Presentation of results: readable numbers, aligned tables, pictures, reports, and files of finish times
//! and histograms. Everything here formats; nothing computes.

pub mod charts;
pub mod finish_times;
pub mod histograms;
pub mod numbers;
pub mod page;
mod prose;
pub mod study_results;
mod table;
mod visible;

pub use prose::{wrap_error, wrap_prose};
pub use straggler_model::replace::{
    ReplaceError, TemporaryFolder, refuse_missing_folder, replace_executable_file, replace_file,
    replace_private_file,
};
pub use table::{Cell, Columns, Table, fit_tables};
pub use visible::{visible, visible_name};

// One test program for the crate: unit tests beside the code, and in `tests` those of what the crate offers.
#[cfg(test)]
extern crate self as straggler_report;
#[cfg(test)]
#[path = "../tests/charts.rs"]
mod tests;
