//! The reference engine: sequential, one queue of all events, as literal as the model is written down.
//!
//! An event is popped; if its CPU or NIC is busy it becomes eligible when they are free and goes back
//! into the queue; otherwise it runs. Slow and simple on purpose: the other engine is measured by it.
//!
//! Between processes the order matters only where the lookahead is 0 (an acknowledgement that takes
//! no time): then events of equal time and creation are taken by class and rank, as everywhere else.

mod queue;

use crate::control::{Control, Progress};
use crate::host::Host;
use crate::observer::{Observer, Ran, What};
use crate::order::{Class, Key};
use crate::outcome::{Blocked, Leftover, Outcome, Remains, RunError};
use crate::program::Program;
use crate::release::{Arrived, Release};
use crate::rules::{self, Rules};
use queue::RadixHeap;
use std::sync::atomic::Ordering;
use straggler_model::noise::Noise;
use straggler_model::{Rank, Tag, Time};
use straggler_schedule::graph::ANY;
use straggler_schedule::{Operation, OperationKind};

/// A message on its way, on its receiver, or waiting there for its receive.
#[derive(Clone, Copy, Debug)]
struct InFlight<S> {
    from: Rank,
    send: u32,
    operation: Operation,
    arrival: Time,
    /// When its bytes are there, once it has run.
    done: Time,
    stamp: S,
}

/// What happens when an event runs.
#[derive(Clone, Copy, Debug)]
enum Event<S> {
    Local(Release),
    Message(InFlight<S>),
    /// Of the message this process sent, matched on `by`.
    Acknowledgement {
        message: InFlight<S>,
        by: Rank,
    },
}

/// One process.
struct Process<P: Program, S> {
    host: P::Host,
    local: P::Local,
    /// Messages sent so far, to order those sent at the same time.
    sent: u32,
    posted: Vec<(u32, Rank, Tag)>,
    unexpected: Vec<InFlight<S>>,
}

struct Engine<'a, P: Program, N, O: Observer> {
    program: &'a P,
    rules: &'a Rules<'a, N>,
    processes: Vec<Process<P, O::Stamp>>,
    state: P::Block,
    queue: RadixHeap,
    events: Vec<Event<O::Stamp>>,
    free: Vec<u32>,
    released: Vec<Release>,
    observer: O,
    messages: u64,
}

/// Runs a program to its end.
pub fn run<P: Program, N: Noise, O: Observer>(
    program: &P,
    rules: &Rules<'_, N>,
    control: &mut Control<'_>,
    observer: O,
) -> Result<(Outcome, O), RunError> {
    let process = |_| Process {
        host: P::Host::new(),
        local: Default::default(),
        sent: 0,
        posted: Vec::new(),
        unexpected: Vec::new(),
    };
    let mut engine = Engine {
        program,
        rules,
        processes: (0..program.processes()).map(process).collect(),
        state: program.block(0..program.processes()),
        queue: RadixHeap::new(),
        events: Vec::new(),
        free: Vec::new(),
        released: Vec::new(),
        observer,
        messages: 0,
    };
    engine.run(control)?;
    engine.conclude()
}

impl<P: Program, N: Noise, O: Observer> Engine<'_, P, N, O> {
    fn run(&mut self, control: &mut Control<'_>) -> Result<(), RunError> {
        for rank in 0..self.program.processes() {
            let released = &mut self.released;
            let process = &mut self.processes[rank as usize];
            self.program
                .start(rank, &mut process.local, &mut self.state, &mut |release| released.push(release));
            self.issue(rank, Time::ZERO);
        }
        let mut popped = 0u64;
        while let Some((key, rank, index)) = self.queue.pop() {
            if key.eligible == Time::NEVER {
                return Err(RunError::TimeOverflow);
            }
            let event = self.events[index as usize];
            let eligible = self.eligible(rank, key.eligible, &event);
            if eligible > key.eligible {
                self.queue.push((Key { eligible, ..key }, rank, index));
            } else {
                self.free.push(index);
                self.run_event(rank, key.eligible, &event)?;
            }
            popped += 1;
            if popped.is_multiple_of(65_536) {
                if control.stop.load(Ordering::Relaxed) {
                    return Err(RunError::Interrupted);
                }
                (control.progress)(Progress { simulated: key.eligible, messages: self.messages });
            }
        }
        Ok(())
    }

    /// When an event that is eligible at `t` finds its CPU and NIC free.
    fn eligible(&self, rank: Rank, t: Time, event: &Event<O::Stamp>) -> Time {
        let host = &self.processes[rank as usize].host;
        match event {
            Event::Local(release) => match release.kind {
                OperationKind::Send => rules::send_eligible(host, release.cpu, release.nic, t),
                OperationKind::Recv => t,
                OperationKind::Calc => rules::calc_eligible(host, release.cpu, t),
            },
            Event::Message(message) => {
                rules::message_eligible(host, message.operation.cpu, message.operation.nic, t)
            }
            Event::Acknowledgement { .. } => t,
        }
    }

    fn push(&mut self, rank: Rank, key: Key, event: Event<O::Stamp>) {
        let index = match self.free.pop() {
            Some(index) => {
                self.events[index as usize] = event;
                index
            }
            None => {
                self.events.push(event);
                self.events.len() as u32 - 1
            }
        };
        self.queue.push((key, rank, index));
    }

    /// Queues what has just been released by an event that ran at `created`.
    fn issue(&mut self, rank: Rank, created: Time) {
        for place in 0..self.released.len() {
            let release = self.released[place];
            if O::ACTIVE {
                self.observer.released(rank, &release);
            }
            let eligible = release.ready.max(self.processes[rank as usize].host.cpu(release.cpu).free);
            let key = Key { eligible, created, class: release.kind.into(), order: u64::from(release.id) };
            self.push(rank, key, Event::Local(release));
        }
        self.released.clear();
    }

    fn started(&mut self, rank: Rank, id: u32, t: Time) {
        let released = &mut self.released;
        let local = &mut self.processes[rank as usize].local;
        self.program.started(rank, local, &mut self.state, id, t, &mut |release| released.push(release));
        self.issue(rank, t);
    }

    fn completed(&mut self, rank: Rank, id: u32, t: Time, done: Time) {
        let released = &mut self.released;
        let local = &mut self.processes[rank as usize].local;
        self.program.completed(rank, local, &mut self.state, id, done, &mut |release| released.push(release));
        self.issue(rank, t);
    }

    fn run_event(&mut self, rank: Rank, t: Time, event: &Event<O::Stamp>) -> Result<(), RunError> {
        match event {
            Event::Local(release) => {
                let local = &self.processes[rank as usize].local;
                let operation = self.program.operation(rank, local, &self.state, release.kind, release.id);
                match release.kind {
                    OperationKind::Send => self.run_send(rank, t, release.id, operation)?,
                    OperationKind::Recv => self.run_recv(rank, t, release.id, operation),
                    OperationKind::Calc => self.run_calc(rank, t, release.id, operation),
                }
            }
            Event::Message(message) => self.run_message(rank, t, message),
            Event::Acknowledgement { message, by } => self.run_acknowledgement(rank, t, message, *by),
        }
        Ok(())
    }

    fn run_send(&mut self, rank: Rank, t: Time, id: u32, operation: Operation) -> Result<(), RunError> {
        let peer = operation.peer;
        if peer >= self.program.processes() {
            return Err(RunError::PeerOutOfRange { rank, peer, processes: self.program.processes() });
        }
        let process = &mut self.processes[rank as usize];
        let (cpu, send_free) = process.host.sending(operation.cpu, operation.nic);
        let sent = self.rules.send(rank, peer, cpu, send_free, t, operation.amount);
        let order = u64::from(rank) << 32 | u64::from(process.sent);
        process.sent += 1;
        let what = What::Send { rendezvous: sent.rendezvous };
        let stamp = self.observe(what, rank, id, &operation, t, sent.charge);
        let key = Key { eligible: sent.arrival, created: t, class: Class::Message, order };
        let (arrival, done) = (sent.arrival, Time::ZERO);
        let message = InFlight { from: rank, send: id, operation, arrival, done, stamp };
        self.push(peer, key, Event::Message(message));
        self.started(rank, id, t);
        if !sent.rendezvous {
            self.completed(rank, id, t, sent.charge.done);
        }
        Ok(())
    }

    fn run_recv(&mut self, rank: Rank, t: Time, id: u32, operation: Operation) {
        let process = &mut self.processes[rank as usize];
        let (source, tag) = (operation.peer, operation.tag);
        let place = process.unexpected.iter().position(|message| matches(source, tag, message));
        let early = place.map(|place| process.unexpected.remove(place));
        if early.is_none() {
            process.posted.push((id, source, tag));
        }
        let what = What::Recv { matched: early.is_some() };
        let done = early.map_or(t, |message| t.max(message.done));
        let stamp = self.observe(what, rank, id, &operation, t, rules::Charge { done, noise: Time::ZERO });
        self.started(rank, id, t);
        if let Some(message) = early {
            self.acknowledge(rank, t, &message, stamp);
            self.completed(rank, id, t, done);
        }
    }

    fn run_calc(&mut self, rank: Rank, t: Time, id: u32, operation: Operation) {
        let (cpu, _) = self.processes[rank as usize].host.sending(operation.cpu, operation.nic);
        let charge = self.rules.calc(rank, cpu, t, Time(operation.amount));
        self.observe(What::Calc, rank, id, &operation, t, charge);
        self.started(rank, id, t);
        self.completed(rank, id, t, charge.done);
    }

    fn run_message(&mut self, rank: Rank, t: Time, message: &InFlight<O::Stamp>) {
        self.messages += 1;
        let process = &mut self.processes[rank as usize];
        let operation = &message.operation;
        let (cpu, recv_free) = process.host.receiving(operation.cpu, operation.nic);
        let charge = self.rules.message(rank, message.from, cpu, recv_free, t, operation.amount);
        let place = process.posted.iter().position(|&(_, source, tag)| matches(source, tag, message));
        let completes = place.map(|place| process.posted.remove(place).0);
        if completes.is_none() && !P::TAKES_ARRIVALS {
            process.unexpected.push(InFlight { done: self.rules.early_done(&charge), ..*message });
        }
        let mut stamp = O::Stamp::default();
        if O::ACTIVE {
            let ran = self.ran(What::Message { completes }, rank, message.send, operation, t, charge);
            stamp = self.observer.ran(&Ran {
                nic_free: self.processes[rank as usize].host.recv_free(operation.nic),
                peer: message.from,
                arrival: message.arrival,
                cause: message.stamp,
                ..ran
            });
        }
        if P::TAKES_ARRIVALS {
            self.acknowledge(rank, t, message, stamp);
            self.arrived(rank, t, message, charge.done);
        } else if let Some(id) = completes {
            self.acknowledge(rank, t, message, stamp);
            self.completed(rank, id, t, charge.done);
        }
    }

    /// A program that takes messages as they come gets one.
    fn arrived(&mut self, rank: Rank, t: Time, message: &InFlight<O::Stamp>, done: Time) {
        let Operation { tag, amount: bytes, .. } = message.operation;
        let arrived = Arrived { from: message.from, tag, bytes };
        let released = &mut self.released;
        let local = &mut self.processes[rank as usize].local;
        let mut release = |release| released.push(release);
        self.program.arrived(rank, local, &mut self.state, arrived, done, &mut release);
        self.issue(rank, t);
    }

    /// A message has been matched on `rank` at `t`: a rendezvous sender hears of it.
    fn acknowledge(&mut self, rank: Rank, t: Time, message: &InFlight<O::Stamp>, stamp: O::Stamp) {
        if !self.rules.network.link(message.from, rank).is_rendezvous(message.operation.amount) {
            return;
        }
        let eligible = t + self.rules.acknowledgement(message.from, rank);
        let order = u64::from(message.send);
        let key = Key { eligible, created: t, class: Class::Acknowledgement, order };
        let message = InFlight { stamp, arrival: eligible, ..*message };
        self.push(message.from, key, Event::Acknowledgement { message, by: rank });
    }

    fn run_acknowledgement(&mut self, rank: Rank, t: Time, message: &InFlight<O::Stamp>, by: Rank) {
        let operation = &message.operation;
        let (cpu, send_free) = self.processes[rank as usize].host.sending(operation.cpu, operation.nic);
        self.rules.acknowledge(cpu, send_free, t);
        if O::ACTIVE {
            let charge = rules::Charge { done: t, noise: Time::ZERO };
            let ran = self.ran(What::Acknowledgement, rank, message.send, operation, t, charge);
            self.observer.ran(&Ran {
                amount: 0,
                peer: by,
                arrival: message.arrival,
                cause: message.stamp,
                ..ran
            });
        }
        self.completed(rank, message.send, t, t);
    }

    fn observe(
        &mut self,
        what: What,
        rank: Rank,
        id: u32,
        operation: &Operation,
        t: Time,
        charge: rules::Charge,
    ) -> O::Stamp {
        if !O::ACTIVE {
            return O::Stamp::default();
        }
        let ran = self.ran(what, rank, id, operation, t, charge);
        self.observer.ran(&ran)
    }

    fn ran(
        &self,
        what: What,
        rank: Rank,
        id: u32,
        operation: &Operation,
        t: Time,
        charge: rules::Charge,
    ) -> Ran<O::Stamp> {
        let Operation { amount, peer, tag, cpu, nic, .. } = *operation;
        let host = &self.processes[rank as usize].host;
        Ran {
            what,
            rank,
            id,
            cpu,
            nic,
            t,
            done: charge.done,
            cpu_free: host.cpu(cpu).free,
            nic_free: host.send_free(nic),
            noise: charge.noise,
            amount,
            peer,
            tag,
            arrival: t,
            cause: O::Stamp::default(),
        }
    }

    fn conclude(self) -> Result<(Outcome, O), RunError> {
        let mut remains = Remains::default();
        let mut finish = Vec::with_capacity(self.processes.len());
        for (rank, process) in self.processes.iter().enumerate() {
            let rank = rank as Rank;
            let last = self.program.last_completion(rank, &process.local, &self.state);
            finish.push(process.host.finish().max(last));
            if !self.program.finished(rank, &process.local, &self.state) {
                remains.unfinished();
                self.program
                    .unstarted(rank, &self.state, &mut |operation| remains.unstarted(rank, operation));
            }
            for &(id, ..) in &process.posted {
                let operation =
                    self.program.operation(rank, &process.local, &self.state, OperationKind::Recv, id);
                remains.blocked(Blocked { rank, id, operation });
            }
            for message in &process.unexpected {
                let Operation { tag, amount: bytes, .. } = message.operation;
                let rendezvous = self.rules.network.link(message.from, rank).is_rendezvous(bytes);
                let leftover = Leftover { from: message.from, to: rank, tag, bytes };
                remains.leftover(leftover, message.send, rendezvous);
            }
        }
        let stuck = remains.conclude(&finish)?;
        let outcome = Outcome { finish, messages: self.messages, windows: 0, threads: 1, stuck };
        Ok((outcome, self.observer))
    }
}

fn matches<S>(source: Rank, tag: Tag, message: &InFlight<S>) -> bool {
    (source == ANY || source == message.from) && (tag == ANY || tag == message.operation.tag)
}
