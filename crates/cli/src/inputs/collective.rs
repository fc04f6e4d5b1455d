//! Builds the collective that was requested, with an algorithm from a table unless one is named.

use crate::exit::Outcome;
use crate::plan::collective::{CollectivePlan, CollectiveRequest};
use straggler_schedule::collectives::{Algorithm, Selector};

/// A collective, with warnings for the user.
#[derive(Debug)]
pub struct Chosen {
    pub plan: CollectivePlan,
    pub warnings: Vec<String>,
}

pub fn load(request: &CollectiveRequest) -> Outcome<Chosen> {
    let algorithm = match &request.algorithm {
        Some(algorithm) => algorithm.clone(),
        None => choose(request)?,
    };
    let warnings = request.warnings(&algorithm);
    Ok(Chosen { plan: request.build(algorithm)?, warnings })
}

fn choose(request: &CollectiveRequest) -> Outcome<Algorithm> {
    let table = request.algorithms.as_deref().unwrap_or(Selector::PRESETS[0]);
    let selector = Selector::load(table)?;
    Ok(selector.choose(request.operation, &request.job, request.idempotent)?.clone())
}
