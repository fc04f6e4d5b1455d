//! Random traces that an archive can hold, generated from a list of numbers.

use straggler_model::{Rank, Time};
use straggler_trace::call::{CommId, NO_COMM, special};
use straggler_trace::{
    Call, Class, Collective, Communicator, Completed, Details, Function, HowMany, Matched, RankTrace, Rare,
    RequestId, Start, Trace, WORLD,
};

/// Numbers that make the decisions.
pub struct Dice<'a> {
    numbers: &'a [u32],
    at: usize,
}

impl<'a> Dice<'a> {
    pub fn new(numbers: &'a [u32]) -> Dice<'a> {
        Dice { numbers, at: 0 }
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.at += 1;
        let number = self.numbers.get(self.at % self.numbers.len().max(1)).copied().unwrap_or_default();
        // The list is used repeatedly, with a small change each time.
        let number = u64::from(number) ^ (self.at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        (number % end.max(1) as u64) as usize
    }

    pub fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    fn bytes(&mut self) -> u64 {
        (self.below(1 << 20) as u64) << self.below(20)
    }
}

/// Prepared requests are never waited for here, since OTF2 does not say which of them is started.
pub fn trace(numbers: &[u32], ranks: u32, steps: usize) -> Trace {
    let mut dice = Dice::new(numbers);
    let communicators = communicators(&mut dice, ranks);
    let mut trace = Trace { communicators, ..Trace::default() };
    for rank in 0..ranks {
        let mut making =
            Making { rank, comms: &trace.communicators, out: RankTrace::default(), open: Vec::new() };
        making.out.host = dice.one_of(&["", "alpha", "beta"]).into();
        let mut clock = if rank == 0 { 0 } else { dice.below(1000) as u64 };
        for _ in 0..steps {
            let (enter, exit) = (clock, clock + dice.below(5000) as u64);
            making.step(&mut dice, Time(enter), Time(exit));
            clock = exit + 1 + dice.below(300) as u64;
        }
        making.wait(
            &mut dice,
            Function::Waitall,
            Call::new(Function::Waitall, Time(clock), Time(clock + 9)),
            true,
        );
        trace.ranks.push(making.out);
    }
    trace
}

fn communicators(dice: &mut Dice<'_>, ranks: u32) -> Vec<Communicator> {
    let mut all = vec![Communicator { name: "everybody".into(), ..Communicator::world(ranks) }];
    for number in 0..dice.below(4) {
        let mut members: Vec<Rank> = (0..ranks).collect();
        let size = 1 + dice.below(members.len());
        for place in 0..size {
            let other = place + dice.below(members.len() - place);
            members.swap(place, other);
        }
        let mut remote = members.split_off(size);
        if dice.below(2) == 0 {
            remote.clear();
        }
        let (parent, name) = (Some(WORLD), format!("part {number}"));
        all.push(Communicator { members, remote, parent, name, ..Communicator::default() });
    }
    all
}

struct Making<'a> {
    rank: Rank,
    comms: &'a [Communicator],
    out: RankTrace,
    /// Requests not yet completed, with the calls that made them.
    open: Vec<(RequestId, usize)>,
}

impl Making<'_> {
    fn step(&mut self, dice: &mut Dice<'_>, enter: Time, exit: Time) {
        let function = dice.one_of(Function::ALL);
        // Threads are counted in order of appearance.
        let threads = self.out.calls.iter().map(|call| call.thread + 1).max().unwrap_or_default();
        let thread = (dice.below(3) as u16).min(threads);
        let call = Call { thread, ..Call::new(function, enter, exit) };
        match function.class() {
            Class::Send(_, Start::Persistent)
            | Class::Recv(Start::Persistent)
            | Class::Collective(_, Start::Persistent)
            | Class::Neighbor(_, Start::Persistent)
            | Class::Sendrecv(Start::Nonblocking)
            | Class::Begin
            | Class::Mark => self.bare(Call { function: Function::Win_fence, ..call }),
            Class::Send(_, start) => {
                let call = self.partner(dice, call);
                self.begin(Call { sent: dice.bytes(), ..call }, start);
            }
            Class::Recv(start) | Class::MatchedRecv(start) => {
                let call = self.partner(dice, call);
                self.begin(Call { received: dice.bytes(), ..call }, start);
            }
            Class::Sendrecv(_) => {
                let call = self.partner(dice, call);
                let receive =
                    Some(Matched { peer: 6 + dice.below(9) as i32, tag: dice.below(70_000) as i32 });
                let call = Call { sent: dice.bytes(), received: dice.bytes(), ..call };
                self.out.push_with(call, Details { receive, ..Details::default() });
            }
            Class::Collective(operation, start) => {
                let call = self.collective(dice, call, Some(operation));
                self.begin(call, start);
            }
            Class::Neighbor(_, start) => {
                let call = self.collective(dice, call, None);
                self.begin(call, start);
            }
            Class::Wait(_) | Class::Test(_) => self.wait(dice, function, call, false),
            Class::NewComm { collective } => {
                let new_comm = self.comm(dice);
                // The definition of a communicator also names its parent.
                let parent = self.comms.get(new_comm.index()).and_then(|comm| comm.parent);
                let passes = matches!(function, Function::Comm_idup | Function::Comm_idup_with_info);
                let comm = match parent {
                    Some(parent) => parent,
                    None if collective && !passes => self.comm(dice),
                    None => NO_COMM,
                };
                let new_comm = Some(new_comm);
                self.out
                    .push_with(Call { comm, ..call }, Details::from(Rare { new_comm, ..Rare::default() }));
            }
            Class::FreeComm => {
                let comm = self.comm(dice);
                self.bare(Call { comm, ..call });
            }
            _ if function == Function::Unknown => {
                let text = dice.one_of(&["MPI_Attr_get", "MPI_Comm_rank"]).to_owned();
                *self.out.unknown.entry(text.clone()).or_default() += 1;
                self.out.push_with(call, Details::named(text));
            }
            _ => self.bare(call),
        }
    }

    fn bare(&mut self, call: Call) {
        self.out.push(call);
    }

    /// A communicator that this rank is in.
    fn comm(&self, dice: &mut Dice<'_>) -> CommId {
        let own = |comm: &(usize, &Communicator)| {
            comm.1.members.contains(&self.rank) || comm.1.remote.contains(&self.rank)
        };
        let own: Vec<_> =
            self.comms.iter().enumerate().filter(own).map(|(number, _)| CommId(number as u32)).collect();
        dice.one_of(&own)
    }

    fn partner(&self, dice: &mut Dice<'_>, call: Call) -> Call {
        let tag = dice.one_of(&[0, 1, 255, 256, 32_767, i32::MAX]);
        // The peer does not exist: no message has a partner, so all keep their random sizes.
        Call { comm: self.comm(dice), peer: 6 + dice.below(300) as i32, tag, ..call }
    }

    fn collective(&self, dice: &mut Dice<'_>, call: Call, operation: Option<Collective>) -> Call {
        let comm = self.comm(dice);
        let peer = dice.one_of(&[special::NONE, special::ROOT, special::NOBODY, 0, 3]);
        let (sent, received) = (dice.bytes(), dice.bytes());
        let here = &self.comms[comm.index()];
        let size = here.members.len().max(here.remote.len());
        let (sent, received) = match operation {
            // Score-P counts nothing for a single process, and there is no scan on intercommunicators.
            Some(Collective::Exscan) if size == 1 => (0, 0),
            Some(Collective::Scan | Collective::Exscan) if !here.remote.is_empty() => (0, 0),
            Some(Collective::Scan | Collective::Exscan) => (sent, sent),
            _ => (sent, received),
        };
        Call { comm, peer, sent, received, ..call }
    }

    fn begin(&mut self, call: Call, start: Start) {
        let mut call = call;
        if start == Start::Nonblocking {
            let made = self.out.calls.iter().filter(|call| call.request != Call::NO_REQUEST);
            call.request = RequestId(made.count() as u32);
            self.open.push((call.request, self.out.calls.len()));
        }
        self.out.push(call);
    }

    /// Waits for some of the open requests, or for all.
    fn wait(&mut self, dice: &mut Dice<'_>, function: Function, call: Call, all: bool) {
        let mut list = Vec::new();
        self.open.retain(|&open| {
            let wanted = all || dice.below(2) == 0;
            list.extend(wanted.then_some(open));
            !wanted
        });
        if list.is_empty() {
            return self.bare(call);
        }
        let (is_test, how_many) = match function.class() {
            Class::Test(how_many) => (true, how_many),
            Class::Wait(how_many) => (false, how_many),
            _ => unreachable!("{function} does not wait"),
        };
        let mut ends: Vec<bool> = match how_many {
            HowMany::One | HowMany::All => vec![!is_test || dice.below(2) == 0; list.len()],
            _ => list.iter().map(|_| dice.below(2) == 0).collect(),
        };
        if !is_test && !ends.contains(&true) {
            ends[0] = true;
        }
        let mut details =
            Details { requests: list.iter().map(|open| open.0).collect(), ..Details::default() };
        let lists_all = matches!(how_many, HowMany::Any | HowMany::Some);
        for (&(request, maker), &ends) in list.iter().zip(&ends) {
            if !ends {
                self.open.push((request, maker));
                continue;
            }
            let cancelled = dice.below(8) == 0 && self.forget(maker);
            if lists_all || cancelled {
                details.completed.push(Completed { request, matched: None, cancelled });
            }
        }
        details.found = !is_test || ends.contains(&true);
        self.out.push_with(call, details);
    }

    /// Whether a request can be cancelled: sends and receives can. A receive is blanked, since an
    /// archive says nothing about a cancelled one.
    fn forget(&mut self, maker: usize) -> bool {
        let call = &mut self.out.calls[maker];
        if matches!(call.function.class(), Class::Send(..)) {
            return true;
        }
        if !matches!(call.function.class(), Class::Recv(_) | Class::MatchedRecv(_)) {
            return false;
        }
        let blank = Call::new(call.function, call.enter, call.exit);
        *call = Call { comm: NO_COMM, request: call.request, thread: call.thread, ..blank };
        true
    }
}
