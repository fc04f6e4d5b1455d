//! Writes the decisions of a replay into its trace: which requests completed where, and whose messages were received.

use std::collections::{BTreeMap, HashMap, HashSet};
use straggler_model::Rank;
use straggler_schedule::traced::{Instruction, TracedRank, TracedRun};
use straggler_sim::programs::{Changed, Replayed};
use straggler_trace::operations::Operations;
use straggler_trace::{
    Class, CommId, Communicator, Completed, HowMany, Matched, RankTrace, RequestId, Trace,
};

/// Changes the details of calls according to the decisions.
pub(super) fn apply(trace: &mut Trace, recording: &TracedRun, replayed: &[Replayed]) {
    let sent = sent(trace, recording);
    let Trace { ranks, communicators, .. } = trace;
    for (((rank, recorded), replayed), new) in (0..).zip(recording.ranks()).zip(replayed).zip(ranks) {
        if replayed.changes.is_empty() {
            continue;
        }
        let mut writer = Writer {
            communicators,
            rank,
            recorded,
            requests: Requests::new(new, recorded),
            sources: sources(rank, recorded, replayed, &sent),
            roles: BTreeMap::new(),
            new,
        };
        writer.write(replayed);
    }
}

/// The source of a received message: the world rank of its sender, and its tag.
#[derive(Clone, Copy)]
struct Source {
    from: Rank,
    tag: i32,
}

/// Messages that wildcard receives may take: their tags in the program, by sender, receiver and tag in the recording.
type Sent = HashMap<(Rank, Rank, u32), Vec<i32>>;

fn sent(trace: &Trace, recording: &TracedRun) -> Sent {
    let mut wanted: HashSet<(Rank, u32)> = HashSet::new();
    for (rank, recorded) in (0..).zip(recording.ranks()) {
        wanted.extend(
            recorded.wild().iter().filter_map(|wild| Some((rank, tag_of(recorded, wild.instruction)?))),
        );
    }
    let mut sent = Sent::new();
    if wanted.is_empty() {
        return sent;
    }
    for ((rank, recorded), traced) in (0..).zip(recording.ranks()).zip(&trace.ranks) {
        for (number, instruction) in (0..).zip(recorded.instructions()) {
            let Instruction::Send { to, tag, .. } = *instruction else { continue };
            if wanted.contains(&(to, tag)) {
                let call = traced.calls.get(recorded.origin(number) as usize);
                sent.entry((rank, to, tag)).or_default().push(call.map_or(0, |call| call.tag));
            }
        }
    }
    sent
}

fn tag_of(recorded: &TracedRank, instruction: u32) -> Option<u32> {
    match recorded.instructions().get(instruction as usize) {
        Some(&Instruction::Recv { tag, .. }) => Some(tag),
        _ => None,
    }
}

/// The source of each wildcard receive. Messages of one sender are taken in the order of sending.
fn sources(rank: Rank, recorded: &TracedRank, replayed: &Replayed, sent: &Sent) -> HashMap<u32, Source> {
    let source = |change: &straggler_sim::programs::Change| match change.what {
        Changed::Source(from) => Some((change.instruction, from)),
        _ => None,
    };
    let changed: HashMap<u32, Rank> = replayed.changes.iter().filter_map(source).collect();
    let mut taken: HashMap<(Rank, u32), usize> = HashMap::new();
    let mut found = HashMap::new();
    for wild in recorded.wild() {
        let Some(tag) = tag_of(recorded, wild.instruction) else { continue };
        let from = changed.get(&wild.instruction).copied().unwrap_or(wild.from);
        let place = taken.entry((from, tag)).or_default();
        let tags = sent.get(&(from, rank, tag));
        if let Some(&tag) = tags.and_then(|tags| tags.get(*place)) {
            found.insert(wild.instruction, Source { from, tag });
        }
        *place += 1;
    }
    found
}

/// The request of each instruction, and vice versa.
#[derive(Default)]
struct Requests {
    of_instruction: HashMap<u32, RequestId>,
    instruction_of: HashMap<RequestId, u32>,
    /// The communicator of each; the call that starts a persistent request does not name it.
    comm_of: HashMap<u32, CommId>,
}

impl Requests {
    fn new(traced: &RankTrace, recorded: &TracedRank) -> Requests {
        let mut begun: HashMap<u32, Vec<u32>> = HashMap::new();
        for (number, instruction) in (0..).zip(recorded.instructions()) {
            let is_operation = matches!(
                instruction,
                Instruction::Send { .. } | Instruction::Recv { .. } | Instruction::Collective { .. }
            );
            if is_operation {
                begun.entry(recorded.origin(number)).or_default().push(number);
            }
        }
        let operations = Operations::new(traced);
        let mut requests = Requests::default();
        for acted in operations.walk() {
            // A call that begins several operations must have one instruction for each, or they cannot be assigned.
            let own = begun.get(&acted.number).filter(|own| own.len() == acted.begun.len());
            for (&instruction, operation) in own.into_iter().flatten().zip(acted.begun) {
                requests.comm_of.extend(operations.comm(operation).map(|comm| (instruction, comm)));
                if operation.has_request() {
                    requests.of_instruction.insert(instruction, operation.request);
                    requests.instruction_of.insert(operation.request, instruction);
                }
            }
        }
        requests
    }
}

/// Writes the decisions of one rank.
struct Writer<'a> {
    communicators: &'a [Communicator],
    rank: Rank,
    recorded: &'a TracedRank,
    requests: Requests,
    sources: HashMap<u32, Source>,
    /// For each instruction, the one that took its place.
    roles: BTreeMap<u32, u32>,
    new: &'a mut RankTrace,
}

impl Writer<'_> {
    fn write(&mut self, replayed: &Replayed) {
        let mut swaps: HashMap<u32, &[(u32, u32)]> = HashMap::new();
        for change in &replayed.changes {
            if let Changed::Requests(pairs) = &change.what {
                swaps.insert(change.instruction, pairs);
            }
        }
        for (number, instruction) in (0..).zip(self.recorded.instructions()) {
            match *instruction {
                Instruction::Wait { .. } | Instruction::Choose { .. } | Instruction::Poll { .. } => {
                    for &(one, other) in swaps.get(&number).copied().unwrap_or_default() {
                        let (own, others) = (self.role(one), self.role(other));
                        self.roles.insert(one, others);
                        self.roles.insert(other, own);
                    }
                    self.rewrite_requests(number);
                }
                Instruction::Recv { how, .. } if how.blocking => self.rewrite_receive(number),
                _ => {}
            }
        }
    }

    fn role(&self, instruction: u32) -> u32 {
        self.roles.get(&instruction).copied().unwrap_or(instruction)
    }

    /// Rewrites the requests that a call names and completes.
    fn rewrite_requests(&mut self, number: u32) {
        let origin = self.recorded.origin(number) as usize;
        let Some(call) = self.new.calls.get(origin) else { return };
        let (Class::Wait(how) | Class::Test(how)) = call.function.class() else { return };
        let (place, all) = (call.details as usize, matches!(how, HowMany::One | HowMany::All));
        let Some(mut details) = self.new.details.get(place).cloned() else { return };
        let actual = |request: RequestId| {
            let instruction = self.role(*self.requests.instruction_of.get(&request)?);
            Some((instruction, *self.requests.of_instruction.get(&instruction)?))
        };
        for request in &mut details.requests {
            *request = actual(*request).map_or(*request, |(_, request)| request);
        }
        for completed in details.completed.get_mut().into_iter().flatten() {
            let Some((instruction, request)) = actual(completed.request) else { continue };
            let same = request == completed.request;
            completed.request = request;
            completed.matched = self.matched(instruction).or(completed.matched.filter(|_| same));
        }
        // The sender of a wildcard receive is recorded where the receive completes.
        for &request in details.requests.iter().filter(|_| details.found) {
            let instruction = self.requests.instruction_of.get(&request).copied();
            let matched = instruction.and_then(|instruction| self.matched(instruction));
            let is_told = details.completed.iter().any(|completed| completed.request == request);
            if matched.is_some() && all && !is_told {
                details.completed.push(Completed { request, matched, cancelled: false });
            }
        }
        self.new.details[place] = details;
    }

    /// The sender and tag of a receive, by rank on its communicator.
    fn matched(&self, instruction: u32) -> Option<Matched> {
        let source = self.sources.get(&instruction)?;
        let origin = self.recorded.origin(instruction) as usize;
        let told = self.requests.comm_of.get(&instruction).copied();
        let comm = told.or_else(|| self.new.calls.get(origin).map(|call| call.comm))?;
        Some(Matched { peer: self.peer(comm, source.from)?, tag: source.tag })
    }

    fn peer(&self, comm: CommId, world: Rank) -> Option<i32> {
        let communicator = self.communicators.get(comm.index())?;
        let place = communicator.peers(self.rank).iter().position(|&rank| rank == world)?;
        i32::try_from(place).ok()
    }

    /// Rewrites a blocking wildcard receive; a receive after a probe names its sender itself.
    fn rewrite_receive(&mut self, number: u32) {
        let Some(matched) = self.matched(number) else { return };
        let origin = self.recorded.origin(number) as usize;
        let Some(call) = self.new.calls.get_mut(origin) else { return };
        // The peer of an exchange is the destination of its send.
        if call.peer >= 0 && !matches!(call.function.class(), Class::Sendrecv(_)) {
            (call.peer, call.tag) = (matched.peer, matched.tag);
        }
        let place = call.details as usize;
        if let Some(details) = self.new.details.get_mut(place) {
            details.matched = Some(matched);
        }
    }
}
