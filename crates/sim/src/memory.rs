//! How much memory a run takes, to refuse in time what would not fit. Estimates, each measured as the largest
//! resident set of a run divided by its processes; what the workload itself holds is not in them.

use crate::replicas::Replicas;
use crate::simulation::Simulation;
use crate::workload::Workload;
use straggler_schedule::{Script, Steps};

/// What every process takes more where latencies are drawn: a counter, and messages that are longer on their way.
const DRAWN: u64 = 60;
/// A process whose steps are computed, its messages on the way included.
const STEPS: u64 = 112;
/// The same with noise, which lets messages come before they are received.
const NOISY_STEPS: u64 = 132;
/// A process of which several steps can be under way.
const OVERLAPPING: u64 = 350;
/// A process of the redundant butterfly.
const BUTTERFLY: u64 = 600;
/// A process of a materialised schedule, and the counter of an operation's open dependencies.
const GRAPH: u64 = 210;
const GRAPH_OPERATION: u64 = 16;
/// Every operation and every arrival is an event; each is recorded in 48 bytes, in lists that double.
const RECORDED_EVENT: u64 = 48 * 2;
/// What the recorder keeps of a process.
const RECORDED: u64 = 250;

impl Workload {
    /// Whether a process can have several steps under way.
    fn overlaps(&self) -> bool {
        match self {
            Workload::Graph(_) | Workload::Butterfly(_) => false,
            Workload::Collective { collective, .. } => collective.overlaps(),
            Workload::Application(application) => application.overlaps(),
            Workload::Traced(_) => true,
            Workload::Script(script) => script.overlaps(),
        }
    }
}

/// What a run of a traced program on so many processes takes, in bytes, told before it is built: for very many
/// processes that alone takes minutes.
pub fn replay_memory_bytes(processes: u64) -> u64 {
    processes.saturating_mul(OVERLAPPING)
}

impl Simulation<'_> {
    /// What a run takes beyond its workload, in bytes.
    pub fn memory_bytes(&self, workload: &Workload) -> u64 {
        let processes = u64::from(workload.processes());
        let drawn = if self.latency.is_some() { DRAWN } else { 0 };
        let each = match workload {
            Workload::Graph(graph) => {
                let operations = graph.operations().saturating_mul(GRAPH_OPERATION);
                return processes * (GRAPH + drawn) + operations;
            }
            Workload::Butterfly(_) => BUTTERFLY,
            _ if workload.overlaps() => OVERLAPPING,
            Workload::Collective { .. } if self.noise.is_some() => NOISY_STEPS,
            _ => STEPS,
        };
        processes * (each + drawn)
    }

    /// The same for [`Simulation::run_recorded`].
    pub fn recorded_memory_bytes(&self, workload: &Workload) -> u64 {
        let events = workload.operations().saturating_add(workload.messages());
        let processes = u64::from(workload.processes());
        events
            .saturating_mul(RECORDED_EVENT)
            .saturating_add(processes * RECORDED)
            .saturating_add(self.memory_bytes(workload))
    }
}

impl Replicas<'_> {
    /// What so many replicas of a workload take beyond the workload, in bytes: as many runs as go side by side.
    pub fn memory_bytes(&self, workload: &Workload, replicas: usize) -> u64 {
        let beside = self.side_by_side(workload.processes(), replicas) as u64;
        self.simulation.memory_bytes(workload).saturating_mul(beside)
    }
}
