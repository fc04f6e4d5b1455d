//! Estimates of the memory of a run, so that runs that would not fit are refused early. Each was measured as the
//! largest resident set of a run divided by its processes, without the workload itself. All constants are bytes.

use crate::replicas::Replicas;
use crate::simulation::Simulation;
use crate::workload::Workload;
use straggler_schedule::{Script, Steps};

/// Extra bytes of every process if latencies are drawn: a counter, and longer messages.
const DRAWN: u64 = 60;
/// A process of an implicit schedule, including its messages in flight.
const STEPS: u64 = 112;
/// The same with noise, which makes messages arrive before their receives.
const NOISY_STEPS: u64 = 132;
/// A process that can have several steps in progress.
const OVERLAPPING: u64 = 350;
/// A process of the redundant butterfly.
const BUTTERFLY: u64 = 600;
/// A process of a materialised schedule, and the counter of an operation's open dependencies.
const GRAPH: u64 = 210;
const GRAPH_OPERATION: u64 = 16;
/// Every operation and every arrival is an event, recorded in 48 bytes in lists that grow by doubling.
const RECORDED_EVENT: u64 = 48 * 2;
/// The recorder's state for a process.
const RECORDED: u64 = 250;
/// Extra bytes of every process on shared links: a counter, longer messages, and those on their way.
const SHARED_LINKS: u64 = 150;
/// A port, and what is measured of it.
const PORT: u64 = 12;
const MEASURED_PORT: u64 = 64;

impl Workload {
    /// Whether a process can have several steps in progress.
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

/// Bytes that a run of a traced program takes. Known before the workload is built, since building it takes
/// minutes for very many processes.
pub fn replay_memory_bytes(processes: u64) -> u64 {
    processes.saturating_mul(OVERLAPPING)
}

impl Simulation<'_> {
    /// Bytes that a run takes in addition to its workload.
    pub fn memory_bytes(&self, workload: &Workload) -> u64 {
        let processes = u64::from(workload.processes());
        let drawn = if self.latency.is_some() { DRAWN } else { 0 };
        let (drawn, ports) = match self.fabric {
            None => (drawn, 0),
            Some(fabric) => {
                let port = if fabric.measured { PORT + MEASURED_PORT } else { PORT };
                (drawn + SHARED_LINKS, u64::from(fabric.topology.ports()) * port)
            }
        };
        let each = match workload {
            Workload::Graph(graph) => {
                let operations = graph.operations().saturating_mul(GRAPH_OPERATION);
                return processes * (GRAPH + drawn) + operations + ports;
            }
            Workload::Butterfly(_) => BUTTERFLY,
            _ if workload.overlaps() => OVERLAPPING,
            Workload::Collective { .. } if self.noise.is_some() => NOISY_STEPS,
            _ => STEPS,
        };
        processes * (each + drawn) + ports
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
    /// Bytes that replicas take in addition to the workload: one run for each that runs at the same time.
    pub fn memory_bytes(&self, workload: &Workload, replicas: usize) -> u64 {
        let beside = self.side_by_side(workload.processes(), replicas) as u64;
        self.simulation.memory_bytes(workload).saturating_mul(beside)
    }
}
