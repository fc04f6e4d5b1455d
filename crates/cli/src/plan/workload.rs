//! A workload that can be run.

use crate::args::workload::WorkloadOptions;
use crate::exit::{Failure, Outcome};
use std::sync::Arc;
use straggler_schedule::workloads::{Application, choose_default};

/// What was told, if that was a workload.
pub fn application(typed: &WorkloadOptions, processes: Option<u32>) -> Outcome<Option<Arc<Application>>> {
    let Some(workload) = &typed.workload else { return Ok(None) };
    let Some(processes) = processes else {
        return Err(Failure::usage("--workload needs to know on how many --processes"));
    };
    Ok(Some(Arc::new(workload.build(processes, typed.only(), &choose_default)?)))
}
