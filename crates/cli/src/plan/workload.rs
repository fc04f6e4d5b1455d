//! A workload that was asked for.

use crate::args::collective::DataOptions;
use crate::args::workload::WorkloadOptions;
use crate::exit::{Failure, Outcome};
use straggler_schedule::workloads::{Only, Workload};

/// What was asked for, before a table of algorithms is read.
#[derive(Clone, Debug)]
pub struct ApplicationRequest {
    pub workload: Workload,
    pub processes: u32,
    pub only: Only,
    /// The table that finds the algorithms of its collectives.
    pub algorithms: Option<String>,
    pub idempotent: bool,
}

impl ApplicationRequest {
    /// What was told, if that was a workload.
    pub fn new(
        typed: &WorkloadOptions,
        processes: Option<u32>,
        data: &DataOptions,
    ) -> Outcome<Option<ApplicationRequest>> {
        let Some(workload) = &typed.workload else { return Ok(None) };
        let Some(processes) = processes else {
            return Err(Failure::usage("--workload needs to know on how many --processes"));
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
