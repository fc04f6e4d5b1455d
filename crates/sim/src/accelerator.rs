//! Interface to devices other than the CPU that run replicas, such as GPUs.

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

/// Which results of replicas are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    Makespans,
    FinishTimes,
    /// Finish times of replicas whose makespans were computed before; they are not counted again.
    FinishTimesToo,
    /// The makespan of a run without noise, which does not count as a replica.
    Quiet,
}

impl Wanted {
    /// Whether the finish times of all processes are wanted.
    pub fn keeps_finish_times(self) -> bool {
        matches!(self, Wanted::FinishTimes | Wanted::FinishTimesToo)
    }

    /// Whether the runs count as replicas.
    pub fn counts(self) -> bool {
        matches!(self, Wanted::Makespans | Wanted::FinishTimes)
    }
}

/// A replica that ran to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    pub replica: u32,
    pub makespan: Time,
    /// Finish times of all processes, if asked for.
    pub finish: Vec<Time>,
}

/// Runs replicas on a device other than the CPU, with the same results.
pub trait Accelerator: Sync {
    /// Whether it supports such runs.
    fn fits(&self, workload: &Workload, simulation: &Simulation<'_>) -> bool;

    /// Runs replicas and calls `done` for each that has ended, in any order. Replicas without a call, because it does
    /// not support them or has failed, run on the CPU.
    fn run(&self, asked: &Accelerated<'_>, done: &mut dyn FnMut(Ended)) -> Result<(), RunError>;
}
