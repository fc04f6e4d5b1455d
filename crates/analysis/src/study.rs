//! Studies: many simulations of many settings, each in many replicas.
//!
//! ```text
//!  TOML ─► Study ─► Plan (points, tasks, everything loaded) ─► Runner ─► Results
//!                                                              │  ▲
//!                                                              ▼  │ what is there already
//!                                                             Journal
//! ```
//! A [`Study`] says what is to be run, a [`Plan`] is that with every file read and every schedule built: its
//! points in their canonical order, and the tasks that must be run for them. Points that are the same are one
//! task, and so is the noiseless run of all points with one schedule and one network. The [`StudyRunner`] keeps all
//! threads busy, and hands out what it finds in batches, which a [`Journal`] keeps. Numbers are keyed by seed,
//! replica, rank and source, so they depend neither on threads nor on the order in which batches come.

mod accelerate;
mod build;
mod crew;
mod inputs;
pub mod journal;
mod latencies;
mod lines;
mod plan;
mod programs;
mod run;
mod schedule_error;
mod schedules;
mod spec;
mod summary;
mod track;
mod values;

pub use journal::{Batch, Journal, JournalError, Opened};
pub use plan::{Needs, Plan, PlanError, Point, Task};
pub use programs::Fitted;
pub use run::{Fault, StudyRunError, StudyRunner};
pub use spec::{DEFAULT_REPLICAS, FIT, SpecError, Study, Sweep};
pub use straggler_model::study::{Coordinates, PointResult, Results};
pub use summary::{Series, Summary, series};
pub use track::{Tracks, checkpoint_after};
pub use values::share;

/// Raised when a change of the model changes numbers, so that results of before and after are never mixed.
pub const MODEL_VERSION: u32 = 1;
