//! Runs processes of an implicit schedule, step by step: the fast path of the engine.
//!
//! A step has at most one send, one receive and one computation, all ready at the same time. Usually the message that
//! a process waits for arrives, the next step is entered, its send and receive run at once because nothing else can
//! come between, and the process waits again. This case runs in one go, computing the step once. Unusual cases (a
//! busy NIC, a computation, several messages, the end of the window) run event by event in the model's order.

mod late;
mod slot;

use super::actors::{Actors, Process, Turn};
use super::mail::{Mail, One};
use crate::agenda::early_pool::Late;
use crate::agenda::step_ready::{self, CALC, RECV, SEND};
use crate::checkpoint::{Unsound, ensure};
use crate::host::{Host, OneLane};
use crate::latency::Latency;
use crate::message::{Body, Compact, Early, Stamp, Transit};
use crate::observer::Nothing;
use crate::outcome::{Blocked, Leftover, Remains};
use crate::ports::{Awaited, Fabric, Whole};
use crate::rules::{self, Arrival, MessageCost, Rules, Sender, Sent};
use late::Shared;
use slot::{AFTER, Slot, State};
use std::ops::Range;
use straggler_model::{Rank, Time};
use straggler_noise::Noise;
use straggler_schedule::steps::Message as StepMessage;
use straggler_schedule::{Operation, OperationKind, Script, Step};

type CompactMessage<S> = crate::message::Message<Compact, S>;
type Message<L> = CompactMessage<<L as Latency>::Number>;

pub(super) struct Stepping<'a, S: ?Sized, N, L> {
    script: &'a S,
    rules: &'a Rules<'a, N, L>,
    /// Whether any message can be a rendezvous.
    rendezvous: bool,
    /// If all links are equal, the size of the largest message, which most have, and its costs; otherwise a size that
    /// no message has.
    usual: u64,
    cost: MessageCost,
    /// The receiver's costs, which differ on shared links.
    recv_cost: MessageCost,
}

impl<'a, S: Script + ?Sized, N: Noise, L: Latency> Stepping<'a, S, N, L> {
    pub fn new(script: &'a S, rules: &'a Rules<'a, N, L>) -> Self {
        let largest = script.largest_message();
        let rendezvous = rules.network.may_rendezvous(largest);
        let shared_alike = |fabric: &Fabric| {
            let whole = fabric.topology.segment.count(largest) == 1;
            fabric.edge.is_some() && !fabric.shares_hosts() && whole && script.processes() > 1
        };
        let alike =
            rules.network.levels.is_empty() && !rendezvous && rules.latency.fabric().is_none_or(shared_alike);
        // u64::MAX is also the length of an acknowledgement, but none is in flight while a process only waits for a
        // message.
        let usual = if alike { largest } else { u64::MAX };
        let own = || MessageCost::new(&rules.network.base, largest);
        let (cost, recv_cost) = match rules.latency.fabric().is_some() && alike {
            true => (rules.send_cost(0, 1, largest), rules.recv_cost(0, 1, largest)),
            false => (own(), own()),
        };
        Stepping { script, rules, rendezvous, usual, cost, recv_cost }
    }

    #[inline(always)]
    fn step(&self, rank: Rank, slot: &Slot) -> Step {
        self.script.step(rank, slot.phase, slot.stage)
    }

    /// Moves to the first stage of the process's phase, or of the next phase that has any. Returns whether there is
    /// one.
    #[inline(always)]
    fn find_phase(&self, rank: Rank, slot: &mut Slot) -> bool {
        slot.stage = 0;
        while slot.phase < self.script.phases() {
            if self.script.stages(rank, slot.phase) > 0 {
                return true;
            }
            slot.phase += 1;
        }
        false
    }

    /// Moves to the next stage. Returns whether there is one.
    #[inline(always)]
    fn next_stage(&self, rank: Rank, slot: &mut Slot) -> bool {
        slot.stage += 1;
        if slot.stage < self.script.stages(rank, slot.phase) {
            return true;
        }
        slot.phase += 1;
        self.find_phase(rank, slot)
    }
}

/// State outside its slot that a running process may use: that of its block, and its turn.
struct Around<'w, 't, 'a, S: Script + ?Sized, N: Noise, L: Latency> {
    shared: &'w mut Shared,
    turn: &'w mut Turn<'t, Stepping<'a, S, N, L>>,
}

impl<'a, S: Script + ?Sized, N: Noise, L: Latency> Stepping<'a, S, N, L> {
    /// Runs the send and the receive of the step that have not run, if nothing else is left and they run before
    /// `before`, until which nothing comes between. Returns whether it did.
    #[inline(always)]
    fn exchange(
        &self,
        rank: Rank,
        slot: &mut Slot,
        shared: &mut Shared,
        turn: &mut Turn<'_, Self>,
        before: Time,
    ) -> bool {
        let Some(t) = slot.exchanges_at(before) else { return false };
        let goes_on = turn.count_operation();
        if goes_on {
            self.exchange_at(rank, slot, shared, turn, t);
        }
        goes_on
    }

    /// Like [`Stepping::exchange`], if it makes nothing ready because the receive finds no message.
    #[inline(never)]
    fn exchange_first(
        &self,
        rank: Rank,
        slot: &mut Slot,
        shared: &mut Shared,
        turn: &mut Turn<'_, Self>,
        before: Time,
    ) -> bool {
        slot.state.is(State::EXCHANGES) && slot.early == 0 && self.exchange(rank, slot, shared, turn, before)
    }

    /// Runs the send and the receive of the step that have not run, the last of them at `t`.
    #[inline(always)]
    fn exchange_at(
        &self,
        rank: Rank,
        slot: &mut Slot,
        shared: &mut Shared,
        turn: &mut Turn<'_, Self>,
        t: Time,
    ) {
        let around = &mut Around { shared, turn };
        let step = self.step(rank, slot);
        if slot.state.is(State::EXCHANGES)
            && let (Some(message), Some(recv)) = (self.usual_send(&step), step.recv)
        {
            self.send_usual(rank, slot, around.turn, t, &message);
            slot.state = State::WAITS;
            if slot.early != 0 && self.rules.latency.fabric().is_some() {
                self.receive(rank, slot, around, slot.ready, &recv);
                self.completed(rank, slot, around.shared, 0, t);
            } else if slot.early != 0 && around.shared.early.discard(&mut slot.early, recv.peer, recv.tag) {
                slot.state.posted = 0;
                self.completed(rank, slot, around.shared, RECV, t);
            }
            return;
        }
        let pending = std::mem::take(&mut slot.state.pending);
        // Messages are numbered in the model's order, and a receive may send an acknowledgement.
        let receives_first = self.rules.latency.drawn().is_some() && slot.ready < t;
        if receives_first
            && pending & RECV != 0
            && let Some(message) = &step.recv
        {
            self.receive(rank, slot, around, slot.ready, message);
        }
        if pending & SEND != 0
            && let Some(message) = &step.send
        {
            self.send(rank, slot, around, t, message);
        }
        if !receives_first
            && pending & RECV != 0
            && let Some(message) = &step.recv
        {
            self.receive(rank, slot, around, slot.ready, message);
        }
        self.completed(rank, slot, around.shared, 0, t);
    }

    /// Completes an operation of the step by an event that runs at `t`.
    #[inline(always)]
    fn completed(&self, rank: Rank, slot: &mut Slot, shared: &mut Shared, operation: u8, t: Time) {
        slot.state.open &= !operation;
        match slot.state.open {
            0 => self.enter_next(rank, slot, shared, t),
            AFTER => {
                let ready = self.completion(rank, slot, shared);
                slot.release(CALC, t, ready);
            }
            _ => {}
        }
    }

    /// When the operations of the step have all completed.
    #[inline(always)]
    fn completion(&self, rank: Rank, slot: &mut Slot, shared: &mut Shared) -> Time {
        match self.rules.latency.fabric() {
            None => slot.host.cpu(0).free,
            Some(_) => shared.completion(rank, slot),
        }
    }

    /// Makes the operations of the next step ready, if there is one.
    #[inline(always)]
    fn enter_next(&self, rank: Rank, slot: &mut Slot, shared: &mut Shared, t: Time) {
        let ready = self.completion(rank, slot, shared);
        if self.next_stage(rank, slot) {
            let step = self.step(rank, slot);
            slot.enter(&step, t, ready);
        } else {
            slot.ready = ready;
        }
    }

    /// Completes the receive at `done` or, if the last segment of its message comes later, then. Returns whether it has
    /// completed.
    #[inline(always)]
    fn complete_receive(
        &self,
        rank: Rank,
        slot: &mut Slot,
        shared: &mut Shared,
        (from, late): (Rank, Late),
        t: Time,
    ) -> bool {
        if self.rules.latency.fabric().is_none() {
            return true;
        }
        let mut done = t.max(late.done);
        if late.partial {
            let awaited = Awaited { what: Whole::Receive(0), created: t, done };
            let Some(tail) = shared.tails.wait((rank, from, late.number), awaited) else { return false };
            done = done.max(self.whole_at(rank, from, late.number, tail));
        }
        shared.note(rank, slot, done);
        true
    }

    /// When a message is complete whose last segment arrives at `tail`.
    fn whole_at(&self, rank: Rank, from: Rank, number: u32, tail: Time) -> Time {
        let transit = Transit::whole(number, tail);
        self.rules.whole_at(Arrival { from, to: rank, transit }, tail)
    }

    /// Runs the last segment of a message, which has arrived at `t`.
    #[inline(never)]
    fn run_last_segment(
        &self,
        rank: Rank,
        slot: &mut Slot,
        shared: &mut Shared,
        t: Time,
        message: &Message<L>,
    ) {
        let (from, number) = (message.from, { message.stamp }.transit().number);
        let Some(awaited) = shared.tails.came((rank, from, number), t) else { return };
        shared.note(rank, slot, awaited.done.max(self.whole_at(rank, from, number, t)));
        // Only in a checkpoint that somebody has changed does no receive wait for it.
        if slot.state.open & !slot.state.pending & RECV != 0 {
            self.completed(rank, slot, shared, RECV, awaited.created);
        }
    }

    /// Runs the send, which completes unless it is a rendezvous.
    #[inline(always)]
    fn send(
        &self,
        rank: Rank,
        slot: &mut Slot,
        around: &mut Around<'_, '_, 'a, S, N, L>,
        t: Time,
        message: &StepMessage,
    ) {
        let (cpu, send_free) = slot.host.sending(0, 0);
        let (way, sender) = ((rank, message.peer), Sender { cpu, send_free, lanes: around.turn.lanes });
        let sent = if message.bytes == self.usual {
            self.rules.send_at(&self.cost, way, sender, t)
        } else {
            self.rules.send(way, sender, t, message.bytes)
        };
        around.turn.post(letter::<L>(rank, message, &sent));
        if !(self.rendezvous && sent.rendezvous) {
            slot.state.open &= !SEND;
        }
    }

    /// Posts the receive, which completes if its message has arrived early.
    #[inline(always)]
    fn receive(
        &self,
        rank: Rank,
        slot: &mut Slot,
        around: &mut Around<'_, '_, 'a, S, N, L>,
        t: Time,
        message: &StepMessage,
    ) {
        slot.state.posted = 1;
        if slot.early != 0
            && let Some(early) = around.shared.early.remove(&mut slot.early, message.peer, message.tag)
        {
            slot.state.posted = 0;
            if self.complete_receive(rank, slot, around.shared, (early.from, Late::of(&early)), t) {
                slot.state.open &= !RECV;
            }
            self.acknowledge(rank, around, t, &early);
        }
    }

    /// Acknowledges a message that was matched at `t`, if it is a rendezvous.
    #[inline(always)]
    fn acknowledge(&self, rank: Rank, around: &mut Around<'_, '_, 'a, S, N, L>, t: Time, message: &Early) {
        let (to, bytes) = (message.from, message.bytes);
        if self.rendezvous && self.rules.network.link(to, rank).is_rendezvous(bytes) {
            let arrival = self.rules.acknowledged(to, rank, around.turn.lanes, t).ps();
            let (body, stamp) = (Compact::acknowledging(message.tag), L::Number::default());
            around.turn.post(CompactMessage { arrival, to, from: rank, body, stamp });
        }
    }

    #[inline(always)]
    fn run_message(
        &self,
        rank: Rank,
        slot: &mut Slot,
        around: &mut Around<'_, '_, 'a, S, N, L>,
        t: Time,
        message: &Message<L>,
    ) {
        let body = message.body;
        if self.rendezvous && body.is_acknowledgement() {
            let (cpu, send_free) = slot.host.sending(0, 0);
            self.rules.acknowledge(cpu, send_free, t);
            // Only in a checkpoint that somebody has changed does no send wait for it.
            if slot.state.open & !slot.state.pending & SEND != 0 {
                self.completed(rank, slot, around.shared, SEND, t);
            }
            return;
        }
        if self.rules.latency.fabric().is_some() && body.is_last_segment() {
            return self.run_last_segment(rank, slot, around.shared, t, message);
        }
        around.turn.messages += 1;
        let (cpu, recv_free) = slot.host.receiving(0, 0);
        let transit = { message.stamp }.transit();
        let came = Arrival { from: message.from, to: rank, transit };
        let done = if body.bytes() == self.usual {
            self.rules.message_at(&self.recv_cost, came, cpu, recv_free, t);
            self.rules.whole_at(came, transit.tail().unwrap_or(Time::ZERO))
        } else {
            self.rules.message(came, cpu, recv_free, t, body.bytes()).1
        };
        let late = Late { done, number: transit.number, partial: transit.tail().is_none() };
        if slot.state.posted != 0 && takes(self.step(rank, slot).recv, message) {
            slot.state.posted = 0;
            self.acknowledge(rank, around, t, &early_of(message));
            if self.complete_receive(rank, slot, around.shared, (message.from, late), t) {
                self.completed(rank, slot, around.shared, RECV, t);
            }
        } else {
            slot.keep(&mut around.shared.early, message, self.kept(late));
        }
    }

    /// What an early message keeps: nothing without shared links.
    #[inline(always)]
    fn kept(&self, late: Late) -> Late {
        if self.rules.latency.fabric().is_some() { late } else { Late::default() }
    }

    /// Runs the next local operation.
    fn run_local(&self, rank: Rank, slot: &mut Slot, around: &mut Around<'_, '_, 'a, S, N, L>, t: Time) {
        let step = self.step(rank, slot);
        let operation = step_ready::take(&mut slot.state.pending, slot.ready, &slot.host, t);
        match operation {
            OperationKind::Send => {
                step.send.iter().for_each(|message| self.send(rank, slot, around, t, message));
            }
            OperationKind::Recv => {
                step.recv.iter().for_each(|message| self.receive(rank, slot, around, t, message));
            }
            OperationKind::Calc => self.calculate(rank, slot, &step, t),
        }
        // If this operation has completed, checks whether it was the last of the step.
        if slot.state.open & 1 << operation as u8 == 0 {
            self.completed(rank, slot, around.shared, 0, t);
        }
    }

    fn calculate(&self, rank: Rank, slot: &mut Slot, step: &Step, t: Time) {
        let last = slot.state.open == AFTER;
        let length = if last { step.after } else { step.calc.unwrap_or(Time::ZERO) };
        let (cpu, _) = slot.host.sending(0, 0);
        self.rules.calc(rank, cpu, t, length);
        slot.state.open &= !if last { AFTER } else { CALC };
    }

    /// Runs the events of a process in order, of any kind; see [`Actors::run`].
    #[inline(always)]
    fn run_any(
        &self,
        rank: Rank,
        slot: &mut Slot,
        around: &mut Around<'_, '_, 'a, S, N, L>,
        mail: &mut impl Mail<Compact, L::Number>,
    ) -> Time {
        let was_due = slot.next();
        loop {
            let (arrived, place) = mail.first(&slot.host, self.rules);
            let before = arrived.min(around.turn.frame.until);
            if self.exchange(rank, slot, around.shared, around.turn, before) {
                if slot.state.pending == 0 && mail.is_empty() {
                    return Time::NEVER;
                }
                continue;
            }
            let local = slot.next();
            if !mail.is_empty() {
                let message_first = arrived < local
                    || arrived == local && mail.key(place, &slot.host, self.rules) < slot.key();
                if message_first {
                    if arrived >= around.turn.frame.until {
                        return around.turn.frame.newly_due(was_due, local);
                    }
                    if let Some(message) = mail.take(place) {
                        self.run_message(rank, slot, around, arrived, &message);
                    }
                    continue;
                }
            }
            if local >= around.turn.frame.until || !around.turn.count_operation() {
                return around.turn.frame.newly_due(was_due, local);
            }
            self.run_local(rank, slot, around, local);
        }
    }

    /// Runs the ready operations of a process that has no message and is not scheduled for a later window.
    #[inline(never)]
    fn go_on(&self, rank: Rank, slot: &mut Slot, shared: &mut Shared, turn: &mut Turn<'_, Self>) -> Time {
        let until = turn.frame.until;
        while self.exchange(rank, slot, shared, turn, until) {}
        let next = slot.next();
        if next >= until { next } else { self.run_unusual(rank, slot, shared, turn, None).0 }
    }

    /// The message to send, if the step consists of a send and a receive only, and the message has the usual size.
    #[inline(always)]
    fn usual_send(&self, step: &Step) -> Option<StepMessage> {
        let exchanges = step.recv.is_some() && step.calc.is_none() && step.after == Time::ZERO;
        step.send.filter(|message| exchanges && message.bytes == self.usual)
    }

    /// Sends a message of the usual size.
    #[inline(always)]
    fn send_usual(
        &self,
        rank: Rank,
        slot: &mut Slot,
        turn: &mut Turn<'_, Self>,
        t: Time,
        message: &StepMessage,
    ) {
        let (cpu, send_free) = slot.host.sending(0, 0);
        let sender = Sender { cpu, send_free, lanes: turn.lanes };
        let sent = self.rules.send_at(&self.cost, (rank, message.peer), sender, t);
        if self.rules.latency.counts() {
            turn.post(letter::<L>(rank, message, &sent));
        } else {
            turn.post_soon(letter::<L>(rank, message, &sent));
        }
    }

    #[inline(never)]
    fn run_unusual(
        &self,
        rank: Rank,
        slot: &mut Slot,
        shared: &mut Shared,
        turn: &mut Turn<'_, Self>,
        message: Option<&Message<L>>,
    ) -> (Time, bool) {
        let mut mail = One(message);
        let next = self.run_any(rank, slot, &mut Around { shared, turn }, &mut mail);
        (next, mail.is_empty())
    }
}

/// Whether the receive of a step takes a message. Most name the sender and the tag.
#[inline(always)]
fn takes<S: Copy>(recv: Option<StepMessage>, message: &CompactMessage<S>) -> bool {
    let Some(StepMessage { peer, tag, .. }) = recv else { return false };
    peer == message.from && tag == message.body.tag() || takes_any(peer, tag, message)
}

#[inline(never)]
fn takes_any<S: Copy>(peer: Rank, tag: u32, message: &CompactMessage<S>) -> bool {
    early_of(message).matches(peer, tag)
}

/// Makes the message of a send.
#[inline(always)]
fn letter<L: Latency>(
    from: Rank,
    &StepMessage { peer, tag, bytes }: &StepMessage,
    sent: &Sent,
) -> Message<L> {
    let (arrival, body, stamp) = (sent.arrival.ps(), Compact::pack(bytes, tag), L::carry(sent.number));
    CompactMessage { arrival, to: peer, from, body, stamp }
}

fn early_of<S: Copy>(message: &CompactMessage<S>) -> Early {
    let body = message.body;
    let (from, tag, bytes, send) = (message.from, body.tag(), body.bytes(), body.send());
    Early { from, tag, bytes, send, ..Early::default() }
}

impl<S: Script + ?Sized, N: Noise, L: Latency> Actors for Stepping<'_, S, N, L> {
    type Noise = N;
    type Latency = L;
    type Host = OneLane;
    type Body = Compact;
    type Stamp = L::Number;
    type Observer = Nothing;
    type Slot = Slot;
    type Shared = Shared;

    const SCATTERED: bool = false;

    fn processes(&self) -> u32 {
        self.script.processes()
    }

    fn largest_message(&self) -> u64 {
        self.script.largest_message()
    }

    fn rules(&self) -> &Rules<'_, N, L> {
        self.rules
    }

    fn slot(&self) -> Slot {
        Slot::default()
    }

    fn shared(&self, _: Range<Rank>) -> Shared {
        Shared::default()
    }

    fn host(slot: &Slot) -> &OneLane {
        &slot.host
    }

    fn in_order_of_arrival(&self) -> bool {
        self.usual != u64::MAX
    }

    fn check(
        &self,
        ranks: Range<Rank>,
        slots: &[Slot],
        shared: &Shared,
        arriving: &[Message<L>],
    ) -> Result<(), Unsound> {
        let pool = &shared.early;
        let mut partial = shared.check(ranks.clone(), slots, self.processes())?;
        pool.check(slots.iter().map(|slot| slot.early))?;
        let mut acknowledged = vec![0u32; slots.len()];
        for message in arriving {
            ensure(message.from < self.processes(), "a message is from nobody")?;
            if self.rendezvous && message.body.is_acknowledgement() {
                acknowledged[(message.to - ranks.start) as usize] += 1;
            }
        }
        for ((rank, slot), acknowledged) in ranks.zip(slots).zip(acknowledged) {
            let partial = partial.remove(&rank).unwrap_or(0);
            let early = if slot.early == 0 { Vec::new() } else { pool.ring(slot.early) };
            ensure(
                early.iter().all(|early| early.from < self.processes()),
                "an early message is from nobody",
            )?;
            let step = if slot.phase >= self.script.phases() {
                None
            } else {
                ensure(slot.stage < self.script.stages(rank, slot.phase), "there is no such stage")?;
                Some(self.step(rank, slot))
            };
            slot.check(step.as_ref(), acknowledged, partial)?;
        }
        Ok(())
    }

    fn start(&self, process: Process<'_, Self>, _: &mut Turn<'_, Self>) {
        let Process { rank, slot, .. } = process;
        if self.find_phase(rank, slot) {
            let step = self.step(rank, slot);
            slot.enter(&step, Time::ZERO, Time::ZERO);
        }
    }

    fn run(
        &self,
        process: Process<'_, Self>,
        turn: &mut Turn<'_, Self>,
        mail: &mut impl Mail<Compact, L::Number>,
    ) -> Time {
        let Process { rank, slot, shared } = process;
        self.run_any(rank, slot, &mut Around { shared, turn }, mail)
    }

    /// The usual case: the message that a process waits for arrives, has the usual size, and lets the process send
    /// and receive again. Only times and the stage change in the end.
    #[inline(always)]
    fn run_one(
        &self,
        process: Process<'_, Self>,
        turn: &mut Turn<'_, Self>,
        message: &Message<L>,
    ) -> (Time, bool) {
        let Process { rank, slot, shared } = process;
        let mut t = rules::message_eligible(&slot.host, 0, 0, Time(message.arrival));
        let (body, until) = (message.body, turn.frame.until);
        if !slot.state.is(State::WAITS) && self.exchange_first(rank, slot, shared, turn, t.min(until)) {
            t = rules::message_eligible(&slot.host, 0, 0, Time(message.arrival));
        }
        if !slot.state.is(State::WAITS) || body.bytes() != self.usual || t >= until {
            return self.run_unusual(rank, slot, shared, turn, Some(message));
        }
        turn.messages += 1;
        let (cpu, recv_free) = slot.host.receiving(0, 0);
        let came = Arrival { from: message.from, to: rank, transit: { message.stamp }.transit() };
        let mut ready = self.rules.message_at(&self.recv_cost, came, cpu, recv_free, t).done;
        let mut late = Late::default();
        if self.rules.latency.fabric().is_some() {
            late.done = self.rules.whole_at(came, came.transit.tail().unwrap_or(Time::ZERO));
            ready = ready.max(late.done);
        }
        if !takes(self.step(rank, slot).recv, message) {
            slot.keep(&mut shared.early, message, late);
            return (Time::NEVER, true);
        }
        let stage = slot.stage + 1;
        if stage < self.script.stages(rank, slot.phase)
            && slot.early == 0
            && slot.host.send_free(0) <= ready
            && let Some(message) = self.usual_send(&self.script.step(rank, slot.phase, stage))
        {
            slot.stage = stage;
            if ready >= until {
                (slot.state, slot.ready, slot.created) = (State::EXCHANGES, ready, t);
                return (ready, true);
            }
            self.send_usual(rank, slot, turn, ready, &message);
            return (Time::NEVER, true);
        }
        slot.state.posted = 0;
        shared.note(rank, slot, late.done);
        self.completed(rank, slot, shared, RECV, t);
        (self.go_on(rank, slot, shared, turn), true)
    }

    /// The usual case: a process that wakes has a send and a receive ready.
    #[inline(always)]
    fn run_alone(&self, process: Process<'_, Self>, turn: &mut Turn<'_, Self>) -> Time {
        let Process { rank, slot, shared } = process;
        let until = turn.frame.until;
        if slot.early == 0
            && slot.state.is(State::EXCHANGES)
            && let Some(t) = slot.exchanges_at(until)
            && let Some(message) = self.usual_send(&self.step(rank, slot))
        {
            self.send_usual(rank, slot, turn, t, &message);
            slot.state = State::WAITS;
            return Time::NEVER;
        }
        // Operations of a later window were scheduled when they became ready.
        if slot.next() >= until { Time::NEVER } else { self.go_on(rank, slot, shared, turn) }
    }

    #[inline(always)]
    fn prefetch(&self, _: Rank, slot: &Slot, shared: &Shared) {
        shared.early.prefetch(slot.early);
    }

    fn conclude(&self, rank: Rank, slot: &Slot, shared: &Shared, remains: &mut Remains) -> Time {
        if slot.state.pending != 0 {
            // An operation that is ready but never ran would start at Time::NEVER: simulated time overflowed.
            remains.out_of_time();
        }
        if slot.phase < self.script.phases() {
            remains.unfinished();
        }
        if slot.state.posted != 0
            && let Some(recv) = self.step(rank, slot).recv
        {
            let operation = Operation::recv(recv.bytes, recv.peer, recv.tag);
            remains.blocked(Blocked { rank, id: OperationKind::Recv as u32, operation });
        }
        let early = if slot.early == 0 { Vec::new() } else { shared.early.ring(slot.early) };
        for early in early {
            let rendezvous = self.rules.network.link(early.from, rank).is_rendezvous(early.bytes);
            let leftover = Leftover { from: early.from, to: rank, tag: early.tag, bytes: early.bytes };
            remains.leftover(leftover, early.send, rendezvous);
        }
        shared.finish(rank, slot)
    }
}
