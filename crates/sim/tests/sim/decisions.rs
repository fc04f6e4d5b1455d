//! Programs that decide as they run, against an interpreter of the same calls that is as slow and as plain as can be.
//!
//! The interpreter knows calls, not instructions: it keeps every event in one list and looks through all of them for the
//! next. What it shares with the engines is what the model says.

use crate::schedules;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use straggler_model::noise::Injection;
use straggler_model::philox::Stream;
use straggler_model::{Link, Network, PerByte, Time};
use straggler_schedule::traced::{Building, Decisions, Options, Playback, Recording};
use straggler_sim::programs::{Changed, Replayed};
use straggler_sim::{Control, EngineChoice, Simulation};
use straggler_trace::call::special;
use straggler_trace::{Call, Communicator, Completed, Details, Function, Matched, RankTrace, Trace};

/// Something a rank does. Requests are numbered on each rank, in order of creation.
#[derive(Clone, Debug)]
enum Act {
    /// Computes, and tests in vain meanwhile.
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
    /// Waits for any, or some, or tests for them.
    Choose {
        list: Vec<u32>,
        taken: Vec<u32>,
        test: bool,
        some: bool,
    },
}

#[derive(Clone, Debug)]
struct Poll {
    after: u64,
    list: Vec<u32>,
    all: bool,
}

/// A program: the acts of each rank.
struct Drawn {
    ranks: Vec<Vec<Act>>,
}

/// Messages on this tag are received from anyone, those on the second communicator whatever their tag.
const FROM_ANYONE: i32 = 7;

#[derive(Clone, Copy, Debug)]
struct Shape {
    seed: u64,
    ranks: u32,
    events: u32,
    largest: u64,
}

/// Draws what happens between ranks in one order for all, so that the program comes to its end.
fn draw(shape: Shape) -> Drawn {
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
                // Were these rendezvous, a message that comes in place of another could let its sender wait for good.
                let is_exact = asked.0.is_some();
                let bytes = if is_exact { random.below(shape.largest) } else { 0 };
                // A blocking send may wait for the receive: that must not come behind other waiting.
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

fn polls(random: &mut Stream, open: &[u32], time: u64) -> Vec<Poll> {
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

/// At least one.
fn some_of(random: &mut Stream, open: &[u32]) -> Vec<u32> {
    let first = random.below(open.len() as u64) as usize;
    let mut list: Vec<u32> = open.to_vec();
    list.rotate_left(first);
    list.truncate(1 + random.below(open.len() as u64) as usize);
    list
}

fn complete(random: &mut Stream, acts: &mut Vec<Act>, open: &mut Vec<u32>) {
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

/// The act that each call of a rank belongs to, and which of its tests in vain it is.
type Calls = Vec<(usize, Option<usize>)>;

/// The program as a trace, and for each rank the act of every call: a test in vain counts by its place there.
fn traced(drawn: &Drawn) -> (Trace, Vec<Calls>) {
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
                comm: 0,
                ..Call::new(function, Time(clock), Time(clock))
            };
            let told = |taken: &[u32], wild: &BTreeMap<u32, Matched>, only_wild: bool| {
                let one = |&request: &u32| {
                    let matched = wild.get(&request).copied();
                    (!only_wild || matched.is_some()).then_some(Completed {
                        request,
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
                        let details = Details { requests: poll.list.clone().into(), ..Details::default() };
                        rank.push_with(call(function, clock + poll.after), details);
                        places.push((number, Some(place)));
                    }
                    clock += time;
                    continue;
                }
                &Act::Send { to, comm, tag, bytes, request } => {
                    let function = if request.is_some() { Function::Isend } else { Function::Send };
                    let request = request.unwrap_or(Call::NO_REQUEST);
                    let peer = to as i32;
                    rank.push(Call { comm, peer, tag, sent: bytes, request, ..call(function, clock) });
                }
                &Act::Recv { asked, from, tag, comm, bytes, request } => {
                    let function = if request.is_some() { Function::Irecv } else { Function::Recv };
                    let matched = Matched { peer: from as i32, tag };
                    let is_wild = asked.0.is_none() || asked.1.is_none();
                    let plain = Call {
                        comm,
                        peer: asked.0.map_or(special::ANY, |from| from as i32),
                        tag: asked.1.unwrap_or(special::ANY),
                        received: bytes,
                        request: request.unwrap_or(Call::NO_REQUEST),
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
                        requests: list.clone().into(),
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
                        requests: list.clone().into(),
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

/// A decision that differs from the trace's: the rank, its act, the test in vain if it is one, and what is different.
type Decision = (u32, usize, Option<usize>, &'static str);

#[derive(Clone, Debug)]
enum What {
    Act,
    Message { from: u32, comm: u32, tag: i32, bytes: u64, send: (u32, u32) },
    Acknowledgement { request: u32 },
    Moment,
}

#[derive(Clone, Debug)]
struct Event {
    rank: u32,
    ready: u64,
    created: u64,
    class: u8,
    order: u64,
    what: What,
}

#[derive(Clone, Copy, Debug)]
struct Done {
    at: u64,
    /// When a test would have found it: a message that waits for the CPU is handled by the test itself.
    found: u64,
    report: u64,
}

struct Early {
    from: u32,
    comm: u32,
    tag: i32,
    bytes: u64,
    send: u32,
    done: u64,
}

type Posted = (Option<u32>, Option<i32>, u32, usize);

#[derive(Default)]
struct State {
    cpu: u64,
    send: u64,
    recv: u64,
    next: usize,
    ready: u64,
    /// The blocking act that it is in, or the choice.
    inside: Option<usize>,
    posted: Vec<Posted>,
    early: Vec<Early>,
    /// When requests complete, as far as is told; those that were used up are kept.
    done: BTreeMap<u32, Done>,
    used: BTreeSet<u32>,
    /// The request that is meant where the trace names one.
    role: BTreeMap<u32, u32>,
    reports: u64,
    sent: u64,
    now: u64,
    finish: u64,
    /// Tests in vain: when, about what, and which.
    polls: Vec<(u64, Vec<u32>, bool, usize, usize)>,
    since: u64,
}

struct Interpreter<'a> {
    drawn: &'a Drawn,
    link: &'a Link,
    overlap: bool,
    states: Vec<State>,
    events: Vec<Event>,
    decisions: Vec<Decision>,
}

impl Interpreter<'_> {
    fn run(mut self) -> (Vec<u64>, Vec<Decision>) {
        for rank in 0..self.states.len() as u32 {
            self.go_on(rank, 0);
        }
        while let Some((place, t)) = self.first() {
            let event = self.events.remove(place);
            self.run_event(&event, t);
        }
        for (rank, state) in self.states.iter().enumerate() {
            assert_eq!(state.next, self.drawn.ranks[rank].len(), "rank {rank} is stuck");
            assert!(state.inside.is_none());
        }
        self.answer_polls();
        let finish = self.states.iter().map(|state| state.finish.max(state.cpu)).collect();
        self.decisions.sort_unstable();
        (finish, self.decisions)
    }

    /// The event that runs next, and when.
    fn first(&self) -> Option<(usize, u64)> {
        let key = |event: &Event| {
            let state = &self.states[event.rank as usize];
            let act = matches!(event.what, What::Act)
                .then(|| &self.drawn.ranks[event.rank as usize][event.order as usize]);
            let eligible = match (&event.what, act) {
                (What::Act, Some(Act::Send { .. })) => event.ready.max(state.cpu).max(state.send),
                (What::Act, Some(Act::Recv { .. })) => event.ready,
                (What::Act | What::Moment, _) => event.ready.max(state.cpu),
                (What::Message { .. }, _) => event.ready.max(state.cpu).max(state.recv),
                (What::Acknowledgement { .. }, _) => event.ready,
            };
            (eligible, event.created, event.class, event.order, event.rank)
        };
        let first = self.events.iter().enumerate().min_by_key(|(_, event)| key(event))?;
        Some((first.0, key(first.1).0))
    }

    fn act(&self, rank: u32, number: usize) -> &Act {
        &self.drawn.ranks[rank as usize][number]
    }

    /// Comes to the acts of a rank, one after the other, up to one that takes an event or waits.
    fn go_on(&mut self, rank: u32, t: u64) {
        loop {
            let number = self.states[rank as usize].next;
            if number == self.drawn.ranks[rank as usize].len() {
                return;
            }
            let act = self.act(rank, number).clone();
            let state = &mut self.states[rank as usize];
            state.next += 1;
            state.since = state.ready;
            match act {
                Act::Compute { .. } | Act::Send { .. } | Act::Recv { .. } => {
                    // Computations in a row are one, with all tests in them.
                    let (class, order) = match act {
                        Act::Send { .. } => (1, number),
                        Act::Recv { .. } => (2, number),
                        _ => (3, number),
                    };
                    while class == 3
                        && matches!(
                            self.drawn.ranks[rank as usize].get(state.next),
                            Some(Act::Compute { .. })
                        )
                    {
                        state.next += 1;
                    }
                    let ready = state.ready.max(state.cpu);
                    self.events.push(Event {
                        rank,
                        ready,
                        created: t,
                        class,
                        order: order as u64,
                        what: What::Act,
                    });
                    return;
                }
                Act::All { .. } | Act::Choose { .. } => {
                    state.inside = Some(number);
                    if !self.try_to_leave(rank, t) {
                        return;
                    }
                }
            }
        }
    }

    fn run_event(&mut self, event: &Event, t: u64) {
        let rank = event.rank;
        match event.what.clone() {
            What::Act => self.run_act(rank, event.order as usize, t),
            What::Moment => {
                self.states[rank as usize].now = t;
                if self.states[rank as usize].inside.is_some() && self.try_to_leave(rank, t) {
                    self.go_on(rank, t);
                }
            }
            What::Acknowledgement { request } => {
                let state = &mut self.states[rank as usize];
                state.cpu = state.cpu.max(t);
                state.send = state.send.max(t);
                self.completed(rank, request, t, 0, t);
            }
            What::Message { from, comm, tag, bytes, send } => {
                let (overhead, gap) = self.costs(bytes);
                let link = self.link;
                let state = &mut self.states[rank as usize];
                state.recv = t + link.gap.ps() + gap;
                let receive = link.recv_overhead.ps();
                let done = if self.overlap {
                    state.cpu = t + receive + overhead;
                    state.cpu.max(t + receive + gap)
                } else {
                    state.cpu = t + receive + overhead.max(gap);
                    state.cpu
                };
                let fits = |&(source, tag_, comm_, _): &Posted| {
                    comm_ == comm
                        && source.is_none_or(|source| source == from)
                        && tag_.is_none_or(|tag_| tag_ == tag)
                };
                match state.posted.iter().position(fits) {
                    None => {
                        let done = if self.overlap { done } else { 0 };
                        state.early.push(Early { from, comm, tag, bytes, send: send.1, done });
                    }
                    Some(place) => {
                        let posted = state.posted.remove(place).3;
                        self.acknowledge(rank, from, bytes, send.1, t);
                        self.received(rank, posted, from, (done, t - event.ready), t);
                    }
                }
            }
        }
    }

    /// What k bytes cost in overhead, and in gaps.
    fn costs(&self, bytes: u64) -> (u64, u64) {
        let bytes = bytes.max(1) - 1;
        (self.link.overhead_per_byte.of(bytes).ps(), self.link.gap_per_byte.of(bytes).ps())
    }

    fn acknowledge(&mut self, receiver: u32, sender: u32, bytes: u64, request: u32, t: u64) {
        if bytes > self.link.eager_limit {
            let ready = t + self.link.latency.ps();
            let what = What::Acknowledgement { request };
            let _ = receiver;
            self.events.push(Event {
                rank: sender,
                ready,
                created: t,
                class: 0,
                order: request.into(),
                what,
            });
        }
    }

    fn run_act(&mut self, rank: u32, number: usize, t: u64) {
        self.states[rank as usize].now = t;
        match self.act(rank, number).clone() {
            Act::Compute { .. } => {
                let mut all = 0;
                let mut place = number;
                while let Some(Act::Compute { time, polls }) = self.drawn.ranks[rank as usize].get(place) {
                    for (which, poll) in polls.iter().enumerate() {
                        let list = self.meant(rank, &poll.list);
                        self.states[rank as usize].polls.push((
                            t + all + poll.after,
                            list,
                            poll.all,
                            place,
                            which,
                        ));
                    }
                    all += time;
                    place += 1;
                }
                let state = &mut self.states[rank as usize];
                state.cpu = t + all;
                state.ready = state.ready.max(state.cpu);
                self.go_on(rank, t);
            }
            Act::Send { to, comm, tag, bytes, request } => {
                let (overhead, gap) = self.costs(bytes);
                let link = self.link;
                let state = &mut self.states[rank as usize];
                state.cpu = t + link.send_overhead.ps() + overhead;
                state.send = t + link.gap.ps() + gap;
                let done = state.cpu;
                let ready = t + link.send_overhead.ps() + link.latency.ps();
                let order = u64::from(rank) << 32 | state.sent;
                state.sent += 1;
                let request = request.unwrap_or(u32::MAX);
                let what = What::Message { from: rank, comm, tag, bytes, send: (rank, request) };
                self.events.push(Event { rank: to, ready, created: t, class: 4, order, what });
                let state = &mut self.states[rank as usize];
                state.ready = state.ready.max(t);
                self.go_on(rank, t);
                if bytes <= link.eager_limit {
                    self.completed(rank, request, done, 0, t);
                }
            }
            Act::Recv { asked: (source, tag), comm, request, .. } => {
                let state = &mut self.states[rank as usize];
                let fits = |early: &Early| {
                    early.comm == comm
                        && source.is_none_or(|source| source == early.from)
                        && tag.is_none_or(|tag| tag == early.tag)
                };
                let place = state.early.iter().position(fits);
                let early = place.map(|place| state.early.remove(place));
                if early.is_none() {
                    state.posted.push((source, tag, comm, number));
                }
                if request.is_some() {
                    state.ready = state.ready.max(t);
                    self.go_on(rank, t);
                } else {
                    state.inside = Some(number);
                }
                if let Some(early) = early {
                    self.acknowledge(rank, early.from, early.bytes, early.send, t);
                    self.received(rank, number, early.from, (t.max(early.done), 0), t);
                }
            }
            Act::All { .. } | Act::Choose { .. } => unreachable!("these are no events"),
        }
    }

    /// A receive has its message, which has waited for the CPU or the NIC so long.
    fn received(&mut self, rank: u32, number: usize, from: u32, (done, delay): (u64, u64), t: u64) {
        let Act::Recv { from: traced, request, .. } = *self.act(rank, number) else { unreachable!() };
        if from != traced {
            self.decisions.push((rank, number, None, "source"));
        }
        match request {
            Some(request) => self.completed(rank, request, done, delay, t),
            None => {
                let state = &mut self.states[rank as usize];
                state.finish = state.finish.max(done);
                state.ready = state.ready.max(done);
                state.inside = None;
                state.reports += 1;
                self.go_on(rank, t);
            }
        }
    }

    /// It is told at `t` that a request completes at `done`.
    fn completed(&mut self, rank: u32, request: u32, done: u64, delay: u64, t: u64) {
        let state = &mut self.states[rank as usize];
        state.finish = state.finish.max(done);
        state.reports += 1;
        let report = state.reports;
        state.done.insert(request, Done { at: done, found: done - delay, report });
        let concerns = state.inside.is_some_and(|number| match &self.drawn.ranks[rank as usize][number] {
            Act::All { list, .. } | Act::Choose { list, .. } => self.meant(rank, list).contains(&request),
            _ => false,
        });
        if concerns && self.try_to_leave(rank, t) {
            self.go_on(rank, t);
        }
    }

    fn meant(&self, rank: u32, list: &[u32]) -> Vec<u32> {
        let role = &self.states[rank as usize].role;
        list.iter().map(|one| role.get(one).copied().unwrap_or(*one)).collect()
    }

    /// Whether the wait or choice that a rank is in is over.
    fn try_to_leave(&mut self, rank: u32, t: u64) -> bool {
        let Some(number) = self.states[rank as usize].inside else { return false };
        let (list, taken, test) = match self.act(rank, number).clone() {
            Act::All { list, test } => (list.clone(), list, test),
            Act::Choose { list, taken, test, .. } => (list, taken, test),
            _ => return false,
        };
        let meant = self.meant(rank, &list);
        let state = &mut self.states[rank as usize];
        let mut known: Vec<(u64, u64, u32)> = meant
            .iter()
            .filter_map(|one| state.done.get(one).map(|done| (done.at, done.report, *one)))
            .collect();
        if known.len() < taken.len() {
            return false;
        }
        known.sort_unstable();
        let everything = known.len() == list.len();
        let open: Vec<u32> = meant.iter().copied().filter(|one| !state.done.contains_key(one)).collect();
        known.truncate(taken.len());
        let at = known.last().map_or(0, |known| known.0);
        let is_receive = |request: &u32| {
            let mine = |act: &Act| matches!(act, Act::Recv { request: Some(own), .. } if own == request);
            self.drawn.ranks[rank as usize].iter().any(mine)
        };
        if !everything && at > state.now && (self.overlap || !open.iter().all(is_receive)) {
            let ready = at.max(state.cpu);
            let event = Event { rank, ready, created: t, class: 3, order: number as u64, what: What::Moment };
            self.events.push(event);
            return false;
        }
        let chosen: Vec<u32> = known.iter().map(|known| known.2).collect();
        self.leave(rank, number, &list, &taken, &chosen, at, test);
        true
    }

    #[allow(clippy::too_many_arguments)]
    fn leave(
        &mut self,
        rank: u32,
        number: usize,
        list: &[u32],
        taken: &[u32],
        chosen: &[u32],
        at: u64,
        test: bool,
    ) {
        let role = |state: &State, one: u32| state.role.get(&one).copied().unwrap_or(one);
        let state = &mut self.states[rank as usize];
        let found = chosen.iter().map(|one| state.done[one].found).max().unwrap_or(0);
        let passed: Vec<u32> =
            taken.iter().copied().filter(|&one| !chosen.contains(&role(state, one))).collect();
        let instead: Vec<u32> = list
            .iter()
            .copied()
            .filter(|&one| chosen.contains(&role(state, one)) && !taken.contains(&one))
            .collect();
        for (passed, instead) in passed.iter().zip(&instead) {
            let (a, b) = (role(state, *passed), role(state, *instead));
            state.role.insert(*passed, b);
            state.role.insert(*instead, a);
        }
        let polled = number.checked_sub(1).is_some_and(|before| {
            let mut before = self.drawn.ranks[rank as usize][..=before].iter().rev();
            let is_compute = |act: &&Act| matches!(act, Act::Compute { .. });
            before
                .by_ref()
                .take_while(is_compute)
                .any(|act| matches!(act, Act::Compute { polls, .. } if !polls.is_empty()))
        });
        if !passed.is_empty() {
            self.decisions.push((rank, number, None, "request"));
        } else if test && !polled && found > state.since {
            self.decisions.push((rank, number, None, "later"));
        }
        state.used.extend(chosen);
        state.ready = state.ready.max(at);
        state.inside = None;
    }

    /// Tests in vain that would find something, when all is known.
    fn answer_polls(&mut self) {
        for (rank, state) in self.states.iter().enumerate() {
            let mut found: BTreeSet<u32> = BTreeSet::new();
            for (at, list, all, act, which) in &state.polls {
                let completed: Vec<u32> = list
                    .iter()
                    .copied()
                    .filter(|one| state.done.get(one).is_some_and(|done| done.found <= *at))
                    .collect();
                if completed.is_empty() || *all && completed.len() < list.len() {
                    continue;
                }
                if completed.iter().any(|one| !found.contains(one)) {
                    self.decisions.push((rank as u32, *act, Some(*which), "earlier"));
                }
                found.extend(completed);
            }
        }
    }
}

/// What the engine decided, as the interpreter says it.
fn decisions(recording: &Recording, replayed: &[Replayed], acts: &[Calls]) -> Vec<Decision> {
    let mut all = Vec::new();
    for ((rank, replayed), acts) in (0u32..).zip(replayed).zip(acts) {
        for change in &replayed.changes {
            let origin = recording.rank(rank).origin(change.instruction) as usize;
            let (act, poll) = acts[origin];
            let what = match &change.what {
                Changed::Requests(_) => "request",
                Changed::Source(_) => "source",
                Changed::Earlier => "earlier",
                Changed::Later => "later",
            };
            all.push((rank, act, poll, what));
        }
    }
    all.sort_unstable();
    all
}

fn links() -> impl Strategy<Value = Link> {
    (1u64..9_000, 0u64..3_000, 0u64..3_000, 0u64..5_000, 0u64..40, 0u64..40, 0u64..3000).prop_map(
        |(latency, send, recv, gap, per_byte, overhead, eager_limit)| Link {
            latency: Time(latency * 1_000 + 7),
            send_overhead: Time(send * 1_000),
            recv_overhead: Time(recv * 997),
            gap: Time(gap * 1_000),
            gap_per_byte: PerByte::from_ps(per_byte as u32 * 50),
            overhead_per_byte: PerByte::from_ps(overhead as u32 * 10),
            eager_limit,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn programs_decide_as_the_interpreter_does(
        seed in any::<u64>(),
        (ranks, events) in (1u32..6, 1u32..80),
        largest in prop::sample::select(vec![1u64, 300, 4_000]),
        link in links(),
        overlap in any::<bool>(),
    ) {
        let drawn = draw(Shape { seed, ranks, events, largest });
        let (trace, acts) = traced(&drawn);
        let interpreter = Interpreter {
            drawn: &drawn,
            link: &link,
            overlap,
            states: (0..ranks).map(|_| State::default()).collect(),
            events: Vec::new(),
            decisions: Vec::new(),
        };
        let (finish, expected) = interpreter.run();
        let options = Options { decisions: Decisions::Redecide, spin: Time::ZERO, ..Options::default() };
        let recording = Arc::new(Recording::from_trace(&trace, &options).unwrap());
        prop_assert_eq!(recording.notes(), &[] as &[String]);
        let playback = Playback::new(recording.clone(), 1, &Building::default()).unwrap();
        let network = Network::uniform("drawn", link);
        for (engine, threads) in [(EngineChoice::Reference, 1), (EngineChoice::Windowed, 1), (EngineChoice::Windowed, 3)] {
            let simulation = Simulation { engine, receive_overlap: overlap, ..Simulation::new(&network) };
            let (stop, mut progress) = (AtomicBool::new(false), |_| {});
            let mut control = Control::new(threads, &stop, &mut progress);
            control.block_shift = (threads > 1).then_some(0);
            let (run, replayed) = simulation.replay(&playback, &mut control).unwrap();
            prop_assert_eq!(&run.outcome.stuck, &None);
            let ends: Vec<u64> = run.outcome.finish.iter().map(|finish| finish.ps()).collect();
            prop_assert_eq!(&ends, &finish, "{:?} {}", engine, threads);
            prop_assert_eq!(decisions(&recording, &replayed, &acts), expected.clone());
        }
    }

    /// Copies decide as the one does that they are copies of; and with noise both engines decide alike.
    #[test]
    fn copies_and_engines_decide_alike(
        seed in any::<u64>(),
        (ranks, events) in (1u32..5, 1u32..60),
        largest in prop::sample::select(vec![1u64, 4_000]),
        link in links(),
        noise in schedules::noises(),
    ) {
        let (trace, _) = traced(&draw(Shape { seed, ranks, events, largest }));
        let options = Options { decisions: Decisions::Redecide, spin: Time::ZERO, ..Options::default() };
        let recording = Arc::new(Recording::from_trace(&trace, &options).unwrap());
        let network = Network::uniform("drawn", link);
        let replay = |copies: u32, noise: Option<&Injection>, engine: EngineChoice| {
            let playback = Playback::new(recording.clone(), copies, &Building::default()).unwrap();
            let simulation = Simulation { engine, noise, ..Simulation::new(&network) };
            let (stop, mut progress) = (AtomicBool::new(false), |_| {});
            let mut control = Control::new(2, &stop, &mut progress);
            control.block_shift = Some(1);
            let (run, replayed) = simulation.replay(&playback, &mut control).unwrap();
            (run.outcome.finish, replayed)
        };
        let (finish, replayed) = replay(1, None, EngineChoice::Windowed);
        let (twice, both) = replay(2, None, EngineChoice::Windowed);
        prop_assert_eq!(twice, [&finish[..], &finish[..]].concat());
        prop_assert_eq!(&both[..replayed.len()], &replayed[..]);
        prop_assert_eq!(&both[replayed.len()..], &replayed[..]);
        let noise = noise.as_ref();
        prop_assert_eq!(replay(2, noise, EngineChoice::Windowed), replay(2, noise, EngineChoice::Reference));
    }
}
