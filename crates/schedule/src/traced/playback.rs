//! A recording with its collectives as messages, for a number of copies of the traced processes.

use super::build::{Building, Built, build_all};
use super::error::PlaybackError;
use super::options::Progress;
use super::recording::{Awaited, Instruction, TracedRank, TracedRun};
use crate::collectives::Collective;
use crate::graph::ANY;
use crate::steps::{Message, Step, Steps};
use std::sync::Arc;
use straggler_model::{Rank, Tag};

/// What a simulation runs. All functions are pure. Only the state of the collective algorithms
/// grows with the number of copies.
#[derive(Clone, Debug)]
pub struct Playback {
    recording: Arc<TracedRun>,
    copies: u32,
    built: Vec<Built>,
    /// Index into `built` for each call.
    of_call: Vec<u32>,
    /// Number of tags reserved for a lane.
    width: u32,
    largest_message: u64,
    messages: u64,
    operations: u64,
}

/// Operation numbers that a program reserves for each step: a send, a receive, a computation, and
/// the computation after them.
pub const PLACES: u32 = 4;

impl Playback {
    pub fn new(
        recording: Arc<TracedRun>,
        copies: u32,
        how: &Building<'_>,
    ) -> Result<Playback, PlaybackError> {
        let processes = recording.processes();
        if copies == 0 {
            return Err(PlaybackError::NoCopies);
        }
        if processes.checked_mul(copies).is_none_or(|all| all > i32::MAX as u32) {
            return Err(PlaybackError::TooManyProcesses { processes, copies });
        }
        let (built, of_call) = build_all(&recording, copies, how)?;
        let width = built.iter().map(|built| built.tags).max().unwrap_or(0);
        // The largest tag is reserved as the wildcard.
        let tags = u64::from(recording.tags) * 2 + u64::from(recording.lanes) * u64::from(width);
        if tags > u64::from(u32::MAX) {
            return Err(PlaybackError::TooManyTags { lanes: recording.lanes, width });
        }
        let (largest_message, messages, operations) = (0, 0, 0);
        let playback =
            Playback { recording, copies, built, of_call, width, largest_message, messages, operations };
        playback.check_numbers()?;
        Ok(playback.counted())
    }

    pub fn recording(&self) -> &TracedRun {
        &self.recording
    }

    pub fn copies(&self) -> u32 {
        self.copies
    }

    pub fn processes(&self) -> u32 {
        self.recording.processes() * self.copies
    }

    pub fn largest_message(&self) -> u64 {
        self.largest_message
    }

    /// Messages of all processes together.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Approximate number of operations of all processes together; the computations of collectives
    /// are not counted.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Number of bits of an operation's number that hold its thread.
    pub fn thread_bits(&self) -> u32 {
        usize::BITS - (self.recording.threads() - 1).leading_zeros()
    }

    /// The traced rank that a process is a copy of.
    #[inline]
    pub fn rank(&self, process: Rank) -> &TracedRank {
        self.recording.rank(if self.copies == 1 { process } else { process % self.recording.processes() })
    }

    /// The first process of the copy that a process belongs to.
    #[inline]
    pub fn base(&self, process: Rank) -> Rank {
        if self.copies == 1 { 0 } else { process - process % self.recording.processes() }
    }

    fn collective(&self, call: u32) -> &Collective {
        &self.built[self.of_call[call as usize] as usize].collective
    }

    /// Number of steps of an instruction; waits, choices and polls have none.
    #[inline]
    pub fn stages(&self, process: Rank, instruction: &Instruction) -> u32 {
        match *instruction {
            Instruction::Calc(_) | Instruction::Send { .. } => 1,
            Instruction::Recv { how, .. } => 1 + u32::from(how.answered),
            Instruction::Wait { .. } | Instruction::Choose { .. } | Instruction::Poll { .. } => 0,
            Instruction::Collective { call, member, .. } => {
                self.collective(call).stages(self.seat(process, call, member))
            }
        }
    }

    /// The CPU that runs an instruction of a thread: its own, or that of the library's thread.
    #[inline]
    pub fn cpu(&self, process: Rank, thread: usize, instruction: &Instruction) -> u8 {
        let is_aside = self.recording.progress == Progress::Thread
            && matches!(instruction, Instruction::Collective { how, .. } if !how.blocking);
        (if is_aside { self.rank(process).threads() } else { thread }) as u8
    }

    /// A step of an instruction. Requires `stage < stages(..)`, see [`Playback::stages`].
    #[inline]
    pub fn step(&self, process: Rank, instruction: &Instruction, stage: u32) -> Step {
        let base = self.base(process);
        let renamed = |peer: Rank| if peer == ANY { ANY } else { base + peer };
        let message = |peer: Rank, tag: Tag, bytes: u64| Message { peer: renamed(peer), tag, bytes };
        match *instruction {
            Instruction::Calc(duration) => Step::calc(duration),
            Instruction::Send { bytes, to, tag, how } if how.answered => {
                Step::exchange(message(to, tag, bytes), message(to, self.recording.tags + tag, 0))
            }
            Instruction::Send { bytes, to, tag, .. } => Step::send(message(to, tag, bytes)),
            Instruction::Recv { bytes, from, tag, .. } if stage == 0 => Step::recv(message(from, tag, bytes)),
            Instruction::Recv { from, tag, .. } => Step::send(message(from, self.recording.tags + tag, 0)),
            Instruction::Wait { .. } | Instruction::Choose { .. } | Instruction::Poll { .. } => {
                Step::default()
            }
            Instruction::Collective { call, member, .. } => {
                self.collective_step(process, call, member, stage)
            }
        }
    }

    /// The rank of a process in a collective.
    #[inline]
    fn seat(&self, process: Rank, call: u32, member: u32) -> Rank {
        let group = &self.recording.groups[self.recording.calls[call as usize].group as usize];
        match group.grows {
            true => self.base(process) / self.recording.processes() * group.members.len() as u32 + member,
            false => member,
        }
    }

    fn collective_step(&self, process: Rank, call: u32, member: u32, stage: u32) -> Step {
        let recording = &*self.recording;
        let described = &recording.calls[call as usize];
        let group = &recording.groups[described.group as usize];
        let (processes, members) = (recording.processes(), group.members.len() as u32);
        // The checks of `new` keep this inside 32 bits.
        let first_tag = recording.tags * 2 + described.lane * self.width;
        let outside = |message: Message| {
            let peer = match (group.grows, self.copies) {
                (true, 1) => group.members[message.peer as usize],
                (true, _) => {
                    let (copy, place) = (message.peer / members, message.peer % members);
                    copy * processes + group.members[place as usize]
                }
                (false, _) => self.base(process) + group.members[message.peer as usize],
            };
            Message { peer, tag: first_tag + message.tag, ..message }
        };
        let step = self.collective(call).step(self.seat(process, call, member), stage);
        Step { send: step.send.map(outside), recv: step.recv.map(outside), ..step }
    }

    /// Programs restart numbering operations at 0 whenever a thread has nothing in flight. Rejects
    /// recordings that would run out of numbers before that.
    fn check_numbers(&self) -> Result<(), PlaybackError> {
        let most = u64::from(u32::MAX >> self.thread_bits());
        for (rank, recorded) in (0..).zip(self.recording.ranks()) {
            for thread in 0..recorded.threads() {
                let (start, end) = recorded.thread(thread);
                let instructions = &recorded.instructions()[start as usize..end as usize];
                if self.numbers(instructions) > most {
                    return Err(PlaybackError::TooLong { rank });
                }
            }
        }
        Ok(())
    }

    /// The most operation numbers needed between two moments with nothing in flight.
    fn numbers(&self, instructions: &[Instruction]) -> u64 {
        let (mut used, mut most, mut open) = (0u64, 0, 0u64);
        for instruction in instructions {
            let how = instruction.how();
            let stages = match *instruction {
                Instruction::Wait { count, .. } => {
                    open = open.saturating_sub(u64::from(count));
                    continue;
                }
                Instruction::Poll { .. } => continue,
                // Reserves a step for each request that may complete.
                Instruction::Choose { count, chosen, .. } => {
                    open = open.saturating_sub(u64::from(chosen));
                    count
                }
                Instruction::Collective { call, .. } => {
                    self.built[self.of_call[call as usize] as usize].stages
                }
                Instruction::Recv { .. } => 2,
                _ => 1,
            };
            if open == 0 {
                used = 0;
            }
            used += u64::from(stages) * u64::from(PLACES);
            most = most.max(used);
            // An operation that another thread or nobody waits for may stay open forever.
            open +=
                u64::from(!how.blocking) * if how.awaited == Awaited::Here { 1 } else { u64::from(u32::MAX) };
        }
        most
    }

    fn counted(mut self) -> Playback {
        let (mut messages, mut operations, mut largest) = (0u64, 0u64, 0u64);
        // Collectives without all their members may have been dropped.
        let mut runs = vec![false; self.recording.calls.len()];
        for instruction in self.recording.ranks().iter().flat_map(TracedRank::instructions) {
            match *instruction {
                Instruction::Calc(_) => operations += 1,
                Instruction::Send { bytes, how, .. } => {
                    largest = largest.max(bytes);
                    messages += 1 + u64::from(how.answered);
                    operations += 1 + u64::from(how.answered);
                }
                Instruction::Recv { how, .. } => operations += 1 + u64::from(how.answered),
                Instruction::Collective { call, .. } => runs[call as usize] = true,
                Instruction::Wait { .. } | Instruction::Choose { .. } | Instruction::Poll { .. } => {}
            }
        }
        let copies = u64::from(self.copies);
        let (mut messages, mut operations) =
            (messages.saturating_mul(copies), operations.saturating_mul(copies));
        let called = self.recording.calls.iter().zip(&self.of_call).zip(runs).filter(|&(_, runs)| runs);
        for ((call, &place), _) in called {
            let built = &self.built[place as usize];
            let times = if self.recording.groups[call.group as usize].grows { 1 } else { copies };
            messages = messages.saturating_add(built.messages.saturating_mul(times));
            operations = operations.saturating_add(built.messages.saturating_mul(2 * times));
        }
        let collectives = self.built.iter().map(|built| built.collective.largest_message());
        self.largest_message = collectives.fold(largest, u64::max);
        (self.messages, self.operations) = (messages, operations);
        self
    }
}
