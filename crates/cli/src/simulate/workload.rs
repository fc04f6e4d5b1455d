//! Workloads: as typed, and as simulated with a description.

use crate::kernel::prelude::*;
use crate::simulate::collective::{CollectivePlan, DataOptions};
use std::{cell::RefCell, sync::Arc};
use straggler_schedule::workloads::{self, Application, Only, choose_default};
use straggler_schedule::{Graph, collectives::Selector, traced::Playback};
use straggler_sim::Workload;

/// A workload, instead of a collective or a file.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct WorkloadOptions {
    /// An application: amg, cycles, halo2d, halo3d, master-worker, overlap, pop, sweep3d, training
    #[arg(long, value_name = "NAME[,PARAMETER=VALUE…]")]
    #[arg(conflicts_with_all = ["collective", "size", "sizes", "cycles", "compute", "root", "reduction_cost"])]
    pub workload: Option<workloads::Workload>,
    /// Keep only this kind of communication
    #[arg(long, value_enum, value_name = "KIND")]
    pub only: Option<TypedOnly>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TypedOnly {
    /// Point-to-point messages
    P2p,
    /// Collective operations
    Collectives,
}

impl WorkloadOptions {
    /// Everything, unless a kind is named.
    pub fn only(&self) -> Only {
        match self.only {
            None => Only::All,
            Some(TypedOnly::P2p) => Only::P2p,
            Some(TypedOnly::Collectives) => Only::Collectives,
        }
    }
}

/// The workload as requested, before a table of algorithms is read.
#[derive(Clone, Debug)]
pub struct ApplicationRequest {
    pub workload: workloads::Workload,
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

/// A workload with its names.
#[derive(Clone, Debug)]
pub struct Named {
    pub workload: Workload,
    /// "an allreduce of 8 B", or the file.
    pub description: String,
    /// `allreduce:ring`, if it is a collective.
    pub collective: Option<String>,
}

impl Named {
    pub fn graph(graph: Graph, path: &Path) -> Named {
        Named { workload: graph.into(), description: path.display().to_string(), collective: None }
    }

    pub fn collective(plan: &CollectivePlan) -> Named {
        Named { workload: plan.workload(), description: plan.describe(), collective: Some(plan.name()) }
    }

    pub fn application(application: Application) -> Named {
        let description = application.describe().to_string();
        Named { workload: application.into(), description, collective: None }
    }

    pub fn traced(playback: Arc<Playback>, path: &Path) -> Named {
        let description = match playback.copies() {
            1 => format!("the trace {}", path.display()),
            copies => format!("{copies} copies of the trace {}", path.display()),
        };
        Named { workload: Workload::Traced(playback), description, collective: None }
    }

    pub fn processes(&self) -> u32 {
        self.workload.processes()
    }
}
