//! The recording made from a trace: a list of instructions per thread, and the tables they share.

use super::notes::Unmodelled;
use super::options::Progress;
use crate::collectives::Operation;
use std::sync::Arc;
use straggler_model::{Rank, Tag, Time};

/// A single action of a thread.
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
    /// Waits for the instructions listed by [`TracedRank::awaited`].
    Wait {
        first: u32,
        count: u32,
        asked: Asked,
    },
    /// Waits for `chosen` of the instructions listed by [`TracedRank::awaited`], whichever complete
    /// first. The choice of the traced run follows the list: [`TracedRank::chosen`].
    Choose {
        first: u32,
        count: u32,
        chosen: u32,
        asked: Asked,
    },
    /// Checks, when `after` of the computation that follows is done, whether all or any of the instructions
    /// listed by [`TracedRank::awaited`] have completed. In the traced run they had not, in `calls` tests.
    Poll {
        first: u32,
        count: u32,
        all: bool,
        calls: u32,
        after: Time,
    },
    /// Takes part in a collective of [`TracedRun::calls`] as `member` of its group.
    Collective {
        call: u32,
        member: u32,
        how: How,
    },
}

// Kept small: a recording has about one per call and one per gap between calls.
const _: () = assert!(size_of::<Instruction>() == 24);

/// How an instruction completes, and who waits for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct How {
    /// The next instruction begins only when this one has completed.
    pub blocking: bool,
    /// A synchronous send: the receiver replies with a message of 0 bytes, and the send completes
    /// when the reply arrives. Set on both sides.
    pub answered: bool,
    /// Which thread waits for it, if any.
    pub awaited: Awaited,
}

/// Who waits for the completion of a nonblocking instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Awaited {
    /// Nobody.
    #[default]
    Never,
    /// The thread it belongs to.
    Here,
    /// Another thread.
    Elsewhere,
}

/// How a program finds out that its requests have completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Asked {
    /// By waiting.
    #[default]
    Waited,
    /// By a test that succeeded.
    Tested,
    /// By a test that succeeded right after unsuccessful ones: the program waits by polling.
    Polled,
}

/// A receive from any source or with any tag that is matched during the replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wild {
    pub instruction: u32,
    /// The sender in the traced run.
    pub from: Rank,
}

impl Instruction {
    /// How the instruction completes; computations and waits block.
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

/// The recording of one rank.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TracedRank {
    /// Instructions of all threads, thread by thread.
    pub(super) instructions: Vec<Instruction>,
    /// End of each thread's instructions; the first thread begins at 0.
    pub(super) thread_ends: Vec<u32>,
    /// For each instruction, the call of the trace that it comes from.
    pub(super) origins: Vec<u32>,
    /// Lists of instructions of this rank that are waited for.
    pub(super) waits: Vec<u32>,
    /// Receives that take any matching message, by instruction.
    pub(super) wild: Vec<Wild>,
    /// When the rank ended in the trace, on the clock of the recording.
    pub(super) traced_end: Time,
}

impl TracedRank {
    #[inline]
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// Index of the call that an instruction comes from. For a computation, it is the call after
    /// it, or the last one.
    #[inline]
    pub fn origin(&self, instruction: u32) -> u32 {
        self.origins.get(instruction as usize).copied().unwrap_or(u32::MAX)
    }

    /// Receives that take any matching message, by instruction.
    pub fn wild(&self) -> &[Wild] {
        &self.wild
    }

    /// The instructions that a wait, choice or poll refers to.
    #[inline]
    pub fn awaited(&self, first: u32, count: u32) -> &[u32] {
        let first = first as usize;
        self.waits.get(first..first + count as usize).unwrap_or_default()
    }

    /// The instructions that a choice took in the traced run.
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

    /// When the rank ended in the traced run. The clock starts when the first rank left MPI_Init
    /// or, if ranks begin together, when this rank did.
    pub fn traced_end(&self) -> Time {
        self.traced_end
    }
}

/// The members of a communicator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// World ranks, in the communicator's order.
    pub members: Vec<Rank>,
    /// Whether its collectives grow with the number of copies: it contains all traced ranks, or
    /// copies extend it.
    pub grows: bool,
    /// Whether copies divide the same data into smaller parts, like parameters sharded over
    /// data-parallel ranks.
    pub divides: bool,
}

/// One collective that all members of a group take part in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectiveCall {
    pub group: u32,
    pub operation: Operation,
    pub root: Rank,
    /// Index into [`TracedRun::sizes`].
    pub sizes: u32,
    /// Collectives that may be in flight at the same time have different lanes, and so different tags.
    pub lane: u32,
}

/// Data sizes of a collective, in bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum BlockSizes {
    Uniform(u64),
    /// A block for each member.
    PerMember(Arc<[u64]>),
    /// A block from each member to each member, ordered by sender.
    PerPair(Arc<[u64]>),
}

/// A traced run, ready to be played back for any number of copies.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TracedRun {
    pub(super) ranks: Vec<TracedRank>,
    pub(super) groups: Vec<Group>,
    pub(super) calls: Vec<CollectiveCall>,
    pub(super) sizes: Vec<BlockSizes>,
    /// Number of tags of point-to-point messages; replies use as many after them.
    pub(super) tags: u32,
    pub(super) lanes: u32,
    /// When the clock of the recording starts, on the clock of the trace.
    pub(super) origin: Time,
    /// Whether the replay decides open outcomes.
    pub(super) decides: bool,
    pub(super) progress: Progress,
    pub(super) notes: Vec<String>,
    pub(super) unmodelled: Unmodelled,
}

impl TracedRun {
    pub fn processes(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// The recording of a traced rank, which must be below [`TracedRun::processes`].
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

    /// When the clock of the recording starts, on the clock of the trace: the first exit from MPI_Init, or the first call.
    pub fn origin(&self) -> Time {
        self.origin
    }

    /// Whether the replay decides open outcomes instead of following the trace.
    pub fn decides(&self) -> bool {
        self.decides
    }

    /// What was left out, guessed or simplified, as text for users.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The time in calls without a model.
    pub fn unmodelled(&self) -> &Unmodelled {
        &self.unmodelled
    }

    pub fn instructions(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.instructions.len() as u64).sum()
    }

    /// Length of the traced run: when the last rank ended.
    pub fn traced_end(&self) -> Time {
        self.ranks.iter().map(|rank| rank.traced_end).max().unwrap_or(Time::ZERO)
    }

    /// Memory that the recording occupies, in bytes.
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
