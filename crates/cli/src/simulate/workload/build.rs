//! The simulated workload and its description.

use crate::simulate::collective::CollectivePlan;
use std::path::Path;
use std::sync::Arc;
use straggler_schedule::Graph;
use straggler_schedule::traced::Playback;
use straggler_schedule::workloads::Application;
use straggler_sim::Workload;

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
