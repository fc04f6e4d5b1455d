//! Workloads: one type for everything that the engines can simulate.

use crate::program::Program;
use crate::programs::Butterfly;
use std::fmt;
use std::sync::Arc;
use straggler_model::Time;
use straggler_schedule::collectives::Collective;
use straggler_schedule::steps::Steps;
use straggler_schedule::traced::Playback;
use straggler_schedule::workloads::Application;
use straggler_schedule::{Cycles, Graph, Script};

/// What a simulation runs. Clones share large data.
#[derive(Clone)]
pub enum Workload {
    /// A materialised schedule, as a GOAL file holds it.
    Graph(Arc<Graph>),
    /// A collective, `cycles` times, each time after `compute` of computation.
    Collective { collective: Collective, cycles: u32, compute: Time },
    /// A whole application.
    Application(Arc<Application>),
    /// A traced program, in as many copies as the playback asks for.
    Traced(Arc<Playback>),
    /// The redundant butterfly in cycles.
    Butterfly(Butterfly),
    /// Any other schedule that is computed during the run.
    Script(Arc<dyn Script + Send + Sync>),
}

impl Workload {
    /// A collective that runs once.
    pub fn once(collective: Collective) -> Workload {
        Workload::Collective { collective, cycles: 1, compute: Time::ZERO }
    }

    pub fn script(script: impl Script + Send + 'static) -> Workload {
        Workload::Script(Arc::new(script))
    }

    pub fn processes(&self) -> u32 {
        match self {
            Workload::Graph(graph) => graph.processes(),
            Workload::Collective { collective, .. } => collective.processes(),
            Workload::Application(application) => application.processes(),
            Workload::Traced(playback) => playback.processes(),
            Workload::Butterfly(butterfly) => butterfly.processes(),
            Workload::Script(script) => script.processes(),
        }
    }

    /// Messages of a run that finishes; for a butterfly, an upper bound.
    pub fn messages(&self) -> u64 {
        match self {
            Workload::Graph(graph) => graph.messages(),
            Workload::Collective { collective, cycles, compute } => {
                repeated(collective, *cycles, *compute).messages()
            }
            Workload::Application(application) => application.messages(),
            Workload::Traced(playback) => playback.messages(),
            Workload::Butterfly(butterfly) => butterfly.messages(),
            Workload::Script(script) => script.messages(),
        }
    }

    /// Approximate number of operations of a run that finishes, for progress meters and memory estimates.
    pub fn operations(&self) -> u64 {
        match self {
            Workload::Graph(graph) => graph.operations(),
            Workload::Collective { collective, cycles, compute } => {
                repeated(collective, *cycles, *compute).operations()
            }
            Workload::Application(application) => application.operations(),
            Workload::Traced(playback) => playback.operations(),
            Workload::Butterfly(butterfly) => butterfly.messages().saturating_mul(3),
            Workload::Script(script) => script.operations(),
        }
    }
}

/// A collective in cycles as a script.
pub(crate) fn repeated(collective: &Collective, cycles: u32, compute: Time) -> Cycles<&Collective> {
    Cycles::new(collective, cycles, compute)
}

impl From<Graph> for Workload {
    fn from(graph: Graph) -> Workload {
        Workload::Graph(Arc::new(graph))
    }
}

impl From<Application> for Workload {
    fn from(application: Application) -> Workload {
        Workload::Application(Arc::new(application))
    }
}

impl From<Playback> for Workload {
    fn from(playback: Playback) -> Workload {
        Workload::Traced(Arc::new(playback))
    }
}

impl From<Butterfly> for Workload {
    fn from(butterfly: Butterfly) -> Workload {
        Workload::Butterfly(butterfly)
    }
}

impl fmt::Debug for Workload {
    /// Shows only its kind and size, since the content may be gigabytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Workload::Graph(_) => "Graph",
            Workload::Collective { .. } => "Collective",
            Workload::Application(_) => "Application",
            Workload::Traced(_) => "Traced",
            Workload::Butterfly(_) => "Butterfly",
            Workload::Script(_) => "Script",
        };
        f.debug_struct(kind).field("processes", &self.processes()).finish_non_exhaustive()
    }
}
