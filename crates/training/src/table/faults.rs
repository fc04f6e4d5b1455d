//! Invalid rows. A row of an unknown operation is left out. Any other invalid row leaves out its whole step, because other
//! operations may have waited for it.

use super::TableError;
use crate::Kind;
use crate::words::{left_out, list_up_to, listed};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use straggler_model::spelling::nearest;

/// An invalid value of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    pub column: &'static str,
    pub value: String,
    pub why: &'static str,
}

/// The names of known operations.
fn known() -> impl Iterator<Item = &'static str> {
    Kind::ALL.into_iter().map(Kind::name)
}

/// A file of something else may have a new name in every row: those after so many are counted together.
const MOST_NAMES: usize = 1000;
const OTHER_NAMES: &str = "…";
/// Longer values are truncated, in characters.
const LONGEST_VALUE: usize = 60;

impl Wrong {
    pub const UNKNOWN: &'static str = "is not a known operation";

    fn shorten(&mut self) {
        if let Some((end, _)) = self.value.char_indices().nth(LONGEST_VALUE) {
            self.value.truncate(end);
            self.value.push('…');
        }
    }
}

/// An invalid row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub path: PathBuf,
    /// Counted from 1, without the header.
    pub row: usize,
    /// `None` if they cannot be read.
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
    /// Unknown operations, and the number of rows of each.
    unknown: BTreeMap<String, u64>,
    first_unknown: Option<Fault>,
    /// The number of other invalid rows, and their steps.
    wrong: u64,
    first_wrong: Option<Fault>,
    steps: BTreeSet<i64>,
    /// Files that end in the middle of a row, and the step of that row.
    cut: Vec<(PathBuf, Option<i64>)>,
    /// Files without rows.
    silent: Vec<PathBuf>,
    /// Files that cannot be read, with a sentence about each.
    unreadable: Vec<(PathBuf, String)>,
}

impl Faults {
    /// Adds an invalid row.
    ///
    /// # Errors
    /// Its step is unknown and so cannot be left out.
    pub(super) fn add(&mut self, mut fault: Fault) -> Result<(), TableError> {
        fault.wrong.shorten();
        if fault.wrong.why == Wrong::UNKNOWN {
            let is_counted = self.unknown.len() < MOST_NAMES || self.unknown.contains_key(&fault.wrong.value);
            let name = if is_counted { fault.wrong.value.clone() } else { OTHER_NAMES.into() };
            *self.unknown.entry(name).or_default() += 1;
            self.first_unknown.get_or_insert(fault);
            return Ok(());
        }
        let Some(step) = fault.step else { return Err(TableError::Row(fault.into())) };
        self.steps.insert(step);
        self.wrong += 1;
        self.first_wrong.get_or_insert(fault);
        Ok(())
    }

    /// Adds a file that ends in the middle of a row. If the row has no step, it belongs to the step of the previous row, or to
    /// the next one.
    pub(super) fn cut(&mut self, path: PathBuf, step: Option<i64>) {
        self.steps.extend(step);
        self.cut.push((path, step));
    }

    /// Adds a file without rows.
    pub(super) fn silent(&mut self, path: PathBuf) {
        self.silent.push(path);
    }

    /// Adds files that cannot be read, and why.
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

    /// Whether there are unknown operations.
    pub fn has_unknown(&self) -> bool {
        self.first_unknown.is_some()
    }

    /// Whether a file could not be read.
    pub fn is_unreadable(&self, path: &Path) -> bool {
        self.unreadable.iter().any(|(unreadable, _)| unreadable == path)
    }

    /// Whether any step is left out.
    pub fn leaves_any_out(&self) -> bool {
        !self.steps.is_empty()
    }

    /// The number of steps left out.
    pub fn left_out(&self) -> usize {
        self.steps.len()
    }

    /// Whether a step is left out.
    pub fn leaves_out(&self, step: i64) -> bool {
        self.steps.contains(&step)
    }

    /// The first invalid row, if any. Rows of unknown operations come last.
    pub fn first(&self) -> Option<&Fault> {
        self.first_wrong.as_ref().or(self.first_unknown.as_ref())
    }

    /// Why no usable step is left.
    pub(super) fn why_nothing_is_left(&self) -> Option<String> {
        let cut = self.cut.first().map(|(path, step)| {
            let of = step.map(|step| format!(" of step {step}")).unwrap_or_default();
            format!(
                "{} ends in the middle of a row{of}, and no other step is complete. Was the recorder killed, or the file only \
                 partly copied? Record one step more than you need",
                path.display()
            )
        });
        self.first().map(Fault::to_string).or(cut)
    }

    /// Sentences about what was left out.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.unreadable.iter().map(|(_, note)| note.clone()).collect();
        if let Some(first) = &self.first_unknown {
            let rows: u64 = self.unknown.values().sum();
            let names = self.unknown.keys().map(|name| match nearest(name, known()) {
                Some(known) => format!("`{name}` (did you mean `{known}`?)"),
                None => format!("`{name}`"),
            });
            notes.push(format!(
                "{rows} {} not read because of unknown operations: {} (first: {first}). Operations that wait for them appear to \
                 start late, and late starts are not attributed to any rank. Known operations: {}",
                if rows == 1 { "row was" } else { "rows were" },
                listed(names),
                list_up_to(Kind::ALL.len(), &known().collect::<Vec<&str>>())
            ));
        }
        if let Some(first) = &self.first_wrong {
            notes.push(format!(
                "{} {} cannot be correct; the first: {first}",
                self.wrong,
                if self.wrong == 1 { "row" } else { "rows" },
            ));
        }
        for (path, step) in &self.cut {
            let of = step.map(|step| format!(" of step {step}")).unwrap_or_default();
            notes.push(format!(
                "{}: ends in the middle of a row{of}: was the recorder killed?",
                path.display()
            ));
        }
        for path in &self.silent {
            notes.push(format!(
                "{}: has no rows: did its rank exit before the recorder wrote any? What it did is unknown",
                path.display()
            ));
        }
        if !self.steps.is_empty() {
            notes.push(format!(
                "left out because of these rows: {} {}",
                if self.steps.len() == 1 { "step" } else { "steps" },
                listed(self.steps.iter().map(i64::to_string))
            ));
        }
        notes
    }
}
