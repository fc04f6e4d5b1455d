//! Studies: simulations of many settings, each with many replicas.
//!
//! ```text
//!  TOML ─► Study ─► Plan (points, tasks, everything loaded) ─► Runner ─► Results
//!                                                              │  ▲
//!                                                              ▼  │ what is there already
//!                                                             Journal
//! ```
//! A [`Study`] describes what to run. A [`Plan`] is the study with every file read and every schedule built: its
//! points in their canonical order, and the tasks to run for them. Equal points share one task, and so do the
//! noiseless runs of all points with the same schedule, network and latencies. The [`StudyRunner`] keeps all threads
//! busy and returns results in batches, which a [`Journal`] stores. Random numbers are keyed by seed, replica, rank
//! and source, so they depend neither on threads nor on the order of batches.

mod accelerate;
mod build;
mod crew;
mod inputs;
pub(crate) mod journal;
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

/// Incremented when a change of the model changes results, so that old and new results are never mixed.
pub const MODEL_VERSION: u32 = 1;
