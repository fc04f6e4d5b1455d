//! From a trace to a recording, rank after rank.

use super::behind::Place;
use super::collective::Collectives;
use super::error::TraceError;
use super::matching;
use super::notes::{Notes, Reason};
use super::recording::{Awaited, Instruction, RankRecording, Recording};
use super::translate::RankReader;
use super::wildcards::{self, Pattern};
use crate::workloads::Only;
use std::collections::HashMap;
use straggler_model::{Rank, Tag, Time};
use straggler_trace::collectives;
use straggler_trace::operations::Operations;
use straggler_trace::{Call, Class, CommId, Communicator, RankTrace, Trace};

/// When ranks begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Begin {
    /// As in the trace: each computes from when the first rank has left MPI_Init to when it has itself.
    #[default]
    AsTraced,
    /// All at once.
    Together,
}

/// Who decides what the outcome of a run is that MPI leaves open: which request of a list completes, whether a test
/// succeeds, whose message a receive from anyone takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Decisions {
    /// The traced run.
    #[default]
    AsRecorded,
    /// The program that replays it, by what has happened to it; but receives from anyone take what they took.
    RedecideRequests,
    /// The program that replays it, by what has happened to it.
    Redecide,
}

/// How a trace is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Which communication is kept; computation always is.
    pub only: Only,
    pub begin: Begin,
    /// Leaves out what has no counterpart in the trace, instead of refusing the trace.
    pub drop_unmatched: bool,
    /// Shorter times between unsuccessful tests or probes are part of waiting, not computation.
    pub spin: Time,
    pub decisions: Decisions,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            only: Only::All,
            begin: Begin::AsTraced,
            drop_unmatched: false,
            spin: Time::from_ns(1_000),
            decisions: Decisions::AsRecorded,
        }
    }
}

/// What the ranks of a trace share while it is read.
#[derive(Debug)]
pub(super) struct Shared<'a> {
    /// For each communicator, whether processes that the trace says nothing about take part.
    pub reaches_out: Vec<bool>,
    pub trace: &'a Trace,
    pub options: Options,
    /// When the recording's clock begins.
    pub origin: Time,
    pub collectives: Collectives,
    pub notes: Notes,
    /// For calls that make a communicator, by rank and number: when the last member had come.
    pub complete: HashMap<(Rank, u32), Time>,
    /// Communicators between two groups have an entry for each side: the smaller number stands for both.
    one_side: Vec<CommId>,
    tags: HashMap<(CommId, i64), Tag>,
}

/// A rank that was read.
#[derive(Debug, Default)]
pub(super) struct ReadRank {
    pub recorded: RankRecording,
    /// Receives from anyone, or of any tag, in the order of their instructions.
    pub wild: Vec<WildReceive>,
    /// Receives whose message a probe had taken before: both calls, in the order of the receives.
    pub taken: Vec<(u32, u32)>,
}

impl ReadRank {
    /// The call by which a receive got hold of its message: the receive, or the probe before it.
    pub fn taken_at(&self, receive: u32) -> u32 {
        let found = self.taken.binary_search_by_key(&receive, |&(receive, _)| receive);
        found.map_or(receive, |place| self.taken[place].1)
    }
}

/// What a receive asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WildReceive {
    pub instruction: u32,
    pub pattern: Pattern,
}

/// One thread of a rank while it is read.
#[derive(Debug, Default)]
pub(super) struct ReadThread {
    pub instructions: Vec<Instruction>,
    pub origins: Vec<u32>,
    pub waits: Vec<Place>,
}

impl Shared<'_> {
    /// The number that stands for a communicator on both of its sides.
    pub fn side(&self, comm: CommId) -> CommId {
        self.one_side.get(comm as usize).copied().unwrap_or(comm)
    }

    /// The number of a tag of a communicator, which no other has.
    pub fn tag(&mut self, comm: CommId, tag: i64) -> Result<Tag, TraceError> {
        let side = self.side(comm);
        let next = self.tags.len();
        let tag = *self.tags.entry((side, tag)).or_insert(next as u32);
        // Answers need as many.
        if next < (u32::MAX / 4) as usize { Ok(tag) } else { Err(TraceError::TooManyTags) }
    }
}

impl Recording {
    /// What the ranks of a trace did.
    pub fn from_trace(trace: &Trace, options: &Options) -> Result<Recording, TraceError> {
        if trace.ranks.is_empty() {
            return Err(TraceError::Empty);
        }
        check_members(trace)?;
        let mut shared = Shared {
            trace,
            options: *options,
            origin: origin(trace),
            collectives: Collectives::default(),
            notes: Notes::default(),
            complete: complete(trace),
            one_side: one_side(&trace.communicators),
            reaches_out: trace.communicators.iter().map(reaches_out).collect(),
            tags: HashMap::new(),
        };
        let mut ranks = Vec::with_capacity(trace.ranks.len());
        for (rank, traced) in (0..).zip(&trace.ranks) {
            let operations = Operations::of(traced);
            ranks.push(RankReader::new(&mut shared, rank, &operations).read()?);
        }
        let mut tags = shared.tags.len() as u32;
        let stand_for = matching::tell_apart(&mut ranks, &mut tags)?;
        let lone = matching::pair(&mut ranks, &shared.collectives);
        if lone.iter().any(|lone| !lone.is_empty()) {
            shared.leave_out(&mut ranks, &lone)?;
        }
        let decides = options.decisions == Decisions::Redecide;
        if decides {
            let bound = wildcards::open(&mut ranks, &shared.tags, &stand_for, &mut tags)?;
            shared.notes.count_calls(Reason::BoundWildcard, "receives", bound);
        }
        let threaded =
            trace.ranks.iter().filter(|rank| rank.calls.iter().any(|call| call.thread > 0)).count();
        let threads = (threaded > 0).then(|| {
            format!("{threaded} ranks call from several threads; time in which one waits for another counts as computation")
        });
        let lanes = shared.collectives.lanes;
        let (groups, calls, sizes) = shared.collectives.finish();
        Ok(Recording {
            ranks: ranks.into_iter().map(|read| read.recorded).collect(),
            groups,
            calls,
            sizes,
            tags,
            lanes,
            origin: shared.origin,
            decides,
            notes: trace.notes.iter().cloned().chain(shared.notes.texts()).chain(threads).collect(),
        })
    }
}

impl Shared<'_> {
    /// Refuses what has no counterpart, or takes it out.
    fn leave_out(&mut self, ranks: &mut [ReadRank], lone: &[Vec<u32>]) -> Result<(), TraceError> {
        let unmatched = matching::describe(self.trace, ranks, &self.collectives, lone);
        if !self.options.drop_unmatched {
            return Err(TraceError::Unmatched(unmatched));
        }
        unmatched.iter().for_each(|one| self.notes.count(Reason::Unmatched, one.function));
        ranks.iter_mut().zip(lone).for_each(|(read, lone)| matching::remove(read, lone));
        Ok(())
    }
}

/// Whether processes that were started or met later take part.
fn reaches_out(comm: &Communicator) -> bool {
    comm.members.iter().chain(&comm.remote).any(|&member| member == Rank::MAX)
}

/// Communicators are made of traced ranks, each at most once.
fn check_members(trace: &Trace) -> Result<(), TraceError> {
    let processes = trace.processes();
    // The communicator in which a rank was seen last.
    let mut seen = vec![None; processes as usize];
    for (comm, communicator) in (0..).zip(&trace.communicators) {
        for (side, members) in [&communicator.members, &communicator.remote].into_iter().enumerate() {
            // A process of another world is nobody's here.
            for &member in members.iter().filter(|&&member| member != Rank::MAX) {
                let fault = TraceError::Member { comm, member, processes };
                let last = seen.get_mut(member as usize).ok_or(fault.clone())?;
                if last.replace((comm, side)) == Some((comm, side)) {
                    return Err(fault);
                }
            }
        }
    }
    Ok(())
}

/// What calls that make communicators took when nobody was waited for any more, by rank and number.
pub fn alone(trace: &Trace) -> impl Iterator<Item = ((Rank, u32), Time)> + '_ {
    complete(trace).into_iter().filter_map(|(place, last)| {
        let call = trace.ranks.get(place.0 as usize)?.calls.get(place.1 as usize)?;
        (call.request == Call::NO_REQUEST).then(|| (place, call.exit.since(call.enter.max(last))))
    })
}

/// When all members had come to the calls that make communicators.
fn complete(trace: &Trace) -> HashMap<(Rank, u32), Time> {
    let mut found = HashMap::new();
    for (comm, sequence) in collectives::sequences(trace) {
        let members = trace.communicators.get(comm as usize).map_or(0, |comm| comm.members.len());
        let common = sequence.values().map(Vec::len).min().unwrap_or(0);
        if sequence.len() != members {
            continue;
        }
        for nth in 0..common {
            let places = sequence.iter().filter_map(|(&rank, calls)| Some((rank, *calls.get(nth)?)));
            let creating: Vec<_> =
                places.filter(|&place| makes_communicator(trace, place).is_some()).collect();
            let entered = creating.iter().filter_map(|&place| makes_communicator(trace, place)).max();
            if let Some(last) = entered.filter(|_| creating.len() == members) {
                found.extend(creating.into_iter().map(|place| (place, last)));
            }
        }
    }
    found
}

/// When a call was entered, if it makes a communicator.
fn makes_communicator(trace: &Trace, (rank, call): (Rank, u32)) -> Option<Time> {
    let call = trace.ranks.get(rank as usize)?.calls.get(call as usize)?;
    matches!(call.function.class(), Class::NewComm { collective: true }).then_some(call.enter)
}

/// When the first rank has left MPI_Init; where nobody calls it, when the first call begins.
fn origin(trace: &Trace) -> Time {
    let inits = trace.ranks.iter().filter_map(init_exit).min();
    let enters = trace.ranks.iter().filter_map(|rank| rank.calls.first().map(|call| call.enter));
    inits.or(enters.min()).unwrap_or_default()
}

pub(super) fn init_exit(rank: &RankTrace) -> Option<Time> {
    rank.calls.iter().find(|call| call.function.class() == Class::Init).map(|call| call.exit)
}

/// For each communicator the smaller number of its two sides. Of several between the same groups, the first of
/// one side belongs to the first of the other.
fn one_side(communicators: &[Communicator]) -> Vec<CommId> {
    let mut waiting: HashMap<(&[Rank], &[Rank]), Vec<CommId>> = HashMap::new();
    let mut sides: Vec<CommId> = (0..communicators.len() as u32).collect();
    for (comm, communicator) in (0..).zip(communicators) {
        let (members, remote) = (&communicator.members[..], &communicator.remote[..]);
        if remote.is_empty() {
            continue;
        }
        match waiting.get_mut(&(remote, members)).filter(|others| !others.is_empty()) {
            Some(others) => sides[comm as usize] = others.remove(0),
            None => waiting.entry((members, remote)).or_default().push(comm),
        }
    }
    sides
}

/// Threads one after the other.
pub(super) fn assembled(
    rank: Rank,
    threads: Vec<ReadThread>,
    traced_end: Time,
) -> Result<ReadRank, TraceError> {
    let sizes: Vec<usize> = threads.iter().map(|thread| thread.instructions.len()).collect();
    let waits: usize = threads.iter().map(|thread| thread.waits.len()).sum();
    if sizes.iter().sum::<usize>().max(waits) >= u32::MAX as usize {
        return Err(TraceError::TooLong { rank });
    }
    let starts: Vec<u32> =
        sizes.iter().scan(0, |start, size| Some(std::mem::replace(start, *start + *size as u32))).collect();
    let mut read = ReadRank::default();
    read.recorded.traced_end = traced_end;
    let mut awaited = Vec::with_capacity(waits);
    for (number, mut thread) in threads.into_iter().enumerate() {
        let first_wait = read.recorded.waits.len() as u32;
        for instruction in &mut thread.instructions {
            if let Instruction::Wait { first, .. }
            | Instruction::Choose { first, .. }
            | Instruction::Poll { first, .. } = instruction
            {
                *first += first_wait;
            }
        }
        for place in &thread.waits {
            let instruction = starts.get(usize::from(place.thread)).map_or(0, |start| start + place.number);
            read.recorded.waits.push(instruction);
            let here = usize::from(place.thread) == number;
            awaited.push((instruction, if here { Awaited::Here } else { Awaited::Elsewhere }));
        }
        read.recorded.instructions.append(&mut thread.instructions);
        read.recorded.thread_ends.push(read.recorded.instructions.len() as u32);
        read.recorded.origins.append(&mut thread.origins);
    }
    for (instruction, by) in awaited {
        let instruction = read.recorded.instructions.get_mut(instruction as usize);
        if let Some(how) = instruction.and_then(Instruction::how_mut) {
            how.awaited = by;
        }
    }
    Ok(read)
}
