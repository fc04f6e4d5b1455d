//! Random programs, and the traces of their runs.

use std::collections::BTreeMap;
use straggler_model::Time;
use straggler_model::philox::Stream;
use straggler_trace::call::special;
use straggler_trace::{
    Call, CommId, Communicator, Completed, Details, Function, Matched, RankTrace, RequestId, Trace,
};

/// Something a rank does. Requests are numbered on each rank, in order of creation.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// Computes, with tests that fail meanwhile.
    Compute {
        time: u64,
        polls: Vec<Poll>,
    },
    Send {
        to: u32,
        comm: u32,
        tag: i32,
        bytes: u64,
        request: Option<u32>,
    },
    Recv {
        asked: (Option<u32>, Option<i32>),
        from: u32,
        tag: i32,
        comm: u32,
        bytes: u64,
        request: Option<u32>,
    },
    All {
        list: Vec<u32>,
        test: bool,
    },
    /// Waits or tests for any or some requests.
    Choose {
        list: Vec<u32>,
        taken: Vec<u32>,
        test: bool,
        some: bool,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Poll {
    pub(super) after: u64,
    pub(super) list: Vec<u32>,
    pub(super) all: bool,
}

/// A program: the acts of each rank.
pub(super) struct Drawn {
    pub(super) ranks: Vec<Vec<Act>>,
}

/// Messages with this tag are received from any source, and those on the second communicator with any tag.
pub(super) const FROM_ANYONE: i32 = 7;

#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) seed: u64,
    pub(super) ranks: u32,
    pub(super) events: u32,
    pub(super) largest: u64,
}

/// Draws communication in one global order, so that the program finishes.
pub(super) fn draw(shape: Shape) -> Drawn {
    let mut random = Stream::new(shape.seed, 0, 0, 3);
    let mut ranks: Vec<Vec<Act>> = vec![Vec::new(); shape.ranks as usize];
    let mut open: Vec<Vec<u32>> = vec![Vec::new(); shape.ranks as usize];
    let mut made = vec![0u32; shape.ranks as usize];
    let request = |made: &mut Vec<u32>, open: &mut Vec<Vec<u32>>, rank: u32| {
        let number = made[rank as usize];
        made[rank as usize] += 1;
        open[rank as usize].push(number);
        number
    };
    for _ in 0..shape.events {
        let rank = random.below(u64::from(shape.ranks)) as u32;
        match random.below(6) {
            0 => {
                let time = 1 + random.below(4_000_000);
                let polls = polls(&mut random, &open[rank as usize], time);
                ranks[rank as usize].push(Act::Compute { time, polls });
            }
            1..=3 if shape.ranks > 1 => {
                let to = (rank + 1 + random.below(u64::from(shape.ranks - 1)) as u32) % shape.ranks;
                let comm = random.below(3) as u32 / 2;
                let tag = [3, 4, FROM_ANYONE][random.below(3) as usize];
                let asked = match (comm, tag) {
                    (1, _) => (None, None),
                    (_, FROM_ANYONE) => (None, Some(tag)),
                    _ => (Some(rank), Some(tag)),
                };
                // If these were rendezvous, a message taken in place of another could make its sender wait forever.
                let is_exact = asked.0.is_some();
                let bytes = if is_exact { random.below(shape.largest) } else { 0 };
                // A blocking send might wait for a receive that comes after other waits, so sends are nonblocking.
                let sent = Some(request(&mut made, &mut open, rank));
                ranks[rank as usize].push(Act::Send { to, comm, tag, bytes, request: sent });
                let received = (random.below(4) > 0).then(|| request(&mut made, &mut open, to));
                let recv = Act::Recv { asked, from: rank, tag, comm, bytes, request: received };
                ranks[to as usize].push(recv);
            }
            _ => complete(&mut random, &mut ranks[rank as usize], &mut open[rank as usize]),
        }
    }
    for (acts, open) in ranks.iter_mut().zip(&mut open) {
        while !open.is_empty() {
            complete(&mut random, acts, open);
        }
    }
    Drawn { ranks }
}

pub(super) fn polls(random: &mut Stream, open: &[u32], time: u64) -> Vec<Poll> {
    if open.is_empty() {
        return Vec::new();
    }
    let mut times: Vec<u64> = (0..random.below(4)).map(|_| 1 + random.below(time)).collect();
    times.sort_unstable();
    times.dedup();
    times
        .into_iter()
        .filter(|&after| after < time)
        .map(|after| {
            let all = random.below(2) == 0;
            Poll { after, list: some_of(random, open), all }
        })
        .collect()
}

/// Draws at least one open request.
pub(super) fn some_of(random: &mut Stream, open: &[u32]) -> Vec<u32> {
    let first = random.below(open.len() as u64) as usize;
    let mut list: Vec<u32> = open.to_vec();
    list.rotate_left(first);
    list.truncate(1 + random.below(open.len() as u64) as usize);
    list
}

pub(super) fn complete(random: &mut Stream, acts: &mut Vec<Act>, open: &mut Vec<u32>) {
    if open.is_empty() {
        return;
    }
    let list = some_of(random, open);
    let (test, kind) = (random.below(2) == 0, random.below(3));
    let taken = match kind {
        0 => list.clone(),
        1 => vec![list[random.below(list.len() as u64) as usize]],
        _ => some_of(random, &list),
    };
    open.retain(|one| !taken.contains(one));
    acts.push(match kind {
        0 => Act::All { list, test },
        kind => Act::Choose { list, taken, test, some: kind == 2 },
    });
}

/// The act that each call of a rank belongs to, and which of its failed tests it is.
pub(super) type Calls = Vec<(usize, Option<usize>)>;

/// Returns the program as a trace, and the act of every call of each rank.
pub(super) fn traced(drawn: &Drawn) -> (Trace, Vec<Calls>) {
    let size = drawn.ranks.len() as u32;
    let mut acts_of_calls = Vec::new();
    let mut ranks = Vec::new();
    for acts in &drawn.ranks {
        let (mut clock, mut rank, mut places) = (0u64, RankTrace::default(), Vec::new());
        let mut wild: BTreeMap<u32, Matched> = BTreeMap::new();
        rank.push(Call::new(Function::Init, Time::ZERO, Time::ZERO));
        places.push((usize::MAX, None));
        for (number, act) in acts.iter().enumerate() {
            let call = |function: Function, clock: u64| Call {
                comm: CommId(0),
                ..Call::new(function, Time(clock), Time(clock))
            };
            let told = |taken: &[u32], wild: &BTreeMap<u32, Matched>, only_wild: bool| {
                let one = |&request: &u32| {
                    let matched = wild.get(&request).copied();
                    (!only_wild || matched.is_some()).then_some(Completed {
                        request: RequestId(request),
                        matched,
                        cancelled: false,
                    })
                };
                taken.iter().filter_map(one).collect::<Vec<_>>()
            };
            match act {
                Act::Compute { time, polls } => {
                    for (place, poll) in polls.iter().enumerate() {
                        let function = match (poll.all, poll.list.len()) {
                            (true, 1) => Function::Test,
                            (true, _) => Function::Testall,
                            (false, _) => Function::Testany,
                        };
                        let details = Details {
                            requests: poll.list.iter().copied().map(RequestId).collect(),
                            ..Details::default()
                        };
                        rank.push_with(call(function, clock + poll.after), details);
                        places.push((number, Some(place)));
                    }
                    clock += time;
                    continue;
                }
                &Act::Send { to, comm, tag, bytes, request } => {
                    let function = if request.is_some() { Function::Isend } else { Function::Send };
                    let request = request.unwrap_or(Call::NO_REQUEST.0);
                    let peer = to as i32;
                    rank.push(Call {
                        comm: CommId(comm),
                        peer,
                        tag,
                        sent: bytes,
                        request: RequestId(request),
                        ..call(function, clock)
                    });
                }
                &Act::Recv { asked, from, tag, comm, bytes, request } => {
                    let function = if request.is_some() { Function::Irecv } else { Function::Recv };
                    let matched = Matched { peer: from as i32, tag };
                    let is_wild = asked.0.is_none() || asked.1.is_none();
                    let plain = Call {
                        comm: CommId(comm),
                        peer: asked.0.map_or(special::ANY, |from| from as i32),
                        tag: asked.1.unwrap_or(special::ANY),
                        received: bytes,
                        request: RequestId(request.unwrap_or(Call::NO_REQUEST.0)),
                        ..call(function, clock)
                    };
                    match request {
                        Some(request) => {
                            rank.push(plain);
                            if is_wild {
                                wild.insert(request, matched);
                            }
                        }
                        None if is_wild => {
                            rank.push_with(plain, Details { matched: Some(matched), ..Details::default() });
                        }
                        None => rank.push(plain),
                    }
                }
                Act::All { list, test } => {
                    let function = if *test { Function::Testall } else { Function::Waitall };
                    let completed = told(list, &wild, true);
                    let details = Details {
                        requests: list.iter().copied().map(RequestId).collect(),
                        completed: completed.into(),
                        found: true,
                        ..Details::default()
                    };
                    rank.push_with(call(function, clock), details);
                }
                Act::Choose { list, taken, test, some } => {
                    let function = match (test, some) {
                        (false, false) => Function::Waitany,
                        (false, true) => Function::Waitsome,
                        (true, false) => Function::Testany,
                        (true, true) => Function::Testsome,
                    };
                    let completed = told(taken, &wild, false);
                    let details = Details {
                        requests: list.iter().copied().map(RequestId).collect(),
                        completed: completed.into(),
                        found: true,
                        ..Details::default()
                    };
                    rank.push_with(call(function, clock), details);
                }
            }
            places.push((number, None));
        }
        rank.push(Call::new(Function::Finalize, Time(clock), Time(clock)));
        ranks.push(rank);
        acts_of_calls.push(places);
    }
    let communicators = vec![Communicator::world(size), Communicator::world(size)];
    (Trace { ranks, communicators, ..Trace::default() }, acts_of_calls)
}
