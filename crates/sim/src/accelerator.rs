//! Devices beside the CPU that run replicas, such as GPUs. This crate knows only what they are asked for.

use crate::outcome::RunError;
use crate::simulation::Simulation;
use crate::workload::Workload;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use straggler_model::Time;

/// Replicas of one workload.
#[derive(Clone, Debug)]
pub struct Accelerated<'a> {
    pub workload: &'a Workload,
    /// Its noise is drawn again for each replica.
    pub simulation: &'a Simulation<'a>,
    pub replicas: Range<u32>,
    pub wanted: Wanted,
    /// Set from outside to stop all runs.
    pub stop: &'a AtomicBool,
}

/// What is wanted of replicas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    Makespans,
    FinishTimes,
    /// Of replicas that ran before for their makespans, and count once.
    FinishTimesToo,
    /// The makespan of a run without noise, which is no replica.
    Quiet,
}

impl Wanted {
    /// Whether the finish times of all processes are looked at.
    pub fn keeps_finish_times(self) -> bool {
        matches!(self, Wanted::FinishTimes | Wanted::FinishTimesToo)
    }

    /// Whether the runs are replicas that are not counted yet.
    pub fn counts(self) -> bool {
        matches!(self, Wanted::Makespans | Wanted::FinishTimes)
    }
}

/// A replica that came to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    pub replica: u32,
    pub makespan: Time,
    /// Of every process, if asked for.
    pub finish: Vec<Time>,
}

/// Runs replicas elsewhere than on the CPU, with the same numbers.
pub trait Accelerator: Sync {
    /// Whether it has rules for such runs.
    fn fits(&self, workload: &Workload, simulation: &Simulation<'_>) -> bool;

    /// Runs replicas and tells `done` of each when it has ended, in any order. Those it does not tell of run on the CPU: it
    /// may have no rules for them, or have failed.
    fn run(&self, asked: &Accelerated<'_>, done: &mut dyn FnMut(Ended)) -> Result<(), RunError>;
}
