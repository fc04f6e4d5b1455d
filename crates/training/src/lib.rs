//! Training jobs on many GPUs: who held them up, and what that cost.
//!
//! ```text
//! table of operations (Parquet, CSV) ─► Vec<Row> ─► Job: operations × (step, data-parallel rank)
//! meta.yaml ─► Meta ───────────────────────────────┤
//!                                                  └─► published: one graph ─► replays ─► Answers
//! ```
//! A *worker* is a data-parallel rank of a pipeline stage. Workers of a tensor-parallel group are recorded as one.

pub mod derive;
pub mod exact;
pub mod graph;
mod import;
mod job;
mod meta;
mod operation;
pub mod published;
pub mod synthetic;
mod table;
mod traced;

pub use derive::rows;
pub use import::{ImportError, import};
pub use job::{Job, KindInfo, Op, Role, Shape, Step, Worker};
pub use meta::{Meta, MetaError};
pub use operation::Kind;
pub use table::{Kineto, Row, TableError, read_table, write_csv};
pub use traced::{Sizes, TracedError, trace};
