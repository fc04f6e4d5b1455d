//! Implicit schedules: what a rank does is computed from its number, never stored.
//!
//! A collective is a sequence of steps. The operations of a step become ready together when all
//! operations of the step before have completed, which is how a blocking exchange behaves. A step is a
//! pure function of (rank, stage), so it costs no memory and runs the same on any thread or device.

use crate::{Graph, GraphBuilder, Operation, RankBuilder};
use straggler_model::{Rank, Tag, Time};

/// What becomes ready together. At least one of the three is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Step {
    pub send: Option<Message>,
    pub recv: Option<Message>,
    pub calc: Option<Time>,
}

/// A message to or from `peer`. Between one pair of ranks messages of one tag arrive in the order
/// they were sent, so a tag need not be unique over the cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    pub peer: Rank,
    pub tag: Tag,
    pub bytes: u64,
}

impl Step {
    pub fn send(message: Message) -> Step {
        Step { send: Some(message), ..Step::default() }
    }

    pub fn recv(message: Message) -> Step {
        Step { recv: Some(message), ..Step::default() }
    }

    pub fn exchange(send: Message, recv: Message) -> Step {
        Step { send: Some(send), recv: Some(recv), calc: None }
    }

    pub fn calc(duration: Time) -> Step {
        Step { calc: Some(duration), ..Step::default() }
    }
}

/// A schedule of steps. `stages` and `step` are pure.
pub trait Steps: Sync {
    fn processes(&self) -> u32;
    /// How many steps `rank` takes; fewer than 2^29.
    fn stages(&self, rank: Rank) -> u32;
    /// Step number `stage < stages(rank)` of `rank`.
    fn step(&self, rank: Rank, stage: u32) -> Step;
    /// The largest message any rank sends, to know whether rendezvous can happen.
    fn largest_message(&self) -> u64;
    /// How many messages all ranks send together.
    fn messages(&self) -> u64 {
        let of_rank = |rank| {
            (0..self.stages(rank)).filter(|&stage| self.step(rank, stage).send.is_some()).count() as u64
        };
        (0..self.processes()).map(of_rank).sum()
    }
}

/// The operations of one rank over `cycles` repetitions, each after `compute` time of computation.
pub fn materialise_rank<S: Steps>(steps: &S, cycles: u32, compute: Time, rank: Rank, out: &mut RankBuilder) {
    let mut before: Vec<u32> = Vec::new();
    let mut add = |step: Step, out: &mut RankBuilder| {
        let operations = [
            step.send.map(|m| Operation::send(m.bytes, m.peer, m.tag)),
            step.recv.map(|m| Operation::recv(m.bytes, m.peer, m.tag)),
            step.calc.map(Operation::calc),
        ];
        let now: Vec<u32> = operations.into_iter().flatten().map(|operation| out.push(operation)).collect();
        for &dependent in &now {
            for &earlier in &before {
                out.requires(dependent, earlier);
            }
        }
        before = now;
    };
    for _ in 0..cycles {
        if compute > Time::ZERO {
            add(Step::calc(compute), out);
        }
        for stage in 0..steps.stages(rank) {
            add(steps.step(rank, stage), out);
        }
    }
}

/// The same schedule as an explicit graph.
pub fn materialise<S: Steps>(steps: &S, cycles: u32, compute: Time) -> Graph {
    let mut graph = GraphBuilder::default();
    let mut builder = RankBuilder::default();
    for rank in 0..steps.processes() {
        builder.clear();
        materialise_rank(steps, cycles, compute, rank, &mut builder);
        graph.push_rank(&builder);
    }
    graph.finish()
}
