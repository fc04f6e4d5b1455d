//! What a trace becomes: instructions, a list a thread, and tables of what they share.

use crate::collectives::Operation;
use std::sync::Arc;
use straggler_model::{Rank, Tag, Time};

/// Something a thread does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instruction {
    Calc(Time),
    Send {
        bytes: u64,
        to: Rank,
        tag: Tag,
        how: How,
    },
    Recv {
        bytes: u64,
        from: Rank,
        tag: Tag,
        how: How,
    },
    /// Waits for those of [`TracedRank::awaited`].
    Wait {
        first: u32,
        count: u32,
        asked: Asked,
    },
    /// Waits for `chosen` of those of [`TracedRank::awaited`], whichever complete first. What the traced run chose
    /// stands behind them: [`TracedRank::chosen`].
    Choose {
        first: u32,
        count: u32,
        chosen: u32,
        asked: Asked,
    },
    /// Asks, when so much of the computation that follows is done, whether those of [`TracedRank::awaited`] have
    /// completed, all of them or any. In the traced run they had not, so many times.
    Poll {
        first: u32,
        count: u32,
        all: bool,
        calls: u32,
        after: Time,
    },
    /// Number `member` of its group takes part in [`TracedRun::calls`].
    Collective {
        call: u32,
        member: u32,
        how: How,
    },
}

// There are as many as a trace has calls and gaps between them.
const _: () = assert!(size_of::<Instruction>() == 24);

/// How an instruction is gone about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct How {
    /// The next instruction begins when this one has completed.
    pub blocking: bool,
    /// A synchronous send: the receive is answered with a message of no bytes, and the send has completed when
    /// that has arrived. Both sides say so.
    pub answered: bool,
    /// Some instruction waits for it.
    pub awaited: Awaited,
}

/// Who waits for the completion of a nonblocking instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Awaited {
    /// No rank.
    #[default]
    Never,
    /// The thread it belongs to.
    Here,
    /// Another thread.
    Elsewhere,
}

/// How a program finds out that requests have completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Asked {
    /// It waits.
    #[default]
    Waited,
    /// It tests, and the test succeeded.
    Tested,
    /// The same, after tests that did not, with nothing between them: it waits by testing.
    Polled,
}

/// A receive from anyone, or of any tag, whose message is found as the program runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wild {
    pub instruction: u32,
    /// Whose message it received in the traced run.
    pub from: Rank,
}

impl Instruction {
    /// How it is gone about; computations block.
    #[inline]
    pub fn how(&self) -> How {
        match *self {
            Instruction::Calc(_)
            | Instruction::Wait { .. }
            | Instruction::Choose { .. }
            | Instruction::Poll { .. } => How { blocking: true, ..How::default() },
            Instruction::Send { how, .. }
            | Instruction::Recv { how, .. }
            | Instruction::Collective { how, .. } => how,
        }
    }

    pub(super) fn how_mut(&mut self) -> Option<&mut How> {
        match self {
            Instruction::Calc(_)
            | Instruction::Wait { .. }
            | Instruction::Choose { .. }
            | Instruction::Poll { .. } => None,
            Instruction::Send { how, .. }
            | Instruction::Recv { how, .. }
            | Instruction::Collective { how, .. } => Some(how),
        }
    }
}

/// What one traced rank did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TracedRank {
    /// Of all threads, one after the other.
    pub(super) instructions: Vec<Instruction>,
    /// Where each thread's end; the first begins at 0.
    pub(super) thread_ends: Vec<u32>,
    /// The call of the trace that each comes from.
    pub(super) origins: Vec<u32>,
    /// Numbers of instructions of this rank that are waited for.
    pub(super) waits: Vec<u32>,
    /// Receives that take what comes, by instruction.
    pub(super) wild: Vec<Wild>,
    /// When the trace says that the rank was done, on the clock of the recording.
    pub(super) traced_end: Time,
}

impl TracedRank {
    #[inline]
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// The number of the call that an instruction comes from, among the calls of the rank. Of a computation: the call
    /// after it, or the last one.
    #[inline]
    pub fn origin(&self, instruction: u32) -> u32 {
        self.origins.get(instruction as usize).copied().unwrap_or(u32::MAX)
    }

    /// Receives that take what comes, by instruction.
    pub fn wild(&self) -> &[Wild] {
        &self.wild
    }

    /// The instructions a wait is for, or that are chosen or asked for.
    #[inline]
    pub fn awaited(&self, first: u32, count: u32) -> &[u32] {
        let first = first as usize;
        self.waits.get(first..first + count as usize).unwrap_or_default()
    }

    /// What a choice took in the traced run.
    #[inline]
    pub fn chosen(&self, first: u32, count: u32, chosen: u32) -> &[u32] {
        self.awaited(first + count, chosen)
    }

    pub fn threads(&self) -> usize {
        self.thread_ends.len()
    }

    /// Where a thread's instructions begin and end.
    #[inline]
    pub fn thread(&self, thread: usize) -> (u32, u32) {
        let start = thread.checked_sub(1).and_then(|before| self.thread_ends.get(before)).copied();
        let end = self.thread_ends.get(thread).copied();
        (start.unwrap_or(0), end.unwrap_or(0))
    }

    /// The thread an instruction belongs to.
    #[inline]
    pub fn thread_of(&self, instruction: u32) -> usize {
        if self.thread_ends.len() < 2 {
            0
        } else {
            self.thread_ends.partition_point(|&end| end <= instruction)
        }
    }

    /// When the rank was done in the traced run. The clock begins when the first rank has left MPI_Init, or, where
    /// ranks begin together, when this one has.
    pub fn traced_end(&self) -> Time {
        self.traced_end
    }
}

/// The members of a communicator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// World ranks, in the communicator's order.
    pub members: Vec<Rank>,
    /// Whether its collectives grow with the number of copies: these are all traced ranks, or copies extend it.
    pub grows: bool,
    /// Whether copies divide the same data into smaller parts: the parameters that data-parallel ranks share.
    pub divides: bool,
}

/// One collective that all members of a group take part in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectiveCall {
    pub group: u32,
    pub operation: Operation,
    pub root: Rank,
    /// Which of [`TracedRun::sizes`].
    pub sizes: u32,
    /// Collectives that may be under way at once have different lanes, and tags of their own.
    pub lane: u32,
}

/// How much a collective moves.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum BlockSizes {
    Uniform(u64),
    /// A block for each member.
    PerMember(Arc<[u64]>),
    /// A block from each member to each, those of one sender together.
    PerPair(Arc<[u64]>),
}

/// A traced run, ready to be played back for any number of copies.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TracedRun {
    pub(super) ranks: Vec<TracedRank>,
    pub(super) groups: Vec<Group>,
    pub(super) calls: Vec<CollectiveCall>,
    pub(super) sizes: Vec<BlockSizes>,
    /// How many tags point-to-point messages have; answers have as many behind them.
    pub(super) tags: u32,
    pub(super) lanes: u32,
    /// Where the recording's clock begins in the trace.
    pub(super) origin: Time,
    /// Whether decisions are made as the program runs.
    pub(super) decides: bool,
    pub(super) notes: Vec<String>,
}

impl TracedRun {
    pub fn processes(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// What a traced rank did; it is below [`TracedRun::processes`].
    #[inline]
    pub fn rank(&self, rank: Rank) -> &TracedRank {
        &self.ranks[rank as usize]
    }

    pub fn ranks(&self) -> &[TracedRank] {
        &self.ranks
    }

    /// The most threads of a rank.
    pub fn threads(&self) -> usize {
        self.ranks.iter().map(TracedRank::threads).max().unwrap_or(1).max(1)
    }

    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    pub fn calls(&self) -> &[CollectiveCall] {
        &self.calls
    }

    pub fn sizes(&self) -> &[BlockSizes] {
        &self.sizes
    }

    /// Where the recording's clock begins in the trace: when the first rank has left MPI_Init.
    pub fn origin(&self) -> Time {
        self.origin
    }

    /// Whether decisions are made as the program runs, instead of being those of the trace.
    pub fn decides(&self) -> bool {
        self.decides
    }

    /// What was left out, guessed or simplified, for people.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub fn instructions(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.instructions.len() as u64).sum()
    }

    /// From the first to the last moment of the traced run.
    pub fn traced_end(&self) -> Time {
        self.ranks.iter().map(|rank| rank.traced_end).max().unwrap_or(Time::ZERO)
    }

    /// What the recording occupies, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let rank = |rank: &TracedRank| {
            rank.instructions.capacity() * size_of::<Instruction>()
                + (rank.waits.capacity() + rank.thread_ends.capacity() + rank.origins.capacity()) * 4
                + rank.wild.capacity() * size_of::<Wild>()
                + size_of::<TracedRank>()
        };
        let sizes = |sizes: &BlockSizes| match sizes {
            BlockSizes::Uniform(_) => 0,
            BlockSizes::PerMember(list) | BlockSizes::PerPair(list) => list.len() * 8,
        };
        let groups: usize = self.groups.iter().map(|group| group.members.capacity() * 4).sum();
        let calls = self.calls.capacity() * size_of::<CollectiveCall>();
        let all = self.ranks.iter().map(rank).sum::<usize>() + self.sizes.iter().map(sizes).sum::<usize>();
        (all + groups + calls) as u64
    }
}
