//! Whole applications, as implicit schedules: `NAME[,PARAMETER=VALUE…]`.
//!
//! A [`Workload`] is what the user asks for: one of the [`KINDS`] and some of its parameters. Built
//! for a number of processes, it becomes an [`Application`], a [`crate::Script`]: steps are
//! computed from rank and stage, so a workload takes no memory per process, message or iteration.
//! `pop`, `sweep3d` and `amg` make the calls of the three applications of T. Hoefler, T. Schneider
//! and A. Lumsdaine, "Characterizing the Influence of System Noise on Large-Scale Applications by
//! Simulation" (SC10), with about the same share of communication.
//!
//! A function chooses the algorithms of collectives inside a workload; [`choose_default`] takes
//! those of the paper.

mod amg;
pub(crate) mod computation;
mod cycles;
mod error;
pub(crate) mod grid;
mod grouped;
mod halo;
mod halo_exchange;
mod master_worker;
mod overlap;
mod overlapped;
mod parameters;
mod parts;
mod pipeline;
mod pop;
mod sweep;
mod sweep3d;
mod tasks;
#[cfg(test)]
mod tests;
mod training;

use crate::collectives::{Algorithm, Job, Name, Operation, Selector};
use std::fmt;
use std::str::FromStr;
use straggler_model::spelling::nearest;

pub use error::WorkloadError;
pub use grouped::Grouped;
pub use parameters::{Choose, Parameter};
pub use parts::{Application, Only, Part};

use parameters::Setting;

/// Limit on the phases of an application.
pub const MOST_PHASES: usize = parts::Builder::MOST_PHASES;

/// A kind of workload.
#[derive(Clone, Copy, serde::Serialize)]
pub struct Kind {
    pub name: &'static str,
    /// One-sentence description.
    #[serde(rename = "text")]
    pub summary: &'static str,
    pub parameters: &'static [Parameter],
    #[serde(skip)]
    build: fn(&Setting<'_>) -> Result<(parts::Builder, String), WorkloadError>,
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// All workloads, in the order in which they are listed.
pub static KINDS: &[Kind] = &[
    amg::KIND,
    cycles::KIND,
    halo_exchange::HALO_2D,
    halo_exchange::HALO_3D,
    master_worker::KIND,
    overlap::KIND,
    pop::KIND,
    sweep3d::KIND,
    training::KIND,
];

/// A workload and the parameters given for it.
#[derive(Clone, Debug)]
pub struct Workload {
    kind: &'static Kind,
    given: Vec<(&'static str, String)>,
}

impl PartialEq for Workload {
    fn eq(&self, other: &Workload) -> bool {
        self.kind.name == other.kind.name && self.given == other.given
    }
}

impl Workload {
    pub fn kind(&self) -> &'static Kind {
        self.kind
    }

    /// Builds the application for a number of processes.
    pub fn build(
        &self,
        processes: u32,
        only: Only,
        choose: &Choose<'_>,
    ) -> Result<Application, WorkloadError> {
        let Kind { name: workload, parameters, build, .. } = *self.kind;
        if processes == 0 {
            let mend = "give at least 1".to_string();
            return Err(WorkloadError::Processes { workload, processes, mend });
        }
        let setting = Setting { workload, parameters, given: &self.given, processes, choose };
        let (builder, description) = build(&setting)?;
        if builder.is_full() {
            return Err(WorkloadError::TooLong { workload });
        }
        Ok(builder.finish(processes, description).only(only))
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name)?;
        self.given.iter().try_for_each(|(name, value)| write!(f, ",{name}={value}"))
    }
}

impl FromStr for Workload {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Workload, WorkloadError> {
        let mut words = text.split(',');
        let name = words.next().unwrap_or_default();
        let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| WorkloadError::Unknown {
            name: name.to_string(),
            known: KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", "),
        })?;
        let mut given: Vec<(&'static str, String)> = Vec::new();
        for word in words {
            let (parameter, value) = parameter_of(kind, word)?;
            if given.iter().any(|(other, _)| *other == parameter) {
                return Err(WorkloadError::Twice { workload: kind.name, parameter });
            }
            given.push((parameter, value.to_string()));
        }
        Ok(Workload { kind, given })
    }
}

fn parameter_of<'a>(kind: &Kind, word: &'a str) -> Result<(&'static str, &'a str), WorkloadError> {
    let split = word.split_once('=');
    let known = split.and_then(|(name, value)| {
        kind.parameters.iter().find(|known| known.name == name).map(|known| (known.name, value))
    });
    known.ok_or_else(|| {
        let known = kind.parameters.iter().map(|known| format!("{}={}", known.name, known.default));
        let known = known.collect::<Vec<_>>().join(", ");
        let name = word.split('=').next().unwrap_or(word);
        let nearest = nearest(name, kind.parameters.iter().map(|known| known.name));
        WorkloadError::Parameter { workload: kind.name, text: word.to_string(), known, nearest }
    })
}

/// The algorithms of the paper, as in the preset `paper`: dissemination for small allreduces with
/// any number of processes, as if all were idempotent.
pub fn choose_default(operation: Operation, job: &Job) -> Algorithm {
    let preset = Selector::preset(Selector::PRESETS[0]).ok();
    let chosen = preset.and_then(|preset| preset.choose(operation, job, true).ok().cloned());
    // The preset covers everything; an operation without algorithms fails when it is built.
    chosen.unwrap_or_else(|| Name::Dissemination.into())
}
