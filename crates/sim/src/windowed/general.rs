//! Runs processes of any program, one event after the other.

use super::actors::{Actors, MessageOf, Process, Turn};
use super::mail::Mail;
use crate::agenda::{Agenda, InProgress};
use crate::checkpoint::{Unsound, ensure};
use crate::execution::{Execution, Happened, Incoming, Site, notify};
use crate::host::Host;
use crate::lanes::Lanes;
use crate::latency::Latency;
use crate::message::{Body, Carried, Early, Message, Stamp};
use crate::observer::Observer;
use crate::outcome::{Blocked, Leftover, Remains};
use crate::ports::Tails;
use crate::program::Program;
use crate::release::{Arrived, Release};
use crate::rules::{Rules, Sender, Sent};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;
use std::ops::Range;
use straggler_model::{Network, Rank, Time};
use straggler_noise::Noise;
use straggler_schedule::{Operation, OperationKind};

pub(super) struct General<'a, P, N, L, O> {
    program: &'a P,
    rules: &'a Rules<'a, N, L>,
    /// Whether any message can be a rendezvous.
    rendezvous: bool,
    observer: PhantomData<fn() -> O>,
}

/// One process.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
#[repr(C, align(64))]
pub(super) struct Slot<P: Program> {
    host: P::Host,
    agenda: P::Agenda,
    local: P::Local,
}

/// State of neighbouring processes outside their slots.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Shared<P: Program> {
    block: P::Block,
    pool: <P::Agenda as Agenda>::Pool,
    tails: Tails,
}

impl<'a, P: Program, N: Noise, L: Latency, O> General<'a, P, N, L, O> {
    pub fn new(program: &'a P, rules: &'a Rules<'a, N, L>) -> Self {
        let rendezvous = rules.network.may_rendezvous(program.largest_message());
        General { program, rules, rendezvous, observer: PhantomData }
    }
}

impl<P: Program, N: Noise, L: Latency, O: Observer> Actors for General<'_, P, N, L, O> {
    type Noise = N;
    type Latency = L;
    type Host = P::Host;
    type Body = <P::Agenda as Agenda>::Body;
    type Stamp = Carried<O::Stamp, L::Number>;
    type Observer = O;
    type Slot = Slot<P>;
    type Shared = Shared<P>;

    const SCATTERED: bool = P::SCATTERED;

    fn processes(&self) -> u32 {
        self.program.processes()
    }

    fn largest_message(&self) -> u64 {
        self.program.largest_message()
    }

    fn rules(&self) -> &Rules<'_, N, L> {
        self.rules
    }

    fn slot(&self) -> Slot<P> {
        Slot { host: P::Host::new(), agenda: Default::default(), local: Default::default() }
    }

    fn shared(&self, ranks: Range<Rank>) -> Shared<P> {
        Shared { block: self.program.block(ranks), pool: Default::default(), tails: Tails::default() }
    }

    fn host(slot: &Slot<P>) -> &P::Host {
        &slot.host
    }

    fn check(
        &self,
        ranks: Range<Rank>,
        slots: &[Slot<P>],
        shared: &Shared<P>,
        arriving: &[MessageOf<Self>],
    ) -> Result<(), Unsound> {
        let agendas: Vec<&P::Agenda> = slots.iter().map(|slot| &slot.agenda).collect();
        let locals: Vec<P::Local> = slots.iter().map(|slot| slot.local).collect();
        let Shared { block, pool, tails } = shared;
        check(self.program, ranks, &agendas, &locals, (block, pool, tails), arriving)
    }

    fn start(&self, process: Process<'_, Self>, turn: &mut Turn<'_, Self>) {
        let Process { rank, slot: Slot { host, agenda, local }, shared: Shared { block, pool, .. } } =
            process;
        self.program.start(rank, local, block, &mut |release: Release| {
            agenda.release(pool, &release, Time::ZERO, host);
            if turn.observer.is_active() {
                turn.observer.released(rank, &release);
            }
        });
    }

    /// Not inlined: compiled once for each kind of mail instead of at every call, since there are many
    /// programs.
    #[inline(never)]
    fn run(
        &self,
        process: Process<'_, Self>,
        turn: &mut Turn<'_, Self>,
        mail: &mut impl Mail<Self::Body, Self::Stamp>,
    ) -> Time {
        let frame = turn.frame;
        let mut at_work = AtWork { actors: self, process, turn };
        let slot = &mut *at_work.process.slot;
        let was_due = slot.agenda.next(&slot.host);
        loop {
            let slot = &mut *at_work.process.slot;
            let local = slot.agenda.next(&slot.host);
            if !mail.is_empty() {
                let (arrived, place) = mail.first(&slot.host, self.rules);
                let message_first = arrived < local
                    || arrived == local
                        && mail.key(place, &slot.host, self.rules) < slot.agenda.key(&slot.host);
                if message_first {
                    if arrived >= frame.until {
                        return frame.newly_due(was_due, local);
                    }
                    if let Some(message) = mail.take(place) {
                        at_work.run_message(arrived, &message);
                    }
                    continue;
                }
            }
            if local >= frame.until || !at_work.run_local(local) {
                return frame.newly_due(was_due, local);
            }
        }
    }

    #[inline(never)]
    fn prefetch(&self, rank: Rank, slot: &Slot<P>, shared: &Shared<P>) {
        if let Some(id) = slot.agenda.prefetch(&shared.pool) {
            self.program.prefetch(rank, &shared.block, id);
        }
    }

    fn conclude(&self, rank: Rank, slot: &Slot<P>, shared: &Shared<P>, remains: &mut Remains) -> Time {
        let Slot { host, agenda, local } = slot;
        let Shared { block, pool, .. } = shared;
        let left = Left { free: host.finish(), agenda, local, block, pool };
        left.conclude(self.program, self.rules.network, rank, remains)
    }
}

/// Checks the states of neighbouring processes of a program; see [`Actors::check`].
pub(super) fn check<P: Program, B: Body, S: Copy>(
    program: &P,
    ranks: Range<Rank>,
    agendas: &[&P::Agenda],
    locals: &[P::Local],
    (block, pool, tails): (&P::Block, &<P::Agenda as Agenda>::Pool, &Tails),
    arriving: &[Message<B, S>],
) -> Result<(), Unsound> {
    P::Agenda::check(agendas.iter().copied(), pool)?;
    let can_be = |from: Rank, send: u32| from < program.processes() && program.has_send(from, send);
    let mut in_progress = Vec::with_capacity(agendas.len());
    for agenda in agendas {
        let (ready, posted) = (agenda.ready(pool), agenda.posted(pool));
        in_progress.push(InProgress { ready, posted, acknowledged: Vec::new() });
        let early = agenda.unreceived(pool);
        ensure(early.iter().all(|early| can_be(early.from, early.send)), "an early message is from nobody")?;
    }
    let own = |(to, from): (Rank, Rank)| ranks.contains(&to) && from < program.processes();
    ensure(tails.ends().all(own), "a last segment is from nobody, or for nobody")?;
    for (rank, id) in tails.receives() {
        in_progress[(rank - ranks.start) as usize].posted.push(id);
    }
    for message in arriving {
        let (body, from, to) = (message.body, message.from, message.to);
        let place = (to - ranks.start) as usize;
        if body.is_acknowledgement() {
            in_progress[place].acknowledged.push(body.send());
            ensure(
                from < program.processes() && program.has_send(to, body.send()),
                "nobody waits for this message",
            )?;
            continue;
        }
        if body.is_last_segment() {
            ensure(from < program.processes(), "a last segment is from nobody")?;
            continue;
        }
        let arrived = Arrived { from, tag: body.tag(), bytes: body.bytes() };
        let fits = can_be(from, body.send()) && program.can_arrive(&locals[place], arrived);
        ensure(fits, "a message is from nobody, or for nobody")?;
    }
    program.check(ranks, locals, block, &in_progress)
}

/// The final state of a process.
pub(super) struct Left<'a, P: Program> {
    /// When its CPUs are free.
    pub free: Time,
    pub agenda: &'a P::Agenda,
    pub local: &'a P::Local,
    pub block: &'a P::Block,
    pub pool: &'a <P::Agenda as Agenda>::Pool,
}

impl<P: Program> Left<'_, P> {
    /// Returns when the process has finished, and adds what it leaves behind to `remains`.
    pub fn conclude(&self, program: &P, network: &Network, rank: Rank, remains: &mut Remains) -> Time {
        let &Left { free, agenda, local, block, pool } = self;
        if !agenda.is_idle() {
            // An operation that is ready but never ran would start at Time::NEVER: simulated time overflowed.
            remains.out_of_time();
        }
        if !program.finished(rank, local, block) {
            remains.unfinished();
            program.unstarted(rank, block, &mut |operation| remains.unstarted(rank, operation));
        }
        for id in agenda.posted(pool) {
            let operation = program.operation(rank, local, block, OperationKind::Recv, id);
            remains.blocked(Blocked { rank, id, operation });
        }
        for early in agenda.unreceived(pool) {
            let rendezvous = network.link(early.from, rank).is_rendezvous(early.bytes);
            let leftover = Leftover { from: early.from, to: rank, tag: early.tag, bytes: early.bytes };
            remains.leftover(leftover, early.send, rendezvous);
        }
        free.max(program.last_completion(rank, local, block))
    }
}

/// A running process and its turn.
struct AtWork<'a, 'b, 't, P: Program, N: Noise, L: Latency, O: Observer> {
    actors: &'a General<'b, P, N, L, O>,
    process: Process<'a, General<'b, P, N, L, O>>,
    turn: &'a mut Turn<'t, General<'b, P, N, L, O>>,
}

impl<P: Program, N: Noise, L: Latency, O: Observer> AtWork<'_, '_, '_, P, N, L, O> {
    /// Runs the first local operation; returns whether the run continues.
    #[inline(always)]
    fn run_local(&mut self, t: Time) -> bool {
        if !self.turn.count_operation() {
            return false;
        }
        let General { program, rules, rendezvous, .. } = *self.actors;
        let execution = Execution { rank: self.process.rank, rules, rendezvous };
        let Process { rank, slot, shared } = &mut self.process;
        // The kind is a constant in each branch, so that a program computes no more than it must.
        match slot.agenda.take(&mut shared.pool, &slot.host, t) {
            (OperationKind::Send, id) => {
                let operation = program.operation(*rank, &slot.local, &shared.block, OperationKind::Send, id);
                execution.run_send(self, t, id, &operation);
            }
            (OperationKind::Recv, id) => {
                let operation = program.operation(*rank, &slot.local, &shared.block, OperationKind::Recv, id);
                execution.run_recv(self, t, id, &operation);
            }
            (OperationKind::Calc, id) => {
                let operation = program.operation(*rank, &slot.local, &shared.block, OperationKind::Calc, id);
                execution.run_calc(self, t, id, &operation);
            }
        }
        true
    }

    #[inline(always)]
    fn run_message(&mut self, t: Time, message: &MessageOf<General<'_, P, N, L, O>>) {
        let General { rules, rendezvous, .. } = *self.actors;
        let execution = Execution { rank: self.process.rank, rules, rendezvous };
        let (body, arrival) = (message.body, Time(message.arrival));
        let Carried { observed: cause, number } = message.stamp;
        let transit = number.transit();
        let incoming = Incoming {
            message: Early {
                from: message.from,
                tag: body.tag(),
                bytes: body.bytes(),
                send: body.send(),
                cpu: body.cpu(),
                nic: body.nic(),
                ..Early::default()
            },
            arrival,
            transit,
            cause,
        };
        if body.is_acknowledgement() {
            return execution.run_acknowledgement(self, t, &incoming);
        }
        if body.is_last_segment() {
            return execution.run_last_segment(self, t, message.from, transit.number);
        }
        self.turn.messages += 1;
        execution.run_message(self, t, &incoming);
    }
}

impl<P: Program, N: Noise, L: Latency, O: Observer> Site<P, O> for AtWork<'_, '_, '_, P, N, L, O> {
    #[inline(always)]
    fn host(&mut self) -> &mut P::Host {
        &mut self.process.slot.host
    }

    #[inline(always)]
    fn lanes(&mut self) -> &mut Lanes {
        self.turn.lanes
    }

    fn tails(&mut self) -> &mut Tails {
        &mut self.process.shared.tails
    }

    #[inline(always)]
    fn sender(&mut self, cpu: u8, nic: u8) -> Sender<'_> {
        let (cpu, send_free) = self.process.slot.host.sending(cpu, nic);
        Sender { cpu, send_free, lanes: self.turn.lanes }
    }

    #[inline(always)]
    fn observer(&mut self) -> &mut O {
        self.turn.observer
    }

    #[inline(always)]
    fn notify(&mut self, happened: Happened, t: Time) {
        let Process { rank, slot, shared } = &mut self.process;
        let Slot { host, agenda, local } = &mut **slot;
        let Shared { block, pool, .. } = &mut **shared;
        let observer = &mut *self.turn.observer;
        notify(self.actors.program, *rank, local, block, happened, &mut |release: Release| {
            agenda.release(pool, &release, t, host);
            if observer.is_active() {
                observer.released(*rank, &release);
            }
        });
    }

    #[inline(always)]
    fn post(&mut self, id: u32, operation: &Operation) -> Option<Early> {
        let Process { slot, shared, .. } = &mut self.process;
        slot.agenda.post(&mut shared.pool, id, operation.peer, operation.tag)
    }

    #[inline(always)]
    fn match_message(&mut self, early: &Early) -> Option<u32> {
        let Process { rank, slot, shared } = &mut self.process;
        let Slot { agenda, local, .. } = &mut **slot;
        let Shared { block, pool, .. } = &mut **shared;
        let program = self.actors.program;
        agenda.arrive(pool, *early, |id| {
            let operation = program.operation(*rank, local, block, OperationKind::Recv, id);
            (operation.peer, operation.tag)
        })
    }

    #[inline(always)]
    fn send(&mut self, id: u32, operation: &Operation, sent: &Sent, stamp: O::Stamp) {
        let Process { rank: from, slot, .. } = &mut self.process;
        let body = Body::new(id, slot.agenda.count_send(), operation);
        let stamp = Carried { observed: stamp, number: L::carry(sent.number) };
        self.turn.post(Message { arrival: sent.arrival.ps(), to: operation.peer, from: *from, body, stamp });
    }

    #[inline(always)]
    fn acknowledge(&mut self, message: &Early, arrival: Time, stamp: O::Stamp) {
        let stamp = Carried { observed: stamp, number: L::Number::default() };
        let (to, from, body) = (message.from, self.process.rank, Body::acknowledgement(message));
        self.turn.post(Message { arrival: arrival.ps(), to, from, body, stamp });
    }
}
