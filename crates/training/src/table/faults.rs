//! Rows that cannot be used. One of an operation that is not known is left out alone; another leaves its whole step out, for
//! others may have waited for what it was.

use super::TableError;
use crate::words::{left_out, listed};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// A value that a row cannot have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    pub column: &'static str,
    pub value: String,
    pub why: &'static str,
}

impl Wrong {
    pub const UNKNOWN: &'static str = "is no operation that is known";
}

/// A row that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub path: PathBuf,
    /// Counted from 1, without the header.
    pub row: usize,
    /// Where they can be read.
    pub step: Option<i64>,
    pub rank: Option<i64>,
    pub wrong: Wrong,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: row {}", self.path.display(), self.row)?;
        match (self.step, self.rank) {
            (Some(step), Some(rank)) => write!(f, " (step {step}, rank {rank})")?,
            (Some(step), None) => write!(f, " (step {step})")?,
            _ => {}
        }
        let Wrong { column, value, why } = &self.wrong;
        write!(f, ": {column} is `{value}`, which {why}")
    }
}

/// What is wrong with a table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    /// Operations that are not known: how many rows of each.
    unknown: BTreeMap<String, u64>,
    first_unknown: Option<Fault>,
    /// Other rows that cannot be used, and their steps.
    wrong: u64,
    first_wrong: Option<Fault>,
    steps: BTreeSet<i64>,
    /// Files that end within a row, and the step that it belongs to.
    cut: Vec<(PathBuf, Option<i64>)>,
    /// Files without rows.
    silent: Vec<PathBuf>,
    /// Files that cannot be read, with a sentence about each.
    unreadable: Vec<(PathBuf, String)>,
}

impl Faults {
    /// Adds a row that cannot be used.
    ///
    /// # Errors
    /// Its step is not known, so that it cannot be left out.
    pub(super) fn add(&mut self, fault: Fault) -> Result<(), TableError> {
        if fault.wrong.why == Wrong::UNKNOWN {
            *self.unknown.entry(fault.wrong.value.clone()).or_default() += 1;
            self.first_unknown.get_or_insert(fault);
            return Ok(());
        }
        let Some(step) = fault.step else { return Err(TableError::Row(fault.into())) };
        self.steps.insert(step);
        self.wrong += 1;
        self.first_wrong.get_or_insert(fault);
        Ok(())
    }

    /// A file ends within a row. Without a step of its own it belongs to that of the row before, or follows it.
    pub(super) fn cut(&mut self, path: PathBuf, step: Option<i64>) {
        self.steps.extend(step);
        self.cut.push((path, step));
    }

    /// A file has no rows.
    pub(super) fn silent(&mut self, path: PathBuf) {
        self.silent.push(path);
    }

    /// Files that cannot be read, and why.
    pub(super) fn unreadable(&mut self, errors: &[(PathBuf, TableError)]) {
        self.unreadable.extend(errors.iter().map(|(path, error)| (path.clone(), left_out(error))));
    }

    pub(super) fn append(&mut self, other: Faults) {
        for (name, count) in other.unknown {
            *self.unknown.entry(name).or_default() += count;
        }
        self.first_unknown = self.first_unknown.take().or(other.first_unknown);
        self.wrong += other.wrong;
        self.first_wrong = self.first_wrong.take().or(other.first_wrong);
        self.steps.extend(other.steps);
        self.cut.extend(other.cut);
        self.silent.extend(other.silent);
        self.unreadable.extend(other.unreadable);
    }

    /// Whether there are operations that are not known.
    pub fn has_unknown(&self) -> bool {
        self.first_unknown.is_some()
    }

    /// Whether a file could not be read.
    pub fn is_unreadable(&self, path: &Path) -> bool {
        self.unreadable.iter().any(|(unreadable, _)| unreadable == path)
    }

    /// Whether any step is not analysed.
    pub fn leaves_any_out(&self) -> bool {
        !self.steps.is_empty()
    }

    /// How many steps are not analysed.
    pub fn left_out(&self) -> usize {
        self.steps.len()
    }

    /// Whether a step is not analysed.
    pub fn leaves_out(&self, step: i64) -> bool {
        self.steps.contains(&step)
    }

    /// A row that cannot be used, where there is one.
    pub fn first(&self) -> Option<&Fault> {
        self.first_wrong.as_ref().or(self.first_unknown.as_ref())
    }

    /// Sentences about what was left out.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.unreadable.iter().map(|(_, note)| note.clone()).collect();
        if let Some(first) = &self.first_unknown {
            let rows: u64 = self.unknown.values().sum();
            let names = self.unknown.keys().map(|name| format!("`{name}`"));
            notes.push(format!(
                "{rows} {} not read, of operations that are not known: {} (first: {first}). What waits for them seems to \
                 start late, and nobody is blamed for late starts",
                if rows == 1 { "row was" } else { "rows were" },
                listed(names)
            ));
        }
        if let Some(first) = &self.first_wrong {
            notes.push(format!(
                "{} {} cannot be true; the first: {first}",
                self.wrong,
                if self.wrong == 1 { "row" } else { "rows" },
            ));
        }
        for (path, step) in &self.cut {
            let of = step.map(|step| format!(" of step {step}")).unwrap_or_default();
            notes.push(format!("{}: ends within a row{of}: was the recorder killed?", path.display()));
        }
        for path in &self.silent {
            notes.push(format!(
                "{}: has no rows: did its rank end before the recorder wrote any? What it did is not known",
                path.display()
            ));
        }
        if !self.steps.is_empty() {
            notes.push(format!(
                "left out, because of such rows: {} {}",
                if self.steps.len() == 1 { "step" } else { "steps" },
                listed(self.steps.iter().map(i64::to_string))
            ));
        }
        notes
    }
}
