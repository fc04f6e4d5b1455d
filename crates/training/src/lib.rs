//! Training jobs on many GPUs: what slows them down, and what it costs.
//!
//! ```text
//! table of operations (Parquet, CSV) ─► Table: rows, faults ─┬─► derive ──┐
//! files of profilers ─► import ──────────────────────────────┼────────────┴─► Job ─► exact: a graph for every step ─► Answers
//! meta.yaml ─► Meta ─────────────────────────────────────────┴─► published: one graph for all ──────────────────────► Answers
//! ```
//! Results are data; `phrases` makes sentences of causes.
//!
//! A *worker* is a data-parallel rank of a pipeline stage. Workers of a tensor-parallel group are recorded as one.

mod clocks;
pub mod derive;
pub mod exact;
mod files;
pub mod graph;
mod import;
mod impossible;
mod job;
mod lines;
pub mod locations;
mod meta;
mod operation;
pub mod phrases;
pub mod published;
mod recording;
pub mod synthetic;
mod table;
mod times;
mod traced;
pub mod whatif;
mod words;

use straggler_model::stats::mean_of as mean;

pub use derive::rows;
pub use import::{ImportError, import};
pub use job::{Host, Job, KindInfo, Op, Role, Shape, Step, Worker};
pub use meta::{Meta, MetaError};
pub use operation::Kind;
pub use recording::{ReadError, holds_job, read_job};
pub use table::{
    Clock, Fault, Faults, Kineto, Row, Table, TableError, is_synthetic, read_table, read_tables, tables,
    write_csv, write_parquet,
};
pub use traced::{Size, Sizes, TracedError, trace};

// One test program for the crate: unit tests beside the code, and in `tests` those of what the crate offers.
#[cfg(test)]
extern crate self as straggler_training;
#[cfg(test)]
#[path = "../tests/training.rs"]
mod tests;
