//! Builds the workload that was requested.

use crate::exit::Outcome;
use crate::plan::workload::ApplicationRequest;
use std::cell::RefCell;
use straggler_schedule::collectives::Selector;
use straggler_schedule::workloads::{Application, choose_default};

pub fn load(request: &ApplicationRequest) -> Outcome<Application> {
    let table = request.algorithms.as_deref().unwrap_or(Selector::PRESETS[0]);
    let selector = Selector::load(table)?;
    let failed = RefCell::new(None);
    let application =
        request.workload.build(request.processes, request.only, &|operation, job| match selector.choose(
            operation,
            job,
            request.idempotent,
        ) {
            Ok(algorithm) => algorithm.clone(),
            Err(error) => {
                failed.replace(Some(error));
                choose_default(operation, job)
            }
        })?;
    match failed.into_inner() {
        Some(error) => Err(error.into()),
        None => Ok(application),
    }
}
