//! Runs the ranks of a collective against each other.

use super::super::{Buffer, Data, Job, Meaning, Operation, Take};
use super::atoms::Atoms;
use super::fault::Fault;
use super::promise;
use crate::{Message, Then};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;
use straggler_model::{Rank, Tag, Time};

/// How often an atom contains the data of each rank; `None` if it holds no data.
type Value = Option<Rc<[u32]>>;

/// What the checker has proven.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proof {
    /// No contribution is counted twice. Otherwise the result is right only for idempotent
    /// operations, such as a maximum.
    pub exact: bool,
    /// There was data to follow. Without data, only the sends and receives were checked.
    pub followed: bool,
    pub messages: u64,
}

/// Follows the data of a collective to the end.
pub fn check(operation: Operation, job: &Job, algorithm: &dyn Meaning) -> Result<Proof, Fault> {
    let mut checker = Checker::new(operation, job, algorithm);
    while checker.advance_all()? {}
    checker.conclude()
}

struct Checker<'a> {
    operation: Operation,
    job: &'a Job,
    algorithm: &'a dyn Meaning,
    atoms: Atoms,
    ranks: Vec<State>,
    /// Messages in flight by source, destination and tag, in the order of sending.
    flying: HashMap<(Rank, Rank, Tag), VecDeque<Payload>>,
    messages: u64,
}

/// The values that a message carries, by atom.
struct Payload {
    bytes: u64,
    values: Vec<(usize, Value)>,
}

/// State of one rank.
struct State {
    work: Vec<Value>,
    result: Vec<Value>,
    stage: u32,
    /// Whether the stage has been entered.
    entered: bool,
    /// Receives that no step has waited for yet, with their stages.
    posted: Vec<(u32, Message)>,
}

/// Estimates how many bytes of memory [`check`] takes at most. Returns `None` if there are so many
/// messages that the estimate alone would take more than about a minute.
pub fn memory(operation: Operation, job: &Job, algorithm: &dyn Meaning) -> Option<u64> {
    const MOST_MESSAGES: u64 = 50_000_000;
    const MOST_PAIRS: u64 = 250_000;
    let processes = u64::from(job.processes);
    let pairs = if operation.data() == Data::BlockForEachPair { processes * processes } else { 0 };
    if processes > MOST_MESSAGES || pairs > MOST_MESSAGES || algorithm.messages() > MOST_MESSAGES {
        return None;
    }
    // Per atom and rank: a pointer in each of the two buffers, and, if no two values are shared, a
    // count for each rank and the counters of `Rc`.
    let value = 2 * size_of::<Value>() as u64 + 4 * processes + 16;
    if pairs > MOST_PAIRS {
        // Every block is at least one atom. Cutting finer would only raise an estimate that is
        // already too large.
        return Some(processes * pairs * value);
    }
    Some(processes * cut(operation, job, algorithm).len() as u64 * value)
}

/// Cuts the data wherever a message or a block begins or ends.
fn cut(operation: Operation, job: &Job, algorithm: &dyn Meaning) -> Atoms {
    let carried = (0..algorithm.processes()).flat_map(|rank| {
        let sends = (0..algorithm.stages(rank)).filter(move |&at| algorithm.step(rank, at).send.is_some());
        sends.flat_map(move |stage| algorithm.carries(rank, stage))
    });
    let blocks = promise::blocks(operation, job);
    Atoms::new(promise::extent(operation, job), blocks.into_iter().chain(carried))
}

impl<'a> Checker<'a> {
    fn new(operation: Operation, job: &'a Job, algorithm: &'a dyn Meaning) -> Checker<'a> {
        let atoms = cut(operation, job, algorithm);
        let ranks = (0..job.processes).map(|rank| State::new(operation, job, &atoms, rank)).collect();
        Checker { operation, job, algorithm, atoms, ranks, flying: HashMap::new(), messages: 0 }
    }

    /// Lets every rank advance as far as it can. Returns whether any did.
    fn advance_all(&mut self) -> Result<bool, Fault> {
        let mut moved = false;
        for rank in 0..self.job.processes {
            while self.advance(rank)? {
                moved = true;
            }
        }
        Ok(moved)
    }

    /// Lets a rank enter or leave its stage, if it can.
    fn advance(&mut self, rank: Rank) -> Result<bool, Fault> {
        let state = &self.ranks[rank as usize];
        let stage = state.stage;
        if stage >= self.algorithm.stages(rank) {
            return Ok(false);
        }
        if !state.entered {
            self.enter(rank, stage)?;
        }
        let step = self.algorithm.step(rank, stage);
        if step.then == Then::Wait && !self.complete(rank, stage, step.after)? {
            return Ok(false);
        }
        let state = &mut self.ranks[rank as usize];
        state.stage += 1;
        state.entered = false;
        Ok(true)
    }

    fn enter(&mut self, rank: Rank, stage: u32) -> Result<(), Fault> {
        let step = self.algorithm.step(rank, stage);
        if step.send.is_none() && step.recv.is_none() && step.calc.is_none() {
            return Err(Fault::Empty { rank, stage });
        }
        if let Some(message) = step.send {
            let payload = self.payload(rank, stage, message)?;
            self.flying.entry((rank, message.peer, message.tag)).or_default().push_back(payload);
            self.messages += 1;
        }
        let state = &mut self.ranks[rank as usize];
        state.posted.extend(step.recv.map(|message| (stage, message)));
        state.entered = true;
        Ok(())
    }

    fn payload(&self, rank: Rank, stage: u32, message: Message) -> Result<Payload, Fault> {
        if message.peer >= self.job.processes || message.peer == rank {
            return Err(Fault::NoPeer { rank, stage, peer: message.peer });
        }
        let carried = self.algorithm.carries(rank, stage);
        let carries = carried.iter().map(|range| range.end - range.start).sum();
        if carries != message.bytes {
            return Err(Fault::SizeDiffers { rank, stage, says: message.bytes, carries });
        }
        let buffer = self.ranks[rank as usize].buffer(self.algorithm.source());
        let atoms = carried.iter().flat_map(|range| self.atoms.covering(range));
        let values: Vec<(usize, Value)> = atoms.map(|atom| (atom, buffer[atom].clone())).collect();
        if let Some((atom, _)) = values.iter().find(|(_, value)| value.is_none()) {
            return Err(Fault::SendsMissing { rank, stage, byte: self.atoms.byte(*atom) });
        }
        Ok(Payload { bytes: message.bytes, values })
    }

    /// Completes the posted receives, if all their messages are there.
    fn complete(&mut self, rank: Rank, stage: u32, after: Time) -> Result<bool, Fault> {
        let posted = self.ranks[rank as usize].posted.clone();
        let mut wanted: HashMap<(Rank, Tag), usize> = HashMap::new();
        for (_, message) in &posted {
            *wanted.entry((message.peer, message.tag)).or_default() += 1;
        }
        let there = |(&(from, tag), &count): (&(Rank, Tag), &usize)| {
            self.flying.get(&(from, rank, tag)).is_some_and(|queue| queue.len() >= count)
        };
        if !wanted.iter().all(there) {
            return Ok(false);
        }
        let mut needs = Time::ZERO;
        for (at, message) in posted {
            let combined = self.take(rank, at, message)?;
            needs += self.job.cost(combined);
        }
        self.ranks[rank as usize].posted.clear();
        if needs == after { Ok(true) } else { Err(Fault::Reduction { rank, stage, says: after, needs }) }
    }

    /// Applies one received message. Returns how many bytes were combined with existing data.
    fn take(&mut self, rank: Rank, stage: u32, message: Message) -> Result<u64, Fault> {
        let key = (message.peer, rank, message.tag);
        let Some(payload) = self.flying.get_mut(&key).and_then(VecDeque::pop_front) else {
            return Err(Fault::Deadlock { rank, stage });
        };
        let (sent, expected) = (payload.bytes, message.bytes);
        if sent != expected {
            return Err(Fault::ReceiveDiffers {
                from: message.peer,
                to: rank,
                tag: message.tag,
                sent,
                expected,
            });
        }
        let state = &mut self.ranks[rank as usize];
        let mut combined = 0;
        for &take in self.algorithm.takes(rank, stage) {
            for (atom, value) in &payload.values {
                combined += u64::from(state.apply(take, *atom, value)) * self.atoms.bytes(*atom);
            }
        }
        Ok(combined)
    }

    fn conclude(self) -> Result<Proof, Fault> {
        for (rank, state) in (0..).zip(&self.ranks) {
            if state.stage < self.algorithm.stages(rank) {
                return Err(Fault::Deadlock { rank, stage: state.stage });
            }
            if !state.posted.is_empty() || self.ends_open(rank) {
                return Err(Fault::EndsOpen { rank });
            }
        }
        if let Some((&(from, to, tag), _)) = self.flying.iter().find(|(_, queue)| !queue.is_empty()) {
            return Err(Fault::Leftover { from, to, tag });
        }
        let mut exact = true;
        for rank in 0..self.job.processes {
            for (range, of) in promise::promised(self.operation, self.job, rank) {
                exact &= self.kept(rank, &range, &of)?;
            }
        }
        let followed = promise::extent(self.operation, self.job) > 0;
        Ok(Proof { exact, followed, messages: self.messages })
    }

    fn ends_open(&self, rank: Rank) -> bool {
        let stages = self.algorithm.stages(rank);
        stages > 0 && self.algorithm.step(rank, stages - 1).then == Then::Go
    }

    /// Returns whether a promise is kept exactly, or an error if it is not kept at all.
    fn kept(&self, rank: Rank, range: &Range<u64>, of: &Range<Rank>) -> Result<bool, Fault> {
        let scans = matches!(self.operation, Operation::Scan | Operation::Exscan);
        let buffer = self.ranks[rank as usize].buffer(if scans { Buffer::Result } else { Buffer::Work });
        let repeats_allowed = matches!(self.operation, Operation::Allreduce | Operation::Barrier);
        let mut exact = true;
        for atom in self.atoms.covering(range) {
            let byte = self.atoms.byte(atom);
            let Some(counts) = &buffer[atom] else { return Err(Fault::Missing { rank, byte }) };
            for (contributor, &found) in (0..).zip(counts.iter()) {
                let expected = u32::from(of.contains(&contributor));
                exact &= found == expected;
                if found != expected && !(repeats_allowed && expected == 1 && found > 1) {
                    return Err(Fault::Wrong { rank, byte, of: contributor, found, expected });
                }
            }
        }
        Ok(exact)
    }
}

impl State {
    fn new(operation: Operation, job: &Job, atoms: &Atoms, rank: Rank) -> State {
        let own: Rc<[u32]> = (0..job.processes).map(|other| u32::from(other == rank)).collect();
        let mut work = vec![None; atoms.len()];
        for atom in atoms.covering(&promise::owned(operation, job, rank)) {
            work[atom] = Some(own.clone());
        }
        let result = if operation == Operation::Scan { work.clone() } else { vec![None; atoms.len()] };
        State { work, result, stage: 0, entered: false, posted: Vec::new() }
    }

    fn buffer(&self, buffer: Buffer) -> &[Value] {
        match buffer {
            Buffer::Work => &self.work,
            Buffer::Result => &self.result,
        }
    }

    /// Applies a received value. Returns whether it was combined with an existing one.
    fn apply(&mut self, take: Take, atom: usize, value: &Value) -> bool {
        let (Take::Place(buffer) | Take::Combine(buffer)) = take;
        let place = match buffer {
            Buffer::Work => &mut self.work[atom],
            Buffer::Result => &mut self.result[atom],
        };
        match (take, &*place, value) {
            (Take::Combine(_), Some(old), Some(new)) => {
                *place = Some(old.iter().zip(new.iter()).map(|(old, new)| old + new).collect());
                true
            }
            _ => {
                *place = value.clone();
                false
            }
        }
    }
}
