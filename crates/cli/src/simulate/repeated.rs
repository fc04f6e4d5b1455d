//! What a program pays that repeats a simulated collective. A single one starts at a random moment, often inside a detour
//! or far from any, so it says little about a program.

use crate::kernel::prelude::*;
use crate::{simulate::inputs::Inputs, simulate::plan::Plan};
use straggler_analysis::assess::{ProgramPoint, cost_of_repeating};
use straggler_noise::{Injection, Phases, Waveform, Who};
use straggler_report::numbers::slowdown_within;
use straggler_schedule::collectives::Collective;
use straggler_sim::{Replicas, Workload};

/// The computation between two collectives of the program.
const INTERVAL: Time = Time(1_000_000_000);

/// What a program pays that repeats a single collective.
#[derive(Clone, Copy, Debug)]
pub enum Repeated {
    /// The collective is no single one that starts at a random moment.
    NotSingle,
    /// Too long to simulate, or with settings that have no meaning for a program.
    Unknown,
    Pays(ProgramPoint),
}

impl Repeated {
    /// Simulates the program if that takes less than a second.
    pub fn find(plan: &Plan, inputs: &Inputs, runner: &Replicas<'_>) -> Outcome<Repeated> {
        let Some((collective, noise)) = single(inputs) else { return Ok(Repeated::NotSingle) };
        let everywhere = noise.sources.iter().all(|source| !matches!(source.who, Who::Ranks(..)));
        let is_plain =
            everywhere && !plan.noise.wallclock && inputs.latency.is_none() && runner.cluster.is_none();
        let Phases::Drawn { seed, .. } = noise.phases else { return Ok(Repeated::Unknown) };
        if !is_plain {
            return Ok(Repeated::Unknown);
        }
        let runner = Replicas { checkpoints: None, advance: &|_| (), ..runner.clone() };
        let found = cost_of_repeating(runner, seed, &noise.sources, collective, INTERVAL)?;
        Ok(found.map_or(Repeated::Unknown, Repeated::Pays))
    }

    pub fn point(&self) -> Option<&ProgramPoint> {
        match self {
            Repeated::Pays(point) => Some(point),
            Repeated::NotSingle | Repeated::Unknown => None,
        }
    }

    pub fn is_single(&self) -> bool {
        !matches!(self, Repeated::NotSingle)
    }

    /// "A program that repeats it every 1 ms pays +1.4 %.", or how to find out.
    pub fn sentence(&self) -> Option<String> {
        match self {
            Repeated::NotSingle => None,
            Repeated::Unknown => Some(format!(
                "To see what a program pays that repeats it every {INTERVAL}, add --cycles 100 --compute 1ms \
                 --compare-quiet."
            )),
            Repeated::Pays(point) => Some(format!(
                "A program that repeats it every {INTERVAL} pays {}.",
                slowdown_within(point.slowdown, [point.low, point.high], point.is_narrow())
            )),
        }
    }
}

/// A single collective and its noise, if that strikes at a random moment.
fn single(inputs: &Inputs) -> Option<(&Collective, &Injection)> {
    let Workload::Collective { collective, cycles: 1, compute: Time::ZERO } = &inputs.workload.workload
    else {
        return None;
    };
    let noise = inputs.noise.as_ref()?.injection();
    let is_random = !matches!(noise.phases, Phases::Given(_))
        && noise.sources.iter().all(|source| matches!(source.waveform, Waveform::Trace(_)));
    is_random.then_some((collective, noise))
}
