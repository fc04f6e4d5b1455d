//! Why a workload cannot be built.

use crate::collectives::CollectiveError;
use straggler_model::spelling::{hint, hint_of_list};

/// Why a workload cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WorkloadError {
    #[error("unknown workload `{name}` (known: {known}){}", hint_of_list(.name, .known))]
    Unknown { name: String, known: String },
    #[error(
        "`{text}` is not a parameter of {workload}: write NAME=VALUE with one of {known}{}", hint(*.nearest)
    )]
    Parameter { workload: &'static str, text: String, known: String, nearest: Option<&'static str> },
    #[error("{workload}: {parameter} is given twice: remove one")]
    Twice { workload: &'static str, parameter: &'static str },
    #[error("{workload}: {parameter}={value}: {mend}")]
    Value { workload: &'static str, parameter: &'static str, value: String, mend: String },
    #[error("{workload} cannot run on {processes} processes: {mend}")]
    Processes { workload: &'static str, processes: u32, mend: String },
    #[error("{workload} has more than {} phases: give fewer iterations", super::MOST_PHASES)]
    TooLong { workload: &'static str },
    #[error(transparent)]
    Collective(#[from] CollectiveError),
}
