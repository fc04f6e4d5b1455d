//! Tasks of the kernel: collectives on a network under noise, and why other runs do not fit.

use crate::layout::END_OF_TIME;
use crate::tables::Tables;
use straggler_model::{Network, Time};
use straggler_noise::{Injection, Phases, Waveform};
use straggler_schedule::Cycles;
use straggler_schedule::collectives::Collective;
use straggler_sim::{EngineChoice, Simulation, Workload};

/// Why a run needs the CPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub enum Unfit {
    #[error("a GPU runs collectives only")]
    NoCollective,
    #[error("the reference engine was asked for")]
    Reference,
    #[error("latencies are drawn")]
    DrawnLatency,
    #[error("links are shared by a topology")]
    SharedLinks,
    #[error("receives overlap")]
    Overlap,
    #[error("links differ")]
    Links,
    #[error("messages above S are sent by rendezvous")]
    Rendezvous,
    #[error("sends take no time (o_s = 0)")]
    FreeSends,
    #[error("there are more than 254 different message sizes or computations")]
    ManyKinds,
    #[error("a process waits for more than 255 messages at once")]
    Wide,
    #[error("times exceed 53 days")]
    Long,
    #[error("a process has more than 16,777,215 steps")]
    ManySteps,
    #[error("processes differ, and the table of their partners would take more than 8 GiB")]
    Large,
    #[error("not every message has a receive")]
    Unmatched,
}

/// A collective in cycles on a network, ready to run under any noise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    pub processes: u32,
    pub cycles: u32,
    pub flight: Time,
    pub tables: Tables,
    /// Messages per run.
    pub messages: u64,
}

impl Task {
    /// Makes a task of a workload, if the kernel can run it in this simulation.
    pub fn new(workload: &Workload, simulation: &Simulation<'_>) -> Result<Task, Unfit> {
        let Workload::Collective { collective, cycles, compute } = workload else {
            return Err(Unfit::NoCollective);
        };
        fits_simulation(simulation)?;
        if let Some(noise) = simulation.noise {
            fits_noise(noise)?;
        }
        Task::for_collective(collective, *cycles, *compute, simulation.network)
    }

    fn for_collective(
        collective: &Collective,
        cycles: u32,
        compute: Time,
        network: &Network,
    ) -> Result<Task, Unfit> {
        use straggler_schedule::Script;
        let link = &network.base;
        let script = Cycles::new(collective, 1, compute);
        if !network.levels.is_empty() {
            return Err(Unfit::Links);
        }
        if network.may_rendezvous(script.largest_message()) {
            return Err(Unfit::Rendezvous);
        }
        if link.send_overhead == Time::ZERO {
            return Err(Unfit::FreeSends);
        }
        if link.flight().ps() >= END_OF_TIME {
            return Err(Unfit::Long);
        }
        let tables = Tables::new(&script, link)?;
        if u64::from(tables.stages) * u64::from(cycles) >= 1 << 24 {
            return Err(Unfit::ManySteps);
        }
        let messages = script.messages().saturating_mul(cycles.into());
        Ok(Task { processes: script.processes(), cycles, flight: link.flight(), tables, messages })
    }

    /// The slots of all cycles.
    pub fn slots(&self) -> u64 {
        u64::from(self.tables.slots) * u64::from(self.cycles)
    }
}

/// Checks whether the kernel implements the rules that a simulation asks for.
fn fits_simulation(simulation: &Simulation<'_>) -> Result<(), Unfit> {
    if simulation.engine == EngineChoice::Reference {
        return Err(Unfit::Reference);
    }
    if simulation.latency.is_some() {
        return Err(Unfit::DrawnLatency);
    }
    if simulation.fabric.is_some() {
        return Err(Unfit::SharedLinks);
    }
    if simulation.overlaps() {
        return Err(Unfit::Overlap);
    }
    Ok(())
}

/// Checks that all times of the noise are far from [`END_OF_TIME`], so that the kernel's sums do
/// not overflow.
pub fn fits_noise(noise: &Injection) -> Result<(), Unfit> {
    let short = |time: Time| time.ps() < END_OF_TIME / 2;
    let of_source = |waveform: &Waveform| match waveform {
        Waveform::Trace(detours) => short(detours.length()) && short(detours.total()),
        Waveform::Once { at, duration } => short(*at) && short(*duration),
    };
    let offsets = match &noise.phases {
        Phases::Given(offsets) => offsets.iter().copied().all(short),
        Phases::Drawn { .. } | Phases::Together { .. } => true,
    };
    if offsets && noise.sources.iter().all(|source| of_source(&source.waveform)) {
        Ok(())
    } else {
        Err(Unfit::Long)
    }
}
