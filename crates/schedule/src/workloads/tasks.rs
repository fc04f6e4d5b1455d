//! Tasks that a master hands out in round-robin order, and results that arrive in any order.

use super::computation::Computation;
use super::grid::Divisor;
use crate::graph::ANY;
use crate::steps::{Message, Step};
use straggler_model::{Rank, Time};

const TASK: u32 = 0;
const RESULT: u32 = 1;

/// Task t goes to worker t mod workers, which is rank 1 + t mod workers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MasterWorker {
    pub(super) tasks: u32,
    pub(super) workers: u32,
    pub(super) by_workers: Divisor,
    pub(super) bytes: u64,
    pub(super) result: u64,
    pub(super) compute: Computation,
    /// Leaves out the messages.
    pub(super) silent: bool,
}

impl MasterWorker {
    /// Number of tasks sent before the master waits for a result.
    #[inline(always)]
    fn first(&self) -> u32 {
        self.tasks.min(self.workers)
    }

    /// Number of tasks of a worker.
    #[inline(always)]
    fn share(&self, rank: Rank) -> u32 {
        let (each, longer) = self.by_workers.divide(self.tasks);
        each + u32::from(rank - 1 < longer)
    }

    #[inline]
    pub fn stages(&self, rank: Rank) -> u32 {
        match (rank, self.silent) {
            (0, true) => 0,
            (0, false) => 2 * self.tasks,
            (_, true) => self.share(rank),
            (_, false) => {
                let share = self.share(rank);
                share + u32::from(share > 0)
            }
        }
    }

    #[inline]
    pub fn step(&self, rank: Rank, stage: u32) -> Step {
        match (rank, self.silent) {
            (0, _) => self.master(stage),
            (_, true) => Step::calc(self.work(rank, stage)),
            (_, false) => self.worker(rank, stage),
        }
    }

    /// Sends the first tasks, then alternates between a result and another task, then receives the
    /// last results.
    fn master(&self, stage: u32) -> Step {
        let first = self.first();
        let give = |task: u32| {
            Step::send(Message { peer: 1 + self.by_workers.divide(task).1, tag: TASK, bytes: self.bytes })
        };
        if stage < first {
            return give(stage);
        }
        let turn = stage - first;
        if turn / 2 < self.tasks - first && !turn.is_multiple_of(2) {
            return give(first + turn / 2);
        }
        Step::recv(Message { peer: ANY, tag: RESULT, bytes: self.result })
    }

    /// Receives the first task, exchanges each result for the next task, and sends the last result.
    fn worker(&self, rank: Rank, stage: u32) -> Step {
        let task = Message { peer: 0, tag: TASK, bytes: self.bytes };
        let result = Message { peer: 0, tag: RESULT, bytes: self.result };
        let send = (stage > 0).then_some(result);
        if stage == self.share(rank) {
            return Step { send, ..Step::default() };
        }
        Step { send, recv: Some(task), ..Step::default() }.after(self.work(rank, stage))
    }

    /// The length of a task depends on the task, not on the worker.
    fn work(&self, rank: Rank, stage: u32) -> Time {
        self.compute.time(stage.wrapping_mul(self.workers).wrapping_add(rank - 1), 0)
    }

    pub fn messages(&self) -> u64 {
        if self.silent { 0 } else { 2 * u64::from(self.tasks) }
    }

    pub fn largest_message(&self) -> u64 {
        if self.silent { 0 } else { self.bytes.max(self.result) }
    }

    pub fn silent(&self) -> MasterWorker {
        MasterWorker { silent: true, ..*self }
    }
}
