//! `overlap`: a nonblocking collective behind computation.
//!
//! A library without a thread of its own gets on with a collective only while the program is inside one of
//! its calls. The model of that: the program cuts its computation into `chunks` and calls the library
//! between them. Each call sees one step of the collective through and starts the next, whose messages are
//! then under way beside the following chunk; an arriving message takes its overhead from the CPU when the
//! chunk has ended. A call whose step is not complete waits for it, since a schedule cannot ask whether
//! it is. Steps that are left when the computation is done run in the final wait; computation that is left
//! when the collective is done runs in one piece. With one chunk only the first step is hidden; chunks
//! beyond the steps of the collective hide no more.

use super::Kind;
use super::computation::Computation;
use super::cycles::{ALGORITHM, BYTES, OPERATION, ROOT, collective};
use super::error::WorkloadError;
use super::parameters::{IMBALANCE, Parameter, SEED, Setting, parameter};
use super::parts::{Builder, Part};
use crate::collectives::Collective;
use crate::{Step, Steps};
use straggler_model::{Rank, Time};

pub(super) const KIND: Kind = Kind {
    name: "overlap",
    summary: "a nonblocking collective that gets on between chunks of computation",
    parameters: PARAMETERS,
    build,
};

const PARAMETERS: &[Parameter] = &[
    OPERATION,
    ALGORITHM,
    BYTES,
    ROOT,
    parameter("cycles", "100", "how often"),
    parameter("compute", "1ms", "computation while the collective is under way"),
    parameter("chunks", "16", "pieces of the computation: how often the collective gets on"),
    IMBALANCE,
    SEED,
];

/// A collective and the computation it hides behind.
#[derive(Clone, Debug)]
pub struct Overlapped {
    collective: Collective,
    pub(super) inside: Computation,
    /// At least one.
    chunks: u32,
}

impl Overlapped {
    /// Steps that have a chunk beside them.
    #[inline(always)]
    fn beside(&self, steps: u32) -> u32 {
        if self.inside.is_any() { steps.min(self.chunks) } else { 0 }
    }

    /// Whether computation is left after the steps of the collective.
    #[inline(always)]
    fn has_rest(&self, steps: u32) -> bool {
        self.inside.is_any() && steps < self.chunks
    }

    #[inline]
    pub fn stages(&self, rank: Rank) -> u32 {
        let steps = self.collective.stages(rank);
        steps + u32::from(self.has_rest(steps))
    }

    #[inline]
    pub fn step(&self, rank: Rank, phase: u32, stage: u32) -> Step {
        let steps = self.collective.stages(rank);
        let beside = self.beside(steps);
        if stage >= beside && stage < steps {
            return self.collective.step(rank, stage);
        }
        let whole = self.inside.of(rank, phase).ps();
        let chunk = whole / u64::from(self.chunks);
        let rest = whole - chunk * u64::from(beside);
        if stage >= steps {
            return Step::calc(Time(rest));
        }
        // The last chunk is longer by what the division leaves.
        let last = stage + 1 == self.chunks;
        let calc = if last { whole - chunk * u64::from(self.chunks - 1) } else { chunk };
        Step { calc: Some(Time(calc)), ..self.collective.step(rank, stage) }
    }

    pub fn messages(&self) -> u64 {
        self.collective.messages()
    }

    pub fn largest_message(&self) -> u64 {
        self.collective.largest_message()
    }

    pub fn overlaps(&self) -> bool {
        self.collective.overlaps()
    }
}

fn build(setting: &Setting<'_>) -> Result<(Builder, String), WorkloadError> {
    let (part, called) = collective(setting)?;
    let (cycles, inside) = (setting.count("cycles")?, setting.computation("compute")?);
    let chunks = setting.count("chunks")?;
    let mut builder = Builder::default();
    let overlapped = match part {
        Part::Collective(collective) => Part::Overlapped(Overlapped { collective, inside, chunks }),
        other => other,
    };
    let overlapped = builder.part(overlapped);
    builder.times(cycles, overlapped);
    let time = inside.time;
    Ok((builder, format!("{cycles} times {called} behind {time} of computation in {chunks} chunks")))
}
