//! Which algorithm a collective takes when the user names none: rules over operation, size and number of
//! processes, of which the first that fits decides.
//!
//! Rules are TOML, so that a machine's own table can stand beside the presets:
//! ```toml
//! version = 1
//! name = "my cluster"
//! base = "mpich"               # asked when no rule here fits; a preset
//!
//! [[rule]]
//! operation = "allreduce"      # or a list: ["gather", "scatter"]
//! bytes = "..=2KiB"            # "A..B" without B, "A..=B" with it; either end may be left out
//! processes = "8.."            # a single number is that number
//! power_of_two = true
//! algorithm = "recursive-doubling"
//! ```
//! What is not stated is not asked. Of a job's data three sizes can be asked for: `bytes`, the size as a
//! user gives it, a vector or one block (their mean where they differ); `total`, a block for every rank;
//! and `share`, the total divided by the processes. `idempotent = true` keeps a rule for reductions to
//! which counting twice makes no difference. Even without it no rule gives a reduction an algorithm that
//! counts contributions twice, unless the caller says that this is all right: the next rule is asked.

mod bounds;
mod error;
mod file;
mod rule;
#[cfg(test)]
mod tests;

pub use bounds::Bounds;
pub use error::{RuleFault, SelectorError};
pub use rule::{Rule, When};

use super::{Algorithm, Job, Operation};
use rule::Case;
use straggler_model::path_text::path_of;

/// Rules in their order, those of the base behind the selector's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selector {
    pub name: String,
    rules: Vec<Rule>,
}

/// The presets and their files.
const TEXTS: [(&str, &str); 3] = [
    ("paper", include_str!("selector/presets/paper.toml")),
    ("mpich", include_str!("selector/presets/mpich.toml")),
    ("open-mpi", include_str!("selector/presets/open-mpi.toml")),
];

impl Selector {
    /// The names of the presets; the first is the default.
    pub const PRESETS: [&str; 3] = [TEXTS[0].0, TEXTS[1].0, TEXTS[2].0];

    pub fn preset(name: &str) -> Result<Selector, SelectorError> {
        let text = Selector::preset_text(name).ok_or_else(|| SelectorError::unknown(name))?;
        file::read(text, name)
    }

    /// The file of a preset, with its comments.
    pub fn preset_text(name: &str) -> Option<&'static str> {
        TEXTS.into_iter().find(|(preset, _)| *preset == name).map(|(_, text)| text)
    }

    /// Rules from the text of a file. `name` is what they are called if the file does not say.
    pub fn parse(text: &str, name: &str) -> Result<Selector, SelectorError> {
        file::read(text, name)
    }

    /// A preset by its name, or a file if the name ends in `.toml`.
    pub fn load(text: &str) -> Result<Selector, SelectorError> {
        if !text.ends_with(".toml") {
            return Selector::preset(text);
        }
        let path = path_of(text);
        let contents = std::fs::read_to_string(&path)
            .map_err(|fault| SelectorError::Unreadable { path: path.clone(), fault })?;
        Selector::parse(&contents, text).map_err(|fault| fault.in_file(&path))
    }

    /// All rules, in the order in which they are asked.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The algorithm for a job. `idempotent` says that a contribution that is counted twice does no harm,
    /// as in a maximum.
    pub fn choose(
        &self,
        operation: Operation,
        job: &Job,
        idempotent: bool,
    ) -> Result<&Algorithm, SelectorError> {
        self.decide(operation, job, idempotent).map(|rule| &rule.algorithm)
    }

    /// The rule that decides.
    pub fn decide(&self, operation: Operation, job: &Job, idempotent: bool) -> Result<&Rule, SelectorError> {
        let case = Case::new(operation, job, idempotent);
        let mut fitting = self.rules.iter().filter(|rule| rule.fits(&case)).peekable();
        let inexact = fitting.peek().is_some();
        fitting.find(|rule| rule.may_decide(&case)).ok_or_else(|| SelectorError::NoRule {
            selector: self.name.clone(),
            operation,
            bytes: case.bytes,
            processes: job.processes,
            inexact,
        })
    }

    /// The text of a file that reads back to these rules, those of the base among them.
    pub fn to_toml(&self) -> String {
        file::write(self)
    }
}
