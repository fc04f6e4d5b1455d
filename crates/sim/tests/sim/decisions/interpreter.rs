//! An interpreter of calls. It keeps every event in one list and searches all of them for the next.

use super::program::{Act, Drawn};
use std::collections::{BTreeMap, BTreeSet};
use straggler_model::Link;

/// A decision that differs from the trace's: the rank, its act, the failed test if it is one, and the difference.
pub(super) type Decision = (u32, usize, Option<usize>, &'static str);

#[derive(Clone, Debug)]
pub(super) enum Happens {
    Act,
    Message { from: u32, comm: u32, tag: i32, bytes: u64, send: (u32, u32) },
    Acknowledgement { request: u32 },
    Moment,
}

#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) rank: u32,
    pub(super) ready: u64,
    pub(super) created: u64,
    pub(super) class: u8,
    pub(super) order: u64,
    pub(super) what: Happens,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub(super) at: u64,
    /// When a test would have found it. The test itself would process a message that waits for the CPU.
    pub(super) found: u64,
    pub(super) report: u64,
}

pub(super) struct Early {
    pub(super) from: u32,
    pub(super) comm: u32,
    pub(super) tag: i32,
    pub(super) bytes: u64,
    pub(super) send: u32,
    pub(super) done: u64,
}

pub(super) type Posted = (Option<u32>, Option<i32>, u32, usize);

#[derive(Default)]
pub(super) struct State {
    pub(super) cpu: u64,
    pub(super) send: u64,
    pub(super) recv: u64,
    pub(super) next: usize,
    pub(super) ready: u64,
    /// The blocking act or choice that the rank is in.
    pub(super) inside: Option<usize>,
    pub(super) posted: Vec<Posted>,
    pub(super) early: Vec<Early>,
    /// When requests complete, as far as known, including those already used.
    pub(super) done: BTreeMap<u32, Done>,
    pub(super) used: BTreeSet<u32>,
    /// The request that plays the role of a request of the trace.
    pub(super) role: BTreeMap<u32, u32>,
    pub(super) reports: u64,
    pub(super) sent: u64,
    pub(super) now: u64,
    pub(super) finish: u64,
    /// Failed tests: when, about which requests, and which test.
    pub(super) polls: Vec<(u64, Vec<u32>, bool, usize, usize)>,
    pub(super) since: u64,
}

pub(super) struct Interpreter<'a> {
    pub(super) drawn: &'a Drawn,
    pub(super) link: &'a Link,
    pub(super) overlap: bool,
    pub(super) states: Vec<State>,
    pub(super) events: Vec<Event>,
    pub(super) decisions: Vec<Decision>,
}

impl Interpreter<'_> {
    pub(super) fn run(mut self) -> (Vec<u64>, Vec<Decision>) {
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
            let act = matches!(event.what, Happens::Act)
                .then(|| &self.drawn.ranks[event.rank as usize][event.order as usize]);
            let eligible = match (&event.what, act) {
                (Happens::Act, Some(Act::Send { .. })) => event.ready.max(state.cpu).max(state.send),
                (Happens::Act, Some(Act::Recv { .. })) => event.ready,
                (Happens::Act | Happens::Moment, _) => event.ready.max(state.cpu),
                (Happens::Message { .. }, _) => event.ready.max(state.cpu).max(state.recv),
                (Happens::Acknowledgement { .. }, _) => event.ready,
            };
            (eligible, event.created, event.class, event.order, event.rank)
        };
        let first = self.events.iter().enumerate().min_by_key(|(_, event)| key(event))?;
        Some((first.0, key(first.1).0))
    }

    fn act(&self, rank: u32, number: usize) -> &Act {
        &self.drawn.ranks[rank as usize][number]
    }

    /// Runs the acts of a rank, one after the other, up to one that needs an event or waits.
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
                    // Consecutive computations count as one, with all tests in them.
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
                        what: Happens::Act,
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
            Happens::Act => self.run_act(rank, event.order as usize, t),
            Happens::Moment => {
                self.states[rank as usize].now = t;
                if self.states[rank as usize].inside.is_some() && self.try_to_leave(rank, t) {
                    self.go_on(rank, t);
                }
            }
            Happens::Acknowledgement { request } => {
                let state = &mut self.states[rank as usize];
                state.cpu = state.cpu.max(t);
                state.send = state.send.max(t);
                self.completed(rank, request, t, 0, t);
            }
            Happens::Message { from, comm, tag, bytes, send } => {
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

    /// The overhead and the gap of a message's bytes.
    fn costs(&self, bytes: u64) -> (u64, u64) {
        let bytes = bytes.max(1) - 1;
        (self.link.overhead_per_byte.total(bytes).ps(), self.link.gap_per_byte.total(bytes).ps())
    }

    fn acknowledge(&mut self, receiver: u32, sender: u32, bytes: u64, request: u32, t: u64) {
        if bytes > self.link.eager_limit {
            let ready = t + self.link.latency.ps();
            let what = Happens::Acknowledgement { request };
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
                let what = Happens::Message { from: rank, comm, tag, bytes, send: (rank, request) };
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

    /// Handles a receive that got its message, which waited for the CPU or the NIC for `delay`.
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

    /// Handles the report, at `t`, that a request completes at `done`.
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

    /// Ends the wait or choice that a rank is in, if possible. Returns whether it did.
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
            let event =
                Event { rank, ready, created: t, class: 3, order: number as u64, what: Happens::Moment };
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

    /// Finds the failed tests that would now succeed, when everything is known.
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
