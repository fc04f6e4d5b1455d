//! Runs processes of a materialised schedule with one CPU and one NIC, directly from its rows.
//!
//! A running process is a [`Walk`]. Its functions are inlined, so that its parts stay in registers; rare cases are
//! functions of [`Graphs`] that take the parts.
//!
//! Usually a process with nothing ready gets a message, its receive completes, the operations this releases run at
//! once, and the process waits again. Everything else runs event by event in the model's order.

use super::actors::{Actors, MessageOf, Process, Turn};
use super::general;
use super::mail::{Mail, One};
use crate::agenda::{Agenda, Pair, QueuePool, Queues};
use crate::checkpoint::Unsound;
use crate::host::{Host, OneLane};
use crate::latency::Latency;
use crate::message::{Body, Early, Message, Numbered, Stamp};
use crate::observer::Nothing;
use crate::outcome::Remains;
use crate::ports::Tails;
use crate::program::Program;
use crate::programs::{Dependencies, GraphProgram, ProcessOperations};
use crate::release::Release;
use crate::rules::{self, Arrival, MessageCost, Rules, Sender};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use straggler_model::{Rank, Tag, Time};
use straggler_noise::Noise;
use straggler_schedule::OperationKind;
use straggler_schedule::graph::{Row, RowBytes};

pub(super) struct Graphs<'a, N, L> {
    program: &'a GraphProgram<'a, OneLane>,
    rows: &'a [RowBytes],
    rules: &'a Rules<'a, N, L>,
    /// Whether any message can be a rendezvous.
    rendezvous: bool,
    /// Whether all links are equal.
    alike: bool,
    /// If all links are equal, the size of the largest message, and its costs; otherwise a size that no message has.
    usual: u64,
    cost: MessageCost,
    /// Whether any operation waits only for the start of another.
    irequires: bool,
    /// Whether receives that are ready at the start can be posted at once; see [`Graphs::start`].
    posts_at_once: bool,
}

/// One process.
#[derive(Debug, Default, Serialize, Deserialize)]
#[repr(C, align(64))]
pub(super) struct Slot {
    host: OneLane,
    place: ProcessOperations,
    agenda: Queues,
}

/// State of neighbouring processes outside their slots.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Shared {
    block: Dependencies,
    pool: QueuePool,
}

impl<'a, N: Noise, L: Latency> Graphs<'a, N, L> {
    pub fn new(program: &'a GraphProgram<'a, OneLane>, rules: &'a Rules<'a, N, L>) -> Self {
        let (largest, network) = (program.largest_message(), rules.network);
        let alike = network.levels.is_empty();
        Graphs {
            program,
            rows: program.rows(),
            rules,
            rendezvous: network.may_rendezvous(largest),
            alike,
            usual: if alike { largest } else { u64::MAX },
            cost: MessageCost::new(&network.base, largest),
            irequires: program.has_irequires(),
            posts_at_once: rules.sends_take_time() && !program.has_irequires(),
        }
    }

    /// The costs of a message. If they are not precomputed, `room` stores them.
    #[inline(always)]
    fn cost<'r>(
        &'r self,
        from: Rank,
        to: Rank,
        bytes: u64,
        room: &'r mut Option<MessageCost>,
    ) -> &'r MessageCost {
        if bytes == self.usual { &self.cost } else { room.insert(self.unusual(from, to, bytes)) }
    }

    #[inline(never)]
    fn unusual(&self, from: Rank, to: Rank, bytes: u64) -> MessageCost {
        MessageCost::new(self.rules.network.link(from, to), bytes)
    }
}

impl Slot {
    /// Adds an operation that an event at `t` has released.
    #[inline(never)]
    fn release(&mut self, shared: &mut Shared, kind: OperationKind, id: u32, t: Time) {
        let release = Release { id, kind, cpu: 0, nic: 0, ready: t };
        self.agenda.release(&mut shared.pool, &release, t, &self.host);
    }

    /// Keeps a message that no receive waits for.
    #[inline(never)]
    fn keep(&mut self, shared: &mut Shared, from: Rank, body: Numbered) {
        let (tag, bytes, send) = (body.tag(), body.bytes(), body.send());
        let early = Early { from, tag, bytes, send, ..Early::default() };
        self.agenda.keep_early(&mut shared.pool, early);
    }
}

/// A process in its turn.
struct Walk<'w, 'a, 't, N: Noise, L: Latency> {
    actors: &'w Graphs<'a, N, L>,
    rank: Rank,
    slot: &'w mut Slot,
    shared: &'w mut Shared,
    turn: &'w mut Turn<'t, Graphs<'a, N, L>>,
}

impl<N: Noise, L: Latency> Walk<'_, '_, '_, N, L> {
    #[inline(always)]
    fn row(&self, id: u32) -> Row {
        Row(self.actors.rows[self.slot.place.first_operation as usize + id as usize])
    }

    /// Runs the next local operation.
    #[inline(always)]
    fn run_local(&mut self, t: Time) {
        let released = match self.slot.agenda.take(&mut self.shared.pool, &self.slot.host, t) {
            (OperationKind::Send, id) => self.send(t, id, Pair::EMPTY),
            (OperationKind::Recv, id) => self.receive(t, id, Pair::EMPTY),
            (OperationKind::Calc, id) => {
                self.actors.calculate(self.rank, self.slot, self.shared, self.turn, t, id)
            }
        };
        self.make_ready(t, released);
    }

    /// Runs a send and a receive that are ready at `t`, and the operations they release, as long as nothing can come
    /// between.
    #[inline(always)]
    fn exchange(&mut self, mut t: Time, mut pair: Pair) {
        loop {
            let mut released = Pair::EMPTY;
            if pair.send != Pair::NONE {
                released = self.send(t, pair.send, released);
            }
            if pair.recv != Pair::NONE {
                released = self.receive(t, pair.recv, released);
            }
            if released == Pair::EMPTY {
                return;
            }
            let ready = self.slot.host.cpu(0).free.max(t);
            if !(self.slot.agenda.is_idle() && self.may_exchange(ready, released)) {
                return self.make_ready(t, released);
            }
            (t, pair) = (ready, released);
        }
    }

    /// Whether a send and a receive, the only ready operations, run one after the other at `ready`: within this
    /// window, with CPU and NIC free, and without the send making anything ready before the receive has run.
    #[inline(always)]
    fn may_exchange(&mut self, ready: Time, pair: Pair) -> bool {
        let host = &self.slot.host;
        self.actors.posts_at_once
            && ready < self.turn.frame.until
            && host.cpu(0).free <= ready
            && (pair.send == Pair::NONE || host.send_free(0) <= ready)
            && self.turn.count_operation()
    }

    /// Adds the operations that an event at `t` has released.
    #[inline(always)]
    fn make_ready(&mut self, t: Time, Pair { send, recv }: Pair) {
        for (id, kind) in [(send, OperationKind::Send), (recv, OperationKind::Recv)] {
            if id != Pair::NONE {
                self.slot.release(self.shared, kind, id, t);
            }
        }
    }

    #[inline(always)]
    fn send(&mut self, t: Time, id: u32, released: Pair) -> Pair {
        let row = self.row(id);
        let (peer, amount) = (row.peer(), row.amount());
        let mut room = None;
        let cost = self.actors.cost(self.rank, peer, amount, &mut room);
        let (cpu, send_free) = self.slot.host.sending(0, 0);
        let sender = Sender { cpu, send_free, lanes: self.turn.lanes };
        let sent = self.actors.rules.send_at(cost, (self.rank, peer), sender, t);
        let (arrival, body) = (sent.arrival.ps(), Numbered::pack(amount, row.tag(), id));
        let stamp = L::carry(sent.number);
        let message = || Message { arrival, to: peer, from: self.rank, body, stamp };
        if peer < self.turn.processes && sent.arrival < self.turn.frame.next_until {
            self.turn.post_soon(message());
        } else {
            self.turn.post(message());
        }
        self.started(id, t);
        if sent.rendezvous { released } else { self.completed(id, t, released) }
    }

    #[inline(always)]
    fn receive(&mut self, t: Time, id: u32, released: Pair) -> Pair {
        let row = self.row(id);
        let early = self.slot.agenda.post(&mut self.shared.pool, id, row.peer(), row.tag());
        self.started(id, t);
        let Some(Early { from, tag, bytes, send, .. }) = early else { return released };
        self.acknowledge(t, from, tag, bytes, send);
        self.completed(id, t, released)
    }

    /// Runs a message. Returns what it releases in addition to the operations already added.
    #[inline(always)]
    fn run_message(&mut self, t: Time, message: &MessageOf<Graphs<'_, N, L>>) -> Pair {
        if self.actors.rendezvous && message.body.is_acknowledgement() {
            let Walk { actors, rank, slot, shared, turn } = self;
            return actors.run_acknowledgement(*rank, slot, shared, turn, t, message.body.send());
        }
        self.accept(t, message)
    }

    /// Runs a message that is not an acknowledgement.
    #[inline(always)]
    fn accept(&mut self, t: Time, message: &MessageOf<Graphs<'_, N, L>>) -> Pair {
        let (body, from) = (message.body, message.from);
        self.turn.messages += 1;
        let mut room = None;
        let cost = self.actors.cost(from, self.rank, body.bytes(), &mut room);
        let (cpu, recv_free) = self.slot.host.receiving(0, 0);
        let came = Arrival { from, to: self.rank, transit: { message.stamp }.transit() };
        self.actors.rules.message_at(cost, came, cpu, recv_free, t);
        let Some(id) = self.slot.agenda.take_posted(&mut self.shared.pool, (from, body.tag())) else {
            self.slot.keep(self.shared, from, body);
            return Pair::EMPTY;
        };
        self.acknowledge(t, from, body.tag(), body.bytes(), body.send());
        self.completed(id, t, Pair::EMPTY)
    }

    /// Acknowledges a message that was matched at `t`, if it is a rendezvous.
    #[inline(always)]
    fn acknowledge(&mut self, t: Time, from: Rank, tag: Tag, bytes: u64, send: u32) {
        let Graphs { rules, rendezvous, .. } = *self.actors;
        if rendezvous && rules.network.link(from, self.rank).is_rendezvous(bytes) {
            let arrival = rules.acknowledged(from, self.rank, self.turn.lanes, t).ps();
            let early = Early { from, tag, bytes, send, ..Early::default() };
            let body = Numbered::acknowledgement(&early);
            let stamp = L::Number::default();
            self.turn.post(Message { arrival, to: from, from: self.rank, body, stamp });
        }
    }

    #[inline(always)]
    fn started(&mut self, id: u32, t: Time) {
        if self.actors.irequires {
            self.actors.notify_listed(self.rank, self.slot, self.shared, id, true, t);
        }
    }

    /// Completes operation `id` by an event that runs at `t`. The first send and the first receive that this releases
    /// are added to `released`; others are made ready. Nothing completes after the CPU is free, so released
    /// operations become ready when it is free.
    #[inline(always)]
    fn completed(&mut self, id: u32, t: Time, mut released: Pair) -> Pair {
        self.slot.place.unfinished -= 1;
        let Some(run) = self.row(id).run() else {
            self.actors.notify_listed(self.rank, self.slot, self.shared, id, false, t);
            return released;
        };
        for dependent in run {
            if self.actors.program.satisfies(&self.slot.place, &mut self.shared.block, dependent) {
                let row = self.row(dependent);
                if row.is(OperationKind::Send) && released.send == Pair::NONE {
                    released.send = dependent;
                } else if row.is(OperationKind::Recv) && released.recv == Pair::NONE {
                    released.recv = dependent;
                } else {
                    self.slot.release(self.shared, row.kind(), dependent, t);
                }
            }
        }
        released
    }

    /// Runs the operations that a message at `t` has released while nothing was ready, and what they make ready, up
    /// to the end of the window. Returns the time of the next local event.
    #[inline(always)]
    fn run_released(&mut self, t: Time, released: Pair) -> Time {
        let ready = self.slot.host.cpu(0).free;
        if !self.slot.agenda.is_idle() {
            self.make_ready(t, released);
        } else if self.may_exchange(ready, released) {
            self.exchange(ready, released);
        } else {
            self.slot.agenda.set_pair(ready, t, released);
        }
        self.run_rest()
    }

    /// Runs the remaining operations after an exchange, up to the end of the window. Returns the time of the next
    /// local event.
    #[inline(always)]
    fn run_rest(&mut self) -> Time {
        if self.slot.agenda.is_idle() {
            return Time::NEVER;
        }
        let next = self.slot.agenda.next(&self.slot.host);
        if next >= self.turn.frame.until {
            return next;
        }
        self.actors.run_ready(self.rank, self.slot, self.shared, self.turn)
    }

    /// Runs ready operations up to the end of the window, if no message can come between. Returns the time of the
    /// next local event.
    #[inline(always)]
    fn run_ready(&mut self) -> Time {
        loop {
            if let Some((ready, pair)) = self.slot.agenda.pair()
                && self.may_exchange(ready, pair)
            {
                self.slot.agenda.take_pair();
                self.exchange(ready, pair);
            }
            let local = self.slot.agenda.next(&self.slot.host);
            if local >= self.turn.frame.until || !self.turn.count_operation() {
                return local;
            }
            self.run_local(local);
        }
    }
}

impl<N: Noise, L: Latency> Actors for Graphs<'_, N, L> {
    type Noise = N;
    type Latency = L;
    type Host = OneLane;
    type Body = Numbered;
    type Stamp = L::Number;
    type Observer = Nothing;
    type Slot = Slot;
    type Shared = Shared;

    const SCATTERED: bool = true;

    fn processes(&self) -> u32 {
        self.program.processes()
    }

    fn largest_message(&self) -> u64 {
        self.program.largest_message()
    }

    fn rules(&self) -> &Rules<'_, N, L> {
        self.rules
    }

    fn slot(&self) -> Slot {
        Slot::default()
    }

    fn shared(&self, ranks: Range<Rank>) -> Shared {
        Shared { block: self.program.block(ranks), pool: QueuePool::default() }
    }

    fn host(slot: &Slot) -> &OneLane {
        &slot.host
    }

    fn in_order_of_arrival(&self) -> bool {
        self.alike && !self.rendezvous
    }

    fn check(
        &self,
        ranks: Range<Rank>,
        slots: &[Slot],
        shared: &Shared,
        arriving: &[MessageOf<Self>],
    ) -> Result<(), Unsound> {
        let agendas: Vec<&Queues> = slots.iter().map(|slot| &slot.agenda).collect();
        let places: Vec<ProcessOperations> = slots.iter().map(|slot| slot.place).collect();
        let kept = (&shared.block, &shared.pool, &Tails::default());
        general::check(self.program, ranks, &agendas, &places, kept, arriving)
    }

    /// If sends take time and nothing waits for the start of a receive, receives that are ready at the start can be
    /// posted at once without a difference: no message has arrived, a send changes neither them nor their order, and
    /// what a send releases becomes ready later.
    fn start(&self, process: Process<'_, Self>, _: &mut Turn<'_, Self>) {
        let Process { rank, slot: Slot { host, place, agenda }, shared: Shared { block, pool } } = process;
        *place = self.program.place(rank);
        for (id, row) in self.program.roots(place, block) {
            if self.posts_at_once && row.is(OperationKind::Recv) {
                agenda.post_before_all(pool, id, row.peer(), row.tag());
            } else {
                let release = Release { id, kind: row.kind(), cpu: 0, nic: 0, ready: Time::ZERO };
                agenda.release(pool, &release, Time::ZERO, host);
            }
        }
    }

    #[inline(always)]
    fn run(
        &self,
        process: Process<'_, Self>,
        turn: &mut Turn<'_, Self>,
        mail: &mut impl Mail<Numbered, L::Number>,
    ) -> Time {
        let Process { rank, slot, shared } = process;
        let frame = turn.frame;
        let was_due = slot.agenda.next(&slot.host);
        let mut walk = Walk { actors: self, rank, slot, shared, turn };
        loop {
            if mail.is_empty() {
                return frame.newly_due(was_due, walk.run_ready());
            }
            let slot = &mut *walk.slot;
            let local = slot.agenda.next(&slot.host);
            let (arrived, place) = mail.first(&slot.host, self.rules);
            let message_first = arrived < local
                || arrived == local && mail.key(place, &slot.host, self.rules) < slot.agenda.key(&slot.host);
            if arrived.min(local) >= frame.until {
                return frame.newly_due(was_due, local);
            }
            if !message_first {
                if !walk.turn.count_operation() {
                    return frame.newly_due(was_due, local);
                }
                walk.run_local(local);
            } else if let Some(message) = mail.take(place) {
                let released = walk.run_message(arrived, &message);
                walk.make_ready(arrived, released);
            }
        }
    }

    /// The usual case: a process with nothing ready gets a message.
    #[inline(always)]
    fn run_one(
        &self,
        process: Process<'_, Self>,
        turn: &mut Turn<'_, Self>,
        message: &MessageOf<Self>,
    ) -> (Time, bool) {
        let Process { rank, slot, shared } = process;
        let t = rules::message_eligible(&slot.host, 0, 0, Time(message.arrival));
        let acknowledges = self.rendezvous && message.body.is_acknowledgement();
        if !slot.agenda.is_idle() || t >= turn.frame.until || acknowledges {
            return self.run_any(rank, slot, shared, turn, Some(message));
        }
        let mut walk = Walk { actors: self, rank, slot, shared, turn };
        let released = walk.accept(t, message);
        (walk.run_released(t, released), true)
    }

    /// The usual case: a process that wakes has a send and a receive ready.
    #[inline(always)]
    fn run_alone(&self, process: Process<'_, Self>, turn: &mut Turn<'_, Self>) -> Time {
        let Process { rank, slot, shared } = process;
        let ready = slot.agenda.pair();
        let mut walk = Walk { actors: self, rank, slot, shared, turn };
        if let Some((ready, pair)) = ready
            && walk.may_exchange(ready, pair)
        {
            walk.slot.agenda.take_pair();
            walk.exchange(ready, pair);
            return walk.run_rest();
        }
        let Walk { slot, shared, turn, .. } = walk;
        // Operations of a later window were scheduled when they became ready.
        if slot.agenda.next(&slot.host) >= turn.frame.until {
            return Time::NEVER;
        }
        self.run_any(rank, slot, shared, turn, None).0
    }

    #[inline(always)]
    fn prefetch(&self, _: Rank, slot: &Slot, shared: &Shared) {
        if let Some(id) = slot.agenda.prefetch(&shared.pool) {
            self.program.prefetch_at(slot.place.first_operation as usize, &shared.block, id);
        }
    }

    fn conclude(&self, rank: Rank, slot: &Slot, shared: &Shared, remains: &mut Remains) -> Time {
        let Slot { host, place, agenda } = slot;
        if place.unfinished == 0 && agenda.is_empty() {
            return host.finish();
        }
        let Shared { block, pool } = shared;
        let left = general::Left { free: host.finish(), agenda, local: place, block, pool };
        left.conclude(self.program, self.rules.network, rank, remains)
    }
}

impl<N: Noise, L: Latency> Graphs<'_, N, L> {
    /// Updates the operations that wait for the start or the completion of an operation, if they are in a list.
    #[inline(never)]
    fn notify_listed(
        &self,
        rank: Rank,
        slot: &mut Slot,
        shared: &mut Shared,
        id: u32,
        on_start: bool,
        t: Time,
    ) {
        let (Slot { host, place, agenda }, Shared { block, pool }) = (slot, shared);
        let mut release = |release: Release| agenda.release(pool, &release, t, host);
        self.program.satisfy_listed::<false>(rank, place, block, id, on_start, t, &mut release);
    }

    #[inline(never)]
    fn calculate(
        &self,
        rank: Rank,
        slot: &mut Slot,
        shared: &mut Shared,
        turn: &mut Turn<'_, Self>,
        t: Time,
        id: u32,
    ) -> Pair {
        let mut walk = Walk { actors: self, rank, slot, shared, turn };
        let length = Time(walk.row(id).amount());
        let (cpu, _) = walk.slot.host.sending(0, 0);
        self.rules.calc(rank, cpu, t, length);
        walk.started(id, t);
        walk.completed(id, t, Pair::EMPTY)
    }

    #[inline(never)]
    fn run_acknowledgement(
        &self,
        rank: Rank,
        slot: &mut Slot,
        shared: &mut Shared,
        turn: &mut Turn<'_, Self>,
        t: Time,
        send: u32,
    ) -> Pair {
        let (cpu, send_free) = slot.host.sending(0, 0);
        self.rules.acknowledge(cpu, send_free, t);
        Walk { actors: self, rank, slot, shared, turn }.completed(send, t, Pair::EMPTY)
    }

    /// Runs ready operations; not inlined.
    #[inline(never)]
    fn run_ready(&self, rank: Rank, slot: &mut Slot, shared: &mut Shared, turn: &mut Turn<'_, Self>) -> Time {
        Walk { actors: self, rank, slot, shared, turn }.run_ready()
    }

    /// Runs a process with at most one message and any ready operations.
    #[inline(never)]
    fn run_any(
        &self,
        rank: Rank,
        slot: &mut Slot,
        shared: &mut Shared,
        turn: &mut Turn<'_, Self>,
        message: Option<&MessageOf<Self>>,
    ) -> (Time, bool) {
        let mut mail = One(message);
        let next = self.run(Process { rank, slot, shared }, turn, &mut mail);
        (next, mail.is_empty())
    }
}
