//! Implicit schedules: what a rank does is computed from its number, not stored.
//!
//! A collective is a sequence of steps. The operations of a step become ready together when all operations of
//! earlier steps have completed, as in a blocking exchange. A step may also let the next one begin as soon as
//! its own operations have started, as nonblocking calls do. A step is a pure function of (rank, stage), so
//! it takes no memory and gives the same result on any thread or device.

use crate::{Operation, OperationKind};
use straggler_model::{Rank, Tag, Time};

/// Operations that become ready together: at least one of send, receive and computation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Step {
    pub send: Option<Message>,
    pub recv: Option<Message>,
    pub calc: Option<Time>,
    /// Computation that begins when everything so far has completed, such as the reduction of
    /// received data. Only allowed in steps that the next one waits for.
    pub after: Time,
    pub then: Then,
}

/// When the step that follows begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Then {
    /// When this step and all before it have completed. The last step of a rank is always of this kind.
    #[default]
    Wait,
    /// When the operations of this step have started.
    Go,
}

/// A message to or from `peer`. Messages between two ranks with the same tag arrive in the order
/// they were sent, so tags may repeat in each cycle.
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
        Step { send: Some(send), recv: Some(recv), ..Step::default() }
    }

    pub fn calc(duration: Time) -> Step {
        Step { calc: Some(duration), ..Step::default() }
    }

    /// The operation of a kind, if the step has one; `after` selects the computation after the others.
    #[inline(always)]
    pub fn operation(&self, kind: OperationKind, after: bool) -> Option<Operation> {
        match kind {
            OperationKind::Send => self.send.map(|m| Operation::send(m.bytes, m.peer, m.tag)),
            OperationKind::Recv => self.recv.map(|m| Operation::recv(m.bytes, m.peer, m.tag)),
            OperationKind::Calc if after => Some(Operation::calc(self.after)),
            OperationKind::Calc => self.calc.map(Operation::calc),
        }
    }

    /// The operations that become ready together, in the order of the model.
    pub fn operations(&self) -> impl Iterator<Item = Operation> + use<> {
        let kinds = [OperationKind::Send, OperationKind::Recv, OperationKind::Calc];
        kinds.map(|kind| self.operation(kind, false)).into_iter().flatten()
    }

    /// Adds a computation after the other operations.
    #[inline(always)]
    pub fn after(self, after: Time) -> Step {
        Step { after, ..self }
    }

    /// Lets the next step begin without waiting for this one.
    #[inline(always)]
    pub fn go(self) -> Step {
        Step { then: Then::Go, ..self }
    }
}

/// How the schedule of every rank follows from that of rank 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Symmetry {
    /// It does not, or this was not checked.
    #[default]
    Unknown,
    /// The partners of rank r are those of rank 0 plus r, modulo the number of processes.
    Shifted,
    /// The partners of rank r are those of rank 0 with the bits of r flipped.
    Flipped,
}

/// A schedule of steps. All functions are pure.
pub trait Steps: Sync {
    fn processes(&self) -> u32;
    /// Number of steps of `rank`; fewer than [`MOST_STAGES`].
    fn stages(&self, rank: Rank) -> u32;
    /// Step `stage < stages(rank)` of `rank`.
    fn step(&self, rank: Rank, stage: u32) -> Step;
    /// Size of the largest message of any rank, which tells whether rendezvous can happen.
    fn largest_message(&self) -> u64;
    /// A bound above all tags. Used where several schedules need different tags.
    fn tags(&self) -> u32 {
        let of_rank = |rank| {
            let steps = (0..self.stages(rank)).map(|stage| self.step(rank, stage));
            // Every message is both sent and received, so looking at the sends is enough.
            steps.filter_map(|step| step.send).map(|sent| sent.tag.saturating_add(1)).max().unwrap_or(0)
        };
        (0..self.processes()).map(of_rank).max().unwrap_or(0)
    }
    /// Whether any step lets the next one begin before it has completed.
    fn overlaps(&self) -> bool {
        false
    }
    /// The symmetry of the ranks, which saves engines from looking at every rank.
    fn symmetry(&self) -> Symmetry {
        Symmetry::Unknown
    }
    /// Number of messages that all ranks send together.
    fn messages(&self) -> u64 {
        let of_rank = |rank| {
            (0..self.stages(rank)).filter(|&stage| self.step(rank, stage).send.is_some()).count() as u64
        };
        (0..self.processes()).map(of_rank).sum()
    }
}

/// Limit on the stages of a rank: programs keep a stage and four flags in 32 bits.
pub const MOST_STAGES: u32 = 1 << 28;
