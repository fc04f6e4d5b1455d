//! The options of a workload, validated.

use crate::args::collective::DataOptions;
use crate::args::workload::WorkloadOptions;
use crate::exit::{Failure, Outcome};
use straggler_schedule::workloads::{Only, Workload};

/// The workload as requested, before a table of algorithms is read.
#[derive(Clone, Debug)]
pub struct ApplicationRequest {
    pub workload: Workload,
    pub processes: u32,
    pub only: Only,
    /// The table that selects the algorithms of its collectives.
    pub algorithms: Option<String>,
    pub idempotent: bool,
}

impl ApplicationRequest {
    /// The workload, if one was given.
    pub fn new(
        typed: &WorkloadOptions,
        processes: Option<u32>,
        data: &DataOptions,
    ) -> Outcome<Option<ApplicationRequest>> {
        let Some(workload) = &typed.workload else { return Ok(None) };
        let Some(processes) = processes else {
            return Err(Failure::usage("--workload needs --processes"));
        };
        Ok(Some(ApplicationRequest {
            workload: workload.clone(),
            processes,
            only: typed.only(),
            algorithms: data.algorithms.clone(),
            idempotent: data.idempotent,
        }))
    }
}
