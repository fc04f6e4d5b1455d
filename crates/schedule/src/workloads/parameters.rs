//! The parameters of workloads: definitions, given values, and their meaning.

use super::computation::{Computation, Imbalance};
use super::error::WorkloadError;
use super::grid::Grid;
use super::parts::Part;
use crate::collectives::{Algorithm, Job, Operation};
use straggler_model::{Rank, Time, units};

/// A parameter of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Parameter {
    pub name: &'static str,
    /// The default, as the user would write it.
    pub default: &'static str,
    #[serde(rename = "text")]
    pub meaning: &'static str,
}

/// Short constructor for tables.
pub(super) const fn parameter(name: &'static str, default: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, default, meaning }
}

pub(super) const IMBALANCE: Parameter =
    parameter("imbalance", "0", "relative spread of computation times: 0.1 is plus or minus 10 %");
pub(super) const SEED: Parameter = parameter("seed", "1", "random seed of the imbalance");
pub(super) const GRID: Parameter = parameter(
    "grid",
    "even",
    "the process grid, 16x8 or 8x4x4; even: as close to a square or cube as possible",
);

/// Chooses the algorithm of an operation.
pub type Choose<'a> = dyn Fn(Operation, &Job) -> Algorithm + 'a;

/// Everything a workload is built from.
pub(super) struct Setting<'a> {
    pub workload: &'static str,
    pub parameters: &'static [Parameter],
    /// Given parameters: names from the table, and values as typed.
    pub given: &'a [(&'static str, String)],
    pub processes: u32,
    pub choose: &'a Choose<'a>,
}

impl Setting<'_> {
    /// The given value, or the default.
    pub fn text(&self, name: &'static str) -> &str {
        let default = self.parameters.iter().find(|parameter| parameter.name == name);
        let given = self.given.iter().find(|(given, _)| *given == name);
        given.map_or_else(|| default.map_or("", |parameter| parameter.default), |(_, text)| text)
    }

    pub fn wrong(&self, name: &'static str, mend: impl Into<String>) -> WorkloadError {
        WorkloadError::Value {
            workload: self.workload,
            parameter: name,
            value: self.text(name).to_string(),
            mend: mend.into(),
        }
    }

    /// Parses a whole number.
    pub fn number(&self, name: &'static str) -> Result<u32, WorkloadError> {
        let number = units::count(self.text(name)).and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| self.wrong(name, "give a whole number below 2^32"))
    }

    /// Parses a whole number that is not 0.
    pub fn count(&self, name: &'static str) -> Result<u32, WorkloadError> {
        match self.number(name)? {
            0 => Err(self.wrong(name, "give at least 1")),
            count => Ok(count),
        }
    }

    pub fn time(&self, name: &'static str) -> Result<Time, WorkloadError> {
        units::time(self.text(name)).map_err(|fault| self.wrong(name, fault.to_string()))
    }

    pub fn bytes(&self, name: &'static str) -> Result<u64, WorkloadError> {
        units::bytes(self.text(name)).map_err(|fault| self.wrong(name, fault.to_string()))
    }

    /// Parses a share between 0 and 1, into millionths.
    pub fn share(&self, name: &'static str) -> Result<u32, WorkloadError> {
        let share: Option<f64> = self.text(name).parse().ok();
        let share = share.filter(|share| (0.0..=1.0).contains(share));
        let share = share.ok_or_else(|| self.wrong(name, "give a number from 0 to 1"))?;
        Ok((share * 1e6).round() as u32)
    }

    /// Parses one of some words. Returns its index.
    pub fn word(&self, name: &'static str, words: &[&str]) -> Result<usize, WorkloadError> {
        let place = words.iter().position(|word| *word == self.text(name));
        place.ok_or_else(|| self.wrong(name, format!("write {}", words.join(" or "))))
    }

    /// A computation with the workload's imbalance.
    pub fn computation(&self, name: &'static str) -> Result<Computation, WorkloadError> {
        Ok(Computation { time: self.time(name)?, imbalance: self.imbalance()? })
    }

    pub fn imbalance(&self) -> Result<Imbalance, WorkloadError> {
        let seed = units::count(self.text("seed"));
        let seed = seed.ok_or_else(|| self.wrong("seed", "give a whole number below 2^64"))?;
        Ok(Imbalance { spread: self.share("imbalance")?, seed })
    }

    /// The process grid: as given, or as even as possible.
    pub fn grid(&self, dimensions: u32) -> Result<Grid, WorkloadError> {
        let text = self.text("grid");
        let grid = if text == "even" {
            Grid::most_even(self.processes, dimensions)
        } else {
            self.typed_extents(text, dimensions)?
        };
        let fits = grid.filter(|grid| grid.places() == self.processes);
        fits.ok_or_else(|| {
            let even = Grid::most_even(self.processes, dimensions);
            let even = even.map_or_else(String::new, |grid| format!(", for example grid={grid}"));
            let processes = self.processes;
            self.wrong("grid", format!("the product of the extents must be {processes} processes{even}"))
        })
    }

    fn typed_extents(&self, text: &str, dimensions: u32) -> Result<Option<Grid>, WorkloadError> {
        let extents: Result<Vec<u32>, _> = text.split('x').map(str::parse).collect();
        match (extents.as_deref(), dimensions) {
            (Ok(&[x, y]), 2) => Ok(Grid::new([x, y, 1])),
            (Ok(&[x, y, z]), 3) => Ok(Grid::new([x, y, z])),
            (_, 2) => Err(self.wrong("grid", "write two extents like 16x8")),
            _ => Err(self.wrong("grid", "write three extents like 8x4x4")),
        }
    }

    /// Builds a collective over all processes.
    pub fn collective(&self, operation: Operation, bytes: u64, root: Rank) -> Result<Part, WorkloadError> {
        let job = Job { root, ..Job::new(self.processes, bytes) };
        let algorithm = (self.choose)(operation, &job);
        Ok(Part::Collective(algorithm.build(operation, &job)?))
    }
}
