//! What happens when an event runs, and in which order, for every engine: charge the rule, notify the observer, start,
//! acknowledge, complete.
//!
//! Engines implement [`Site`], which knows where a process's state is and where messages and ready operations go.

use crate::host::Host;
use crate::lanes::Lanes;
use crate::latency::Latency;
use crate::message::{Early, Transit};
use crate::observer::{Observer, Ran, RanKind};
use crate::ports::{Awaited, Tails, Whole};
use crate::program::{MOMENT, Program};
use crate::release::{Arrived, Release};
use crate::rules::{Arrival, Charge, Rules, Sender, Sent};
use straggler_model::{Rank, Time};
use straggler_noise::Noise;
use straggler_schedule::Operation;

/// Access to one process in its engine.
pub(crate) trait Site<P: Program, O: Observer> {
    fn host(&mut self) -> &mut P::Host;
    /// The process's record of the messages it sends.
    fn lanes(&mut self) -> &mut Lanes;
    /// The state that a send uses.
    fn sender(&mut self, cpu: u8, nic: u8) -> Sender<'_>;
    fn observer(&mut self) -> &mut O;
    /// Tells the program what an event that ran at `t` has caused, and makes ready what the program releases.
    fn notify(&mut self, happened: Happened, t: Time);
    /// Posts a receive. Returns the matching message if it has already arrived.
    fn post(&mut self, id: u32, operation: &Operation) -> Option<Early>;
    /// Matches a message that has run. Returns the receive it completes, or keeps the message if there is none.
    fn match_message(&mut self, early: &Early) -> Option<u32>;
    /// Messages whose last segment is still to come, or came early.
    fn tails(&mut self) -> &mut Tails;
    /// Puts a message on its way.
    fn send(&mut self, id: u32, operation: &Operation, sent: &Sent, stamp: O::Stamp);
    /// Sends the acknowledgement of a rendezvous message to its sender.
    fn acknowledge(&mut self, message: &Early, arrival: Time, stamp: O::Stamp);
}

/// What a program is told about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Happened {
    Started { id: u32, at: Time },
    Completed { id: u32, done: Time },
    Matched { id: u32, from: Rank, delay: Time },
    Arrived { message: Arrived, done: Time },
}

/// Tells a program what has happened to one of its processes.
#[inline(always)]
pub(crate) fn notify<P: Program>(
    program: &P,
    rank: Rank,
    local: &mut P::Local,
    block: &mut P::Block,
    happened: Happened,
    release: &mut impl FnMut(Release),
) {
    match happened {
        Happened::Started { id, at } => program.started(rank, local, block, id, at, release),
        Happened::Completed { id, done } => program.completed(rank, local, block, id, done, release),
        Happened::Matched { id, from, delay } => program.matched(rank, local, block, id, from, delay),
        Happened::Arrived { message, done } => program.arrived(rank, local, block, message, done, release),
    }
}

/// A message or an acknowledgement as its receiver sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming<S> {
    pub message: Early,
    pub arrival: Time,
    pub transit: Transit,
    /// The stamp of the remote event that caused it.
    pub cause: S,
}

/// Runs events of one process.
pub(crate) struct Execution<'a, N, L> {
    pub rank: Rank,
    pub rules: &'a Rules<'a, N, L>,
    /// Whether any message can be a rendezvous.
    pub rendezvous: bool,
}

impl<N: Noise, L: Latency> Execution<'_, N, L> {
    #[inline(always)]
    pub fn run_send<P: Program, O: Observer>(
        &self,
        site: &mut impl Site<P, O>,
        t: Time,
        id: u32,
        operation: &Operation,
    ) {
        let sender = site.sender(operation.cpu, operation.nic);
        let sent = self.rules.send((self.rank, operation.peer), sender, t, operation.amount);
        let what = RanKind::Send { rendezvous: sent.rendezvous };
        let stamp = self.observe(site, what, (id, sent.number), operation, t, sent.charge);
        site.send(id, operation, &sent, stamp);
        site.notify(Happened::Started { id, at: t }, t);
        if !sent.rendezvous {
            site.notify(Happened::Completed { id, done: sent.charge.done }, t);
        }
    }

    #[inline(always)]
    pub fn run_recv<P: Program, O: Observer>(
        &self,
        site: &mut impl Site<P, O>,
        t: Time,
        id: u32,
        operation: &Operation,
    ) {
        let early = site.post(id, operation);
        let done = early.map_or(t, |early| t.max(early.done));
        let what = RanKind::Recv { matched: early.is_some() };
        let stamp = self.observe(site, what, (id, 0), operation, t, Charge { done, noise: Time::ZERO });
        site.notify(Happened::Started { id, at: t }, t);
        if let Some(early) = early {
            self.acknowledge(site, t, &early, stamp);
            if P::DECIDES {
                site.notify(Happened::Matched { id, from: early.from, delay: Time::ZERO }, t);
            }
            self.complete(site, &early, Awaited { what: Whole::Receive(id), created: t, done });
        }
    }

    #[inline(always)]
    pub fn run_calc<P: Program, O: Observer>(
        &self,
        site: &mut impl Site<P, O>,
        t: Time,
        id: u32,
        operation: &Operation,
    ) {
        if P::DECIDES && operation.tag == MOMENT {
            site.notify(Happened::Started { id, at: t }, t);
            return site.notify(Happened::Completed { id, done: t }, t);
        }
        let (cpu, _) = site.host().sending(operation.cpu, operation.nic);
        let charge = self.rules.calc(self.rank, cpu, t, Time(operation.amount));
        self.observe(site, RanKind::Calc, (id, 0), operation, t, charge);
        site.notify(Happened::Started { id, at: t }, t);
        site.notify(Happened::Completed { id, done: charge.done }, t);
    }

    #[inline(always)]
    pub fn run_message<P: Program, O: Observer>(
        &self,
        site: &mut impl Site<P, O>,
        t: Time,
        incoming: &Incoming<O::Stamp>,
    ) {
        let (message, transit) = (&incoming.message, incoming.transit);
        let (cpu, recv_free) = site.host().receiving(message.cpu, message.nic);
        let came = Arrival { from: message.from, to: self.rank, transit };
        let (charge, arrived) = self.rules.message(came, cpu, recv_free, t, message.bytes);
        let (number, partial) = (transit.number, transit.tail().is_none());
        let message = Early { done: arrived, number, partial, ..*message };
        let completes = if P::TAKES_ARRIVALS { None } else { site.match_message(&message) };
        let stamp = self.observe_incoming(site, RanKind::Message { completes }, incoming, number, t, charge);
        let done = charge.done;
        if P::TAKES_ARRIVALS {
            self.acknowledge(site, t, &message, stamp);
            let what = Whole::Arrival { tag: message.tag, bytes: message.bytes };
            self.complete(site, &message, Awaited { what, created: t, done });
        } else if let Some(id) = completes {
            self.acknowledge(site, t, &message, stamp);
            if P::DECIDES {
                let delay = t.since(incoming.arrival);
                site.notify(Happened::Matched { id, from: message.from, delay }, t);
            }
            self.complete(site, &message, Awaited { what: Whole::Receive(id), created: t, done });
        }
    }

    /// Completes what a message that has run belongs to, or waits for its last segment.
    #[inline(always)]
    fn complete<P: Program, O: Observer>(
        &self,
        site: &mut impl Site<P, O>,
        message: &Early,
        awaited: Awaited,
    ) {
        if message.partial {
            return self.complete_partial(site, message, awaited);
        }
        self.complete_whole(site, message.from, awaited);
    }

    #[inline(never)]
    fn complete_partial<P: Program, O: Observer>(
        &self,
        site: &mut impl Site<P, O>,
        message: &Early,
        awaited: Awaited,
    ) {
        let tail = site.tails().wait((self.rank, message.from, message.number), awaited);
        if let Some(tail) = tail {
            self.complete_at(site, message.from, message.number, tail, awaited);
        }
    }

    fn complete_at<P: Program, O: Observer>(
        &self,
        site: &mut impl Site<P, O>,
        from: Rank,
        number: u32,
        tail: Time,
        awaited: Awaited,
    ) {
        let came = Arrival { from, to: self.rank, transit: Transit::whole(number, tail) };
        let done = awaited.done.max(self.rules.whole_at(came, tail));
        self.complete_whole(site, from, Awaited { done, ..awaited });
    }

    #[inline(always)]
    fn complete_whole<P: Program, O: Observer>(
        &self,
        site: &mut impl Site<P, O>,
        from: Rank,
        awaited: Awaited,
    ) {
        let Awaited { what, created, done } = awaited;
        match what {
            Whole::Receive(id) => site.notify(Happened::Completed { id, done }, created),
            Whole::Arrival { tag, bytes } => {
                site.notify(Happened::Arrived { message: Arrived { from, tag, bytes }, done }, created);
            }
        }
    }

    /// Runs the last segment of message `number` of `from`, which has arrived at `t`.
    #[inline(never)]
    pub fn run_last_segment<P: Program, O: Observer>(
        &self,
        site: &mut impl Site<P, O>,
        t: Time,
        from: Rank,
        number: u32,
    ) {
        if let Some(awaited) = site.tails().came((self.rank, from, number), t) {
            self.complete_at(site, from, number, t, awaited);
        }
    }

    /// Runs the acknowledgement of a send of this process; `from` is the rank that matched the message.
    #[inline(never)]
    pub fn run_acknowledgement<P: Program, O: Observer>(
        &self,
        site: &mut impl Site<P, O>,
        t: Time,
        incoming: &Incoming<O::Stamp>,
    ) {
        let Early { send, cpu, nic, .. } = incoming.message;
        let (cpu, send_free) = site.host().sending(cpu, nic);
        self.rules.acknowledge(cpu, send_free, t);
        let charge = Charge { done: t, noise: Time::ZERO };
        self.observe_incoming(site, RanKind::Acknowledgement, incoming, 0, t, charge);
        site.notify(Happened::Completed { id: send, done: t }, t);
    }

    /// Acknowledges a message that was matched at `t`, if it is a rendezvous.
    #[inline(always)]
    fn acknowledge<P: Program, O: Observer>(
        &self,
        site: &mut impl Site<P, O>,
        t: Time,
        message: &Early,
        stamp: O::Stamp,
    ) {
        if self.rendezvous && self.rules.network.link(message.from, self.rank).is_rendezvous(message.bytes) {
            let arrival = self.rules.acknowledged(message.from, self.rank, site.lanes(), t);
            site.acknowledge(message, arrival, stamp);
        }
    }

    #[inline(always)]
    fn observe<P: Program, O: Observer>(
        &self,
        site: &mut impl Site<P, O>,
        what: RanKind,
        (id, number): (u32, u32),
        operation: &Operation,
        t: Time,
        charge: Charge,
    ) -> O::Stamp {
        if !site.observer().is_active() {
            return O::Stamp::default();
        }
        let Operation { amount, peer, tag, cpu, nic, .. } = *operation;
        let host = site.host();
        let (cpu_free, nic_free) = (host.cpu(cpu).free, host.send_free(nic));
        let (rank, Charge { done, noise }) = (self.rank, charge);
        let (arrival, cause) = (t, O::Stamp::default());
        site.observer().ran(&Ran {
            what,
            rank,
            id,
            number,
            cpu,
            nic,
            t,
            done,
            cpu_free,
            nic_free,
            noise,
            amount,
            peer,
            tag,
            arrival,
            cause,
        })
    }

    #[inline(always)]
    fn observe_incoming<P: Program, O: Observer>(
        &self,
        site: &mut impl Site<P, O>,
        what: RanKind,
        incoming: &Incoming<O::Stamp>,
        number: u32,
        t: Time,
        charge: Charge,
    ) -> O::Stamp {
        if !site.observer().is_active() {
            return O::Stamp::default();
        }
        let &Incoming { message, arrival, cause, .. } = incoming;
        let Early { from, tag, bytes, send, cpu, nic, .. } = message;
        let host = site.host();
        let acknowledged = what == RanKind::Acknowledgement;
        let nic_free = if acknowledged { host.send_free(nic) } else { host.recv_free(nic) };
        let cpu_free = host.cpu(cpu).free;
        let (rank, Charge { done, noise }) = (self.rank, charge);
        let amount = if acknowledged { 0 } else { bytes };
        site.observer().ran(&Ran {
            what,
            rank,
            id: send,
            number,
            cpu,
            nic,
            t,
            done,
            cpu_free,
            nic_free,
            noise,
            amount,
            peer: from,
            tag,
            arrival,
            cause,
        })
    }
}
