//! One process at work: its events, in their order, up to the end of a window.

use super::MessageOf;
use super::block::{BodyOf, Frame, Slot};
use super::calendar::Chunks;
use super::domain::Outgoing;
use super::mail::Mail;
use crate::agenda::Agenda;
use crate::host::Host;
use crate::message::{Body, Early, Message};
use crate::observer::{Observer, Ran, What};
use crate::outcome::RunError;
use crate::program::Program;
use crate::release::{Arrived, Release};
use crate::rules::Rules;
use std::sync::atomic::{AtomicBool, Ordering};
use straggler_model::noise::Noise;
use straggler_model::{Rank, Time};
use straggler_schedule::{Operation, OperationKind};

/// What a running process may touch besides itself.
pub(super) struct Turn<'a, P: Program, N, O: Observer> {
    pub program: &'a P,
    pub rules: &'a Rules<'a, N>,
    pub frame: &'a Frame,
    pub outgoing: &'a mut Outgoing<MessageOf<P, O::Stamp>>,
    pub chunks: &'a mut Chunks<MessageOf<P, O::Stamp>>,
    pub observer: &'a mut O,
    /// Whether any message can be a rendezvous.
    pub rendezvous: bool,
    pub stop: &'a AtomicBool,
    pub messages: u64,
    /// Local operations that ran.
    pub operations: u64,
    pub error: Option<RunError>,
}

/// After so many operations a process looks whether the run is to stop: a window may be long.
const CHECK: u64 = 1 << 20;

/// One process at work.
pub(super) struct Process<'a, P: Program> {
    pub rank: Rank,
    pub slot: &'a mut Slot<P>,
    pub state: &'a mut P::Block,
    pub pool: &'a mut <P::Agenda as Agenda>::Pool,
}

impl<P: Program> Process<'_, P> {
    /// The window after this one in which the process is known to wake.
    #[inline(always)]
    pub fn next_window(&mut self, frame: &Frame) -> Option<u64> {
        let eligible = self.slot.agenda.next(&self.slot.host);
        (eligible >= frame.until && eligible != Time::NEVER).then(|| frame.window_of(eligible))
    }

    pub fn start<N: Noise, O: Observer>(&mut self, turn: &mut Turn<'_, P, N, O>) {
        let Slot { host, agenda, local } = &mut *self.slot;
        let pool = &mut *self.pool;
        turn.program.start(self.rank, local, self.state, &mut |release: Release| {
            agenda.release(pool, &release, Time::ZERO, host);
            turn.observer.released(self.rank, &release);
        });
    }

    /// Runs the process's events in their order up to the end of the window. Gives the time of the next
    /// local one.
    #[inline(always)]
    pub fn run<N: Noise, O: Observer>(
        &mut self,
        turn: &mut Turn<'_, P, N, O>,
        mail: &mut impl Mail<BodyOf<P>, O::Stamp>,
    ) -> Time {
        loop {
            let local = self.slot.agenda.next(&self.slot.host);
            if !mail.is_empty() {
                let (arrived, place) = mail.first(&self.slot.host, turn.rules);
                let message_first = arrived < local
                    || arrived == local
                        && mail.key(place, &self.slot.host, turn.rules)
                            < self.slot.agenda.key(&self.slot.host);
                if message_first {
                    if arrived >= turn.frame.until {
                        return local;
                    }
                    if let Some(message) = mail.take(place) {
                        self.run_message(turn, arrived, &message);
                    }
                    continue;
                }
            }
            if local >= turn.frame.until {
                return local;
            }
            if !self.run_local(turn, local) {
                return local;
            }
        }
    }

    /// Runs the first local operation; says whether the run goes on.
    #[inline(always)]
    fn run_local<N: Noise, O: Observer>(&mut self, turn: &mut Turn<'_, P, N, O>, t: Time) -> bool {
        turn.operations += 1;
        if turn.operations.is_multiple_of(CHECK) && turn.stop.load(Ordering::Relaxed) {
            turn.error = Some(RunError::Interrupted);
            return false;
        }
        // The kind is a constant in each branch, so that a program computes no more than it must.
        match self.slot.agenda.take(self.pool, &self.slot.host, t) {
            (OperationKind::Send, id) => {
                let operation =
                    turn.program.operation(self.rank, &self.slot.local, self.state, OperationKind::Send, id);
                self.run_send(turn, t, id, &operation);
            }
            (OperationKind::Recv, id) => {
                let operation =
                    turn.program.operation(self.rank, &self.slot.local, self.state, OperationKind::Recv, id);
                self.run_recv(turn, t, id, &operation);
            }
            (OperationKind::Calc, id) => {
                let operation =
                    turn.program.operation(self.rank, &self.slot.local, self.state, OperationKind::Calc, id);
                self.run_calc(turn, t, id, &operation);
            }
        }
        true
    }

    #[inline(always)]
    fn run_send<N: Noise, O: Observer>(
        &mut self,
        turn: &mut Turn<'_, P, N, O>,
        t: Time,
        id: u32,
        operation: &Operation,
    ) {
        let (cpu, send_free) = self.slot.host.sending(operation.cpu, operation.nic);
        let sent = turn.rules.send(self.rank, operation.peer, cpu, send_free, t, operation.amount);
        let what = What::Send { rendezvous: sent.rendezvous };
        let stamp = self.observe(turn, what, id, operation, t, sent.charge.done, sent.charge.noise);
        let body = Body::new(id, self.slot.agenda.count_send(), operation);
        turn.post(Message { arrival: sent.arrival.ps(), to: operation.peer, from: self.rank, body, stamp });
        self.started(turn, id, t);
        if !sent.rendezvous {
            self.completed(turn, id, t, sent.charge.done);
        }
    }

    #[inline(always)]
    fn run_recv<N: Noise, O: Observer>(
        &mut self,
        turn: &mut Turn<'_, P, N, O>,
        t: Time,
        id: u32,
        operation: &Operation,
    ) {
        let early = self.slot.agenda.post(self.pool, id, operation.peer, operation.tag);
        let what = What::Recv { matched: early.is_some() };
        let done = early.map_or(t, |early| t.max(early.done));
        let stamp = self.observe(turn, what, id, operation, t, done, Time::ZERO);
        self.started(turn, id, t);
        if let Some(early) = early {
            self.acknowledge(turn, t, &early, stamp);
            self.completed(turn, id, t, done);
        }
    }

    #[inline(always)]
    fn run_calc<N: Noise, O: Observer>(
        &mut self,
        turn: &mut Turn<'_, P, N, O>,
        t: Time,
        id: u32,
        operation: &Operation,
    ) {
        let (cpu, _) = self.slot.host.sending(operation.cpu, operation.nic);
        let charge = turn.rules.calc(self.rank, cpu, t, Time(operation.amount));
        self.observe(turn, What::Calc, id, operation, t, charge.done, charge.noise);
        self.started(turn, id, t);
        self.completed(turn, id, t, charge.done);
    }

    #[inline(always)]
    fn run_message<N: Noise, O: Observer>(
        &mut self,
        turn: &mut Turn<'_, P, N, O>,
        t: Time,
        message: &Message<BodyOf<P>, O::Stamp>,
    ) {
        let body = message.body;
        if body.is_acknowledgement() {
            return self.run_acknowledgement(turn, t, message);
        }
        let early = Early {
            from: message.from,
            tag: body.tag(),
            bytes: body.bytes(),
            send: body.send(),
            cpu: body.cpu(),
            nic: body.nic(),
            done: Time::ZERO,
        };
        let (cpu, recv_free) = self.slot.host.receiving(early.cpu, early.nic);
        let charge = turn.rules.message(self.rank, early.from, cpu, recv_free, t, early.bytes);
        let early = Early { done: turn.rules.early_done(&charge), ..early };
        turn.messages += 1;
        let Slot { agenda, local, .. } = &mut *self.slot;
        let state = &*self.state;
        let completes = if P::TAKES_ARRIVALS {
            None
        } else {
            agenda.arrive(self.pool, early, |id| {
                let operation = turn.program.operation(self.rank, local, state, OperationKind::Recv, id);
                (operation.peer, operation.tag)
            })
        };
        let mut stamp = O::Stamp::default();
        if O::ACTIVE {
            stamp = turn.observer.ran(&Ran {
                what: What::Message { completes },
                rank: self.rank,
                id: early.send,
                cpu: early.cpu,
                nic: early.nic,
                t,
                done: charge.done,
                cpu_free: self.slot.host.cpu(early.cpu).free,
                nic_free: self.slot.host.recv_free(early.nic),
                noise: charge.noise,
                amount: early.bytes,
                peer: early.from,
                tag: early.tag,
                arrival: Time(message.arrival),
                cause: message.stamp,
            });
        }
        if P::TAKES_ARRIVALS {
            self.acknowledge(turn, t, &early, stamp);
            self.arrived(turn, t, &early, charge.done);
        } else if let Some(id) = completes {
            self.acknowledge(turn, t, &early, stamp);
            self.completed(turn, id, t, charge.done);
        }
    }

    /// A program that takes messages as they come gets one.
    #[inline(always)]
    fn arrived<N: Noise, O: Observer>(
        &mut self,
        turn: &mut Turn<'_, P, N, O>,
        t: Time,
        early: &Early,
        done: Time,
    ) {
        let message = Arrived { from: early.from, tag: early.tag, bytes: early.bytes };
        let Slot { host, agenda, local } = &mut *self.slot;
        let pool = &mut *self.pool;
        turn.program.arrived(self.rank, local, self.state, message, done, &mut |release: Release| {
            agenda.release(pool, &release, t, host);
            turn.observer.released(self.rank, &release);
        });
    }

    /// A message has been matched at `t`: a rendezvous sender hears of it.
    #[inline(always)]
    fn acknowledge<N: Noise, O: Observer>(
        &mut self,
        turn: &mut Turn<'_, P, N, O>,
        t: Time,
        early: &Early,
        stamp: O::Stamp,
    ) {
        if turn.rendezvous && turn.rules.network.link(early.from, self.rank).is_rendezvous(early.bytes) {
            let arrival = (t + turn.rules.acknowledgement(early.from, self.rank)).ps();
            let body = Body::acknowledgement(early);
            turn.post(Message { arrival, to: early.from, from: self.rank, body, stamp });
        }
    }

    #[inline(never)]
    fn run_acknowledgement<N: Noise, O: Observer>(
        &mut self,
        turn: &mut Turn<'_, P, N, O>,
        t: Time,
        message: &Message<BodyOf<P>, O::Stamp>,
    ) {
        let body = message.body;
        let (cpu, send_free) = self.slot.host.sending(body.cpu(), body.nic());
        turn.rules.acknowledge(cpu, send_free, t);
        if O::ACTIVE {
            turn.observer.ran(&Ran {
                what: What::Acknowledgement,
                rank: self.rank,
                id: body.send(),
                cpu: body.cpu(),
                nic: body.nic(),
                t,
                done: t,
                cpu_free: self.slot.host.cpu(body.cpu()).free,
                nic_free: self.slot.host.send_free(body.nic()),
                noise: Time::ZERO,
                amount: 0,
                peer: message.from,
                tag: body.tag(),
                arrival: Time(message.arrival),
                cause: message.stamp,
            });
        }
        self.completed(turn, body.send(), t, t);
    }

    #[inline(always)]
    fn started<N: Noise, O: Observer>(&mut self, turn: &mut Turn<'_, P, N, O>, id: u32, t: Time) {
        let Slot { host, agenda, local } = &mut *self.slot;
        let pool = &mut *self.pool;
        turn.program.started(self.rank, local, self.state, id, t, &mut |release: Release| {
            agenda.release(pool, &release, t, host);
            turn.observer.released(self.rank, &release);
        });
    }

    /// Operation `id` completes at `done`, by an event that runs at `t`.
    #[inline(always)]
    fn completed<N: Noise, O: Observer>(
        &mut self,
        turn: &mut Turn<'_, P, N, O>,
        id: u32,
        t: Time,
        done: Time,
    ) {
        let Slot { host, agenda, local } = &mut *self.slot;
        let pool = &mut *self.pool;
        turn.program.completed(self.rank, local, self.state, id, done, &mut |release: Release| {
            agenda.release(pool, &release, t, host);
            turn.observer.released(self.rank, &release);
        });
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn observe<N: Noise, O: Observer>(
        &self,
        turn: &mut Turn<'_, P, N, O>,
        what: What,
        id: u32,
        operation: &Operation,
        t: Time,
        done: Time,
        noise: Time,
    ) -> O::Stamp {
        if !O::ACTIVE {
            return O::Stamp::default();
        }
        let Operation { amount, peer, tag, cpu, nic, .. } = *operation;
        turn.observer.ran(&Ran {
            what,
            rank: self.rank,
            id,
            cpu,
            nic,
            t,
            done,
            cpu_free: self.slot.host.cpu(cpu).free,
            nic_free: self.slot.host.send_free(nic),
            noise,
            amount,
            peer,
            tag,
            arrival: t,
            cause: O::Stamp::default(),
        })
    }
}

impl<P: Program, N: Noise, O: Observer> Turn<'_, P, N, O> {
    /// Whether simulated time still goes on at `time`.
    #[inline(always)]
    pub fn check_time(&mut self, time: Time) -> bool {
        if time == Time::NEVER {
            self.error = Some(RunError::TimeOverflow);
        }
        time != Time::NEVER
    }

    /// Puts a message on its way.
    #[inline(always)]
    fn post(&mut self, message: MessageOf<P, O::Stamp>) {
        if message.to >= self.program.processes() {
            self.error = Some(RunError::PeerOutOfRange {
                rank: message.from,
                peer: message.to,
                processes: self.program.processes(),
            });
            return;
        }
        let in_next_window = Time(message.arrival) < self.frame.next_until;
        let block = message.to >> self.frame.shift;
        self.outgoing.push(self.chunks, block, in_next_window, message);
    }
}
