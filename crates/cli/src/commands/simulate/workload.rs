//! What is simulated: a schedule in memory, or a collective or an application that is computed as it runs.

use crate::plan::collective::CollectivePlan;
use std::ops::Range;
use straggler_model::Rank;
use straggler_schedule::traced::Playback;
use straggler_schedule::workloads::Application;
use straggler_schedule::{Graph, Script};
use straggler_sim::outcome::RunError;
use straggler_sim::{Control, Nothing, Observer, Run, Simulation};

#[derive(Debug)]
pub enum Workload {
    /// A schedule and the name of its file.
    Graph {
        graph: Graph,
        name: String,
    },
    Collective(CollectivePlan),
    Application(Application),
    /// A traced program, replayed.
    Traced {
        playback: Playback,
        name: String,
    },
}

impl Workload {
    pub fn processes(&self) -> u32 {
        match self {
            Workload::Graph { graph, .. } => graph.processes(),
            Workload::Collective(plan) => plan.processes(),
            Workload::Application(application) => application.processes(),
            Workload::Traced { playback, .. } => playback.processes(),
        }
    }

    /// Messages of one run that comes to its end.
    pub fn expected_messages(&self) -> u64 {
        match self {
            Workload::Graph { graph, .. } => graph.messages(),
            Workload::Collective(plan) => plan.script().messages(),
            Workload::Application(application) => application.messages(),
            Workload::Traced { playback, .. } => playback.messages(),
        }
    }

    /// Operations of one run that comes to its end.
    pub fn expected_operations(&self) -> u64 {
        match self {
            Workload::Graph { graph, .. } => graph.operations(),
            Workload::Collective(plan) => plan.script().operations(),
            Workload::Application(application) => application.operations(),
            Workload::Traced { playback, .. } => playback.operations(),
        }
    }

    /// "an allreduce of 8 B", or the file.
    pub fn describe(&self) -> String {
        match self {
            Workload::Graph { name, .. } => name.clone(),
            Workload::Collective(plan) => plan.describe(),
            Workload::Application(application) => application.describe().to_string(),
            Workload::Traced { playback, name } => match playback.copies() {
                1 => format!("the trace {name}"),
                copies => format!("{copies} copies of the trace {name}"),
            },
        }
    }

    /// `allreduce:ring`, if it is a collective.
    pub fn collective(&self) -> Option<String> {
        match self {
            Workload::Graph { .. } | Workload::Application(_) | Workload::Traced { .. } => None,
            Workload::Collective(plan) => Some(plan.name()),
        }
    }

    /// Runs it with an engine that is compiled for this very collective.
    pub fn run(
        &self,
        simulation: &Simulation<'_>,
        control: &mut Control<'_>,
    ) -> Result<Run<Nothing>, RunError> {
        match self {
            Workload::Graph { graph, .. } => simulation.run_graph(graph, control, |_, _| Nothing),
            Workload::Collective(plan) => {
                simulation.run_collective(&plan.collective, plan.cycles, plan.compute, control)
            }
            Workload::Application(application) => simulation.run_application(application, control),
            Workload::Traced { playback, .. } => simulation.run_playback(playback, control, |_, _| Nothing),
        }
    }

    /// Runs it under the eyes of an observer. Which collective it is, is asked at every step: an
    /// observer costs more than that, and the engine is compiled once for all of them.
    pub fn run_observed<O: Observer>(
        &self,
        simulation: &Simulation<'_>,
        control: &mut Control<'_>,
        observer: impl FnMut(u32, Range<Rank>) -> O,
    ) -> Result<Run<O>, RunError> {
        match self {
            Workload::Graph { graph, .. } => simulation.run_graph(graph, control, observer),
            Workload::Collective(plan) => simulation.run_script(&plan.script(), control, observer),
            Workload::Application(application) => simulation.run_script(application, control, observer),
            Workload::Traced { playback, .. } => simulation.run_playback(playback, control, observer),
        }
    }
}
