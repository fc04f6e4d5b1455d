//! Random traces in which messages and collectives have partners, and what they should contain.

use super::dice::Dice;
use std::collections::BTreeMap;
use straggler_model::{Rank, Time};
use straggler_trace::call::{CommId, special};
use straggler_trace::{
    Call, Communicator, Completed, Details, Function, Matched, RankTrace, Rare, RequestId, Trace,
};

/// Sender, receiver, communicator, tag and bytes.
pub type Key = (Rank, Rank, CommId, i32, u64);

/// A trace, the messages in it, and how often ranks take part in a collective of each communicator.
#[derive(Default)]
pub struct Talk {
    pub trace: Trace,
    pub messages: BTreeMap<Key, usize>,
    /// Messages that are sent but not received.
    pub lost: usize,
    pub collectives: BTreeMap<CommId, usize>,
    speakers: Vec<Speaker>,
}

/// What a rank still has to do.
#[derive(Default)]
struct Speaker {
    clock: u64,
    requests: RequestId,
    kept: u32,
    /// Requests that are waited for at the end, with whom they matched.
    open: Vec<(RequestId, Option<Matched>)>,
    /// Messages that are received at the end: their number and the size of the buffer.
    later: Vec<(u32, u64)>,
}

/// A message under construction.
#[derive(Clone, Copy)]
struct Line {
    comm: CommId,
    from: Rank,
    to: Rank,
    /// Ranks of the communicator.
    source: i32,
    destination: i32,
    tag: i32,
    bytes: u64,
    room: u64,
}

/// Needs at least two ranks.
pub fn talk(numbers: &[u32], ranks: u32, steps: usize) -> Talk {
    let mut dice = Dice::new(numbers);
    let mut talk = Talk::default();
    let halves = ((0..ranks / 2).collect::<Vec<_>>(), (ranks / 2..ranks).rev().collect::<Vec<_>>());
    let odd = Communicator { members: (0..ranks).rev().step_by(2).collect(), ..Communicator::default() };
    let between = Communicator { members: halves.0, remote: halves.1, ..Communicator::default() };
    // The same groups seen from the other side are another communicator.
    let turned = Communicator {
        members: between.remote.clone(),
        remote: between.members.clone(),
        ..Communicator::default()
    };
    talk.trace.communicators = vec![Communicator::world(ranks), odd, between, turned];
    talk.trace.ranks = vec![RankTrace::default(); ranks as usize];
    talk.speakers.resize_with(ranks as usize, Speaker::default);
    talk.greet();
    for _ in 0..steps {
        match dice.below(12) {
            0 => talk.cancelled(&mut dice),
            1 => talk.nobody(&mut dice),
            2 => talk.swap(&mut dice),
            3 => talk.collective(&mut dice),
            4 => talk.lose(&mut dice),
            _ => {
                let line = talk.line(&mut dice);
                talk.send(&mut dice, line);
                talk.receive(&mut dice, line);
                talk.note(line);
            }
        }
    }
    (0..ranks).for_each(|rank| talk.end(rank));
    talk
}

impl Talk {
    /// At least one request: an archive without any would be read as one of TAU, which records none.
    fn greet(&mut self) {
        let line =
            Line { comm: CommId(0), from: 0, to: 1, source: 0, destination: 1, tag: 2, bytes: 5, room: 5 };
        let request = self.request(0);
        self.push(0, Call { request, ..Self::outgoing(line, Function::Isend) }, Details::default());
        self.push(0, plain(Function::Wait), Details { found: true, ..given(&[request]) });
        let receive = Call { comm: CommId(0), peer: 0, tag: 2, received: 5, ..plain(Function::Recv) };
        self.push(1, receive, Details::default());
        self.note(line);
    }

    fn line(&self, dice: &mut Dice<'_>) -> Line {
        let ranks = self.trace.ranks.len();
        let comm = CommId(dice.below(self.trace.communicators.len()) as u32);
        let of_comm = &self.trace.communicators[comm.index()];
        let from = dice.below(ranks) as Rank;
        let is_in = |rank: Rank| of_comm.members.contains(&rank) || of_comm.remote.contains(&rank);
        let comm = if is_in(from) { comm } else { CommId(0) };
        let peers = self.trace.communicators[comm.index()].peers(from);
        let destination = dice.below(peers.len());
        let to = peers[destination];
        let back = self.trace.communicators[comm.index()].peers(to);
        let source = back.iter().position(|&rank| rank == from).unwrap() as i32;
        let bytes = dice.below(100) as u64;
        let room = bytes + dice.below(2) as u64 * 50;
        let tag = dice.below(3) as i32;
        Line { comm, from, to, source, destination: destination as i32, tag, bytes, room }
    }

    fn note(&mut self, line: Line) {
        *self.messages.entry((line.from, line.to, line.comm, line.tag, line.bytes)).or_default() += 1;
    }

    fn push(&mut self, rank: Rank, call: Call, details: Details) {
        let clock = &mut self.speakers[rank as usize].clock;
        let call = Call { enter: Time(*clock), exit: Time(*clock + 50), ..call };
        *clock += 100;
        self.trace.ranks[rank as usize].push_with(call, details);
    }

    fn request(&mut self, rank: Rank) -> RequestId {
        let speaker = &mut self.speakers[rank as usize];
        let request = speaker.requests;
        speaker.requests = request.wrapping_add(1);
        request
    }

    fn outgoing(line: Line, function: Function) -> Call {
        let Line { comm, destination: peer, tag, bytes: sent, .. } = line;
        Call { comm, peer, tag, sent, ..plain(function) }
    }

    fn send(&mut self, dice: &mut Dice<'_>, line: Line) {
        let rank = line.from;
        let nobody = Some(Matched { peer: special::NOBODY, tag: 0 });
        match dice.below(6) {
            0 => self.push(rank, Self::outgoing(line, Function::Send), Details::default()),
            1 => {
                let details = Details { receive: nobody, ..Details::default() };
                self.push(rank, Self::outgoing(line, Function::Sendrecv), details);
            }
            2 => self.prepared(dice, rank, Self::outgoing(line, Function::Send_init)),
            3 => {
                let request = self.request(rank);
                let call = Call { request, ..Self::outgoing(line, Function::Isendrecv) };
                self.push(rank, call, Details { receive: nobody, ..Details::default() });
                self.complete(dice, rank, request, None);
            }
            way => {
                let request = self.request(rank);
                let function = dice.one_of(&[Function::Isend, Function::Issend, Function::Ibsend]);
                self.push(rank, Call { request, ..Self::outgoing(line, function) }, Details::default());
                match way {
                    4 => self.push(rank, plain(Function::Request_free), given(&[request])),
                    _ => self.complete(dice, rank, request, None),
                }
            }
        }
    }

    /// A receive as requested, and whom it matched if it is a wildcard.
    fn incoming(dice: &mut Dice<'_>, line: Line, function: Function) -> (Call, Option<Matched>) {
        let exact = Matched { peer: line.source, tag: line.tag };
        let peer = if dice.below(3) == 0 { special::ANY } else { exact.peer };
        let tag = if dice.below(3) == 0 { special::ANY } else { exact.tag };
        let call = Call { comm: line.comm, peer, tag, received: line.room, ..plain(function) };
        (call, (exact != Matched { peer, tag }).then_some(exact))
    }

    fn receive(&mut self, dice: &mut Dice<'_>, line: Line) {
        let rank = line.to;
        match dice.below(7) {
            0 => {
                let (call, matched) = Self::incoming(dice, line, Function::Recv);
                self.push(rank, call, Details { matched, ..Details::default() });
            }
            1 => {
                let call = Call { received: line.room, ..Self::outgoing(line, Function::Recv_init) };
                self.prepared(dice, rank, Call { peer: line.source, sent: 0, ..call });
            }
            2 => self.probed(dice, line),
            3 => {
                // Freed, or forgotten until the end.
                let request = self.request(rank);
                let call = Call { received: line.room, ..Self::outgoing(line, Function::Irecv) };
                self.push(rank, Call { peer: line.source, sent: 0, request, ..call }, Details::default());
                if dice.below(2) == 0 {
                    self.push(rank, plain(Function::Request_free), given(&[request]));
                }
            }
            _ => {
                let request = self.request(rank);
                let (call, matched) = Self::incoming(dice, line, Function::Irecv);
                self.push(rank, Call { request, ..call }, Details::default());
                self.complete(dice, rank, request, matched);
            }
        }
    }

    fn probed(&mut self, dice: &mut Dice<'_>, line: Line) {
        let rank = line.to;
        let blocking = dice.below(2) == 0;
        let function = if blocking { Function::Mprobe } else { Function::Improbe };
        let (probe, _) = Self::incoming(dice, line, function);
        let probe = Call { received: 0, ..probe };
        if !blocking {
            self.push(rank, probe, Details::default());
        }
        let message = self.speakers[rank as usize].kept;
        self.speakers[rank as usize].kept += 1;
        let matched = Some(Matched { peer: line.source, tag: line.tag });
        let found = Details {
            found: !blocking,
            matched,
            rare: Rare { message: Some(message), ..Rare::default() }.into(),
            ..Details::default()
        };
        self.push(rank, probe, found);
        let kept = Details::from(Rare { message: Some(message), ..Rare::default() });
        match dice.below(3) {
            0 => self.push(rank, Call { received: line.room, ..plain(Function::Mrecv) }, kept),
            1 => self.speakers[rank as usize].later.push((message, line.room)),
            _ => {
                let request = self.request(rank);
                self.push(rank, Call { received: line.room, request, ..plain(Function::Imrecv) }, kept);
                self.complete(dice, rank, request, None);
            }
        }
    }

    /// Prepares an operation, starts it together with one whose peer is MPI_PROC_NULL, and completes both.
    fn prepared(&mut self, dice: &mut Dice<'_>, rank: Rank, call: Call) {
        let (first, second) = (self.request(rank), self.request(rank));
        let nobody = Call { peer: special::NOBODY, ..call };
        self.push(rank, Call { request: first, ..nobody }, Details::default());
        self.push(rank, Call { request: second, ..call }, Details::default());
        let (one, other) = (self.request(rank), self.request(rank));
        self.push(rank, Call { request: one, ..plain(Function::Startall) }, given(&[first, second]));
        self.push(rank, plain(Function::Wait), given(&[one]));
        self.complete(dice, rank, other, None);
    }

    /// Completes a request in one of many ways, or leaves it for the end.
    fn complete(&mut self, dice: &mut Dice<'_>, rank: Rank, request: RequestId, matched: Option<Matched>) {
        let completed = Completed { request, matched, cancelled: false };
        let wildcard: Vec<Completed> = matched.iter().map(|_| completed).collect();
        // Another request in the list, which stays active.
        let mut others: Vec<RequestId> =
            self.speakers[rank as usize].open.iter().map(|open| open.0).take(2).collect();
        others.push(request);
        match dice.below(6) {
            0 => {
                let found = Details { completed: wildcard.into(), found: true, ..given(&[request]) };
                self.push(rank, plain(Function::Wait), found);
                // It is complete by then, so nothing more happens.
                self.push(rank, plain(Function::Wait), Details { found: true, ..given(&[request]) });
            }
            1 => {
                self.push(rank, plain(Function::Test), given(&[request]));
                let found = Details { completed: wildcard.into(), found: true, ..given(&[request]) };
                self.push(rank, plain(Function::Test), found);
            }
            2 | 3 => {
                let function = dice.one_of(&[
                    Function::Waitany,
                    Function::Waitsome,
                    Function::Testany,
                    Function::Testsome,
                ]);
                let found = Details { completed: vec![completed].into(), found: true, ..given(&others) };
                self.push(rank, plain(function), found);
            }
            _ => self.speakers[rank as usize].open.push((request, matched)),
        }
    }

    /// Two ranks send to each other and receive from each other in one call.
    fn swap(&mut self, dice: &mut Dice<'_>) {
        let line = self.line(dice);
        let back = Line {
            from: line.to,
            to: line.from,
            source: line.destination,
            destination: line.source,
            ..self.line(dice)
        };
        let back = Line { comm: line.comm, ..back };
        // A rank needs only one call to exchange with itself.
        let ways = if line.from == line.to { vec![(line, line)] } else { vec![(line, back), (back, line)] };
        for (out, into) in ways {
            let receive = Some(Matched { peer: into.source, tag: into.tag });
            let details = Details { receive, ..Details::default() };
            let call = Call { received: into.room, ..Self::outgoing(out, Function::Sendrecv_replace) };
            if dice.below(2) == 0 {
                self.push(out.from, call, details);
            } else {
                let request = self.request(out.from);
                self.push(out.from, Call { function: Function::Isendrecv, request, ..call }, details);
                self.complete(dice, out.from, request, None);
            }
            self.note(out);
        }
    }

    fn cancelled(&mut self, dice: &mut Dice<'_>) {
        let line = self.line(dice);
        let request = self.request(line.to);
        let (call, _) = Self::incoming(dice, line, Function::Irecv);
        self.push(line.to, Call { request, ..call }, Details::default());
        self.push(line.to, plain(Function::Cancel), given(&[request]));
        let completed = vec![Completed { request, matched: None, cancelled: true }];
        self.push(
            line.to,
            plain(Function::Wait),
            Details { completed: completed.into(), found: true, ..given(&[request]) },
        );
    }

    fn nobody(&mut self, dice: &mut Dice<'_>) {
        let line = Line { source: special::NOBODY, destination: special::NOBODY, ..self.line(dice) };
        let request = self.request(line.to);
        let call = Self::outgoing(line, dice.one_of(&[Function::Isend, Function::Irecv, Function::Imrecv]));
        self.push(line.to, Call { request, ..call }, Details::default());
        self.complete(dice, line.to, request, None);
    }

    /// A send that is never received, or that fails.
    fn lose(&mut self, dice: &mut Dice<'_>) {
        let line = Line { tag: 9, ..self.line(dice) };
        let error = (dice.below(2) == 0).then_some(13);
        self.lost += usize::from(error.is_none());
        self.push(
            line.from,
            Self::outgoing(line, Function::Send),
            Details::from(Rare { error, ..Rare::default() }),
        );
    }

    fn collective(&mut self, dice: &mut Dice<'_>) {
        let comm = CommId(dice.below(self.trace.communicators.len()) as u32);
        let of_comm = &self.trace.communicators[comm.index()];
        let members: Vec<Rank> = of_comm.members.iter().chain(&of_comm.remote).copied().collect();
        *self.collectives.entry(comm).or_default() += members.len();
        let way = dice.below(4);
        for rank in members {
            let call = |function| Call { comm, sent: 8, received: 8, ..plain(function) };
            match way {
                0 => self.push(rank, call(Function::Allreduce), Details::default()),
                1 => self.push(rank, call(Function::Neighbor_alltoall), Details::default()),
                2 => self.prepared_collective(dice, rank, call(Function::Barrier_init)),
                _ => {
                    let request = self.request(rank);
                    self.push(rank, Call { request, ..call(Function::Ialltoall) }, Details::default());
                    self.complete(dice, rank, request, None);
                }
            }
        }
    }

    fn prepared_collective(&mut self, dice: &mut Dice<'_>, rank: Rank, call: Call) {
        let (first, begun) = (self.request(rank), self.request(rank));
        self.push(rank, Call { request: first, ..call }, Details::default());
        self.push(rank, Call { request: begun, ..plain(Function::Start) }, given(&[first]));
        self.complete(dice, rank, begun, None);
    }

    fn end(&mut self, rank: Rank) {
        let Speaker { open, later, .. } = std::mem::take(&mut self.speakers[rank as usize]);
        self.speakers[rank as usize].clock = self.trace.ranks[rank as usize].calls.len() as u64 * 100;
        // The message kept last is received first.
        for (message, received) in later.into_iter().rev() {
            let details = Details::from(Rare { message: Some(message), ..Rare::default() });
            self.push(rank, Call { received, ..plain(Function::Mrecv) }, details);
        }
        let requests: Vec<RequestId> = open.iter().map(|open| open.0).collect();
        let wildcards = open.iter().filter(|open| open.1.is_some());
        let completed = wildcards.map(|&(request, matched)| Completed { request, matched, cancelled: false });
        let details = Details { completed: completed.collect(), found: true, ..given(&requests) };
        self.push(rank, plain(Function::Waitall), details);
        self.push(rank, plain(Function::Finalize), Details::default());
    }
}

fn plain(function: Function) -> Call {
    Call::new(function, Time::ZERO, Time::ZERO)
}

fn given(requests: &[RequestId]) -> Details {
    Details { requests: requests.into(), ..Details::default() }
}
