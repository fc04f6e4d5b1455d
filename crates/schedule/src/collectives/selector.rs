//! Selects the algorithm of a collective if the user names none, by rules on operation, size and
//! number of processes. The first matching rule decides.
//!
//! Rules are TOML, so that users can add tables for their own machines:
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
//! A condition that is not stated always holds. Rules can test three sizes: `bytes`, the size as the user
//! gives it, of a vector or one block (the mean, if blocks differ); `total`, the size of one block for every
//! rank; and `share`, the total divided by the number of processes. `idempotent = true` restricts a rule to
//! reductions for which counting a contribution twice does no harm. Even without it, a rule is skipped if its
//! algorithm counts contributions of a reduction twice, unless the caller allows that.

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

/// Rules in order; those of the base come after the selector's own.
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

    /// Parses the text of a rule file. `name` is used if the file does not give one.
    pub fn parse(text: &str, name: &str) -> Result<Selector, SelectorError> {
        file::read(text, name)
    }

    /// Loads a preset by name, or a file if the text ends in `.toml`.
    pub fn load(text: &str) -> Result<Selector, SelectorError> {
        if !text.ends_with(".toml") {
            return Selector::preset(text);
        }
        let path = path_of(text);
        let contents = std::fs::read_to_string(&path)
            .map_err(|fault| SelectorError::Unreadable { path: path.clone(), fault })?;
        Selector::parse(&contents, text).map_err(|fault| fault.in_file(&path))
    }

    /// All rules, in the order in which they are tried.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns the algorithm for a job. `idempotent` means that counting a contribution twice does
    /// no harm, as in a maximum.
    pub fn choose(
        &self,
        operation: Operation,
        job: &Job,
        idempotent: bool,
    ) -> Result<&Algorithm, SelectorError> {
        self.decide(operation, job, idempotent).map(|rule| &rule.algorithm)
    }

    /// Returns the rule that decides.
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

    /// Writes a file that reads back to these rules, including those of the base.
    pub fn to_toml(&self) -> String {
        file::write(self)
    }
}
