//! Errors in rule files.

use super::super::{AlgorithmError, Operation, UnknownOperation};
use super::Selector;
use super::bounds::BoundsFault;
use std::path::PathBuf;
use straggler_model::spelling::{hint, nearest};
use straggler_model::toml_file::TomlError;
use straggler_model::units::Bytes;

/// Why rules cannot be read, or choose no algorithm.
#[derive(Debug, thiserror::Error)]
pub enum SelectorError {
    #[error("the rules are invalid: {0}")]
    Toml(#[from] TomlError),
    #[error("the rules have version {found}, but this program reads version 1")]
    Version { found: u32 },
    #[error("line {line}, rule {rule}: {fault}")]
    Rule { line: usize, rule: usize, fault: Box<RuleFault> },
    #[error(
        "line {line}: the base `{base}` is not a preset (known: {}){}",
        Selector::PRESETS.join(", "),
        hint(nearest(base, Selector::PRESETS))
    )]
    Base { line: usize, base: String },
    #[error(
        "`{name}` is not a table of algorithms: give one of {} or a .toml file{}",
        Selector::PRESETS.join(", "),
        hint(nearest(name, Selector::PRESETS))
    )]
    Unknown { name: String },
    #[error("{path}: {fault}", path = .path.display())]
    InFile { path: PathBuf, fault: Box<SelectorError> },
    #[error("{path}: cannot be read: {fault}", path = .path.display())]
    Unreadable { path: PathBuf, fault: std::io::Error },
    #[error(
        "{selector} has no rule for {operation} of {size} over {processes} processes{why}: add one for {operation} \
         without conditions, or base = \"{base}\"",
        size = Bytes(*.bytes),
        why = if *.inexact { ", except algorithms that count contributions twice" } else { "" },
        base = Selector::PRESETS[0]
    )]
    NoRule { selector: String, operation: Operation, bytes: u64, processes: u32, inexact: bool },
}

/// Errors in a single rule.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RuleFault {
    #[error(transparent)]
    Operation(#[from] UnknownOperation),
    #[error("the operation is missing: write operation = \"allreduce\", or a list of several")]
    NoOperation,
    #[error(transparent)]
    Algorithm(#[from] AlgorithmError),
    #[error("{key} = \"{text}\" is not a range: {fault}; write one like {example}")]
    Bounds { key: &'static str, text: String, fault: BoundsFault, example: &'static str },
    #[error("{operation} combines no data: remove idempotent")]
    CombinesNothing { operation: Operation },
}

impl SelectorError {
    pub(super) fn unknown(name: &str) -> SelectorError {
        SelectorError::Unknown { name: name.to_string() }
    }

    pub(super) fn in_file(self, path: &std::path::Path) -> SelectorError {
        SelectorError::InFile { path: path.into(), fault: Box::new(self) }
    }
}
