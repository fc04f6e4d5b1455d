//! The reference engine: sequential, with one queue of all events, following the model literally.
//!
//! An event is popped; if its CPU or NIC is busy it becomes eligible when they are free and goes back into
//! the queue; otherwise it runs. Slow and simple on purpose: the other engines are checked against it.
//!
//! Between processes the order matters only where the lookahead is 0 (an acknowledgement that takes
//! no time): then events of equal time and creation are taken by class and rank, as everywhere else.

mod ports;
mod queue;

use crate::control::{Control, Progress};
use crate::execution::{Execution, Happened, Incoming, Site, notify};
use crate::host::Host;
use crate::lanes::Lanes;
use crate::latency::Latency;
use crate::message::{Early, Transit};
use crate::observer::Observer;
use crate::order::{Class, Key};
use crate::outcome::{Blocked, Leftover, Outcome, Remains, RunError};
use crate::ports::{Fabric, Passage, Segment, Tails};
use crate::program::Program;
use crate::release::Release;
use crate::rules::{self, Rules, Sender, Sent};
use ports::{Flight, Ports};
use queue::RadixHeap;
use std::iter;
use straggler_model::topology::Port;
use straggler_model::{Rank, Tag, Time};
use straggler_noise::Noise;
use straggler_schedule::{Operation, OperationKind};

/// What happens when an event runs.
#[derive(Clone, Copy, Debug)]
enum Event<S> {
    Local(Release),
    Message(Incoming<S>),
    /// The acknowledgement of a message that this process sent.
    Acknowledgement(Incoming<S>),
    /// A port serves the next segment.
    Port(Port),
    /// The last segment of message `number` of `from`.
    LastSegment {
        from: Rank,
        number: u32,
    },
}

/// One process.
struct Process<P: Program> {
    host: P::Host,
    local: P::Local,
    /// Messages sent so far, to order those sent at the same time.
    sent: u32,
    posted: Vec<(u32, Rank, Tag)>,
    unexpected: Vec<Early>,
}

struct Engine<'a, P: Program, N, L, O: Observer> {
    program: &'a P,
    rules: &'a Rules<'a, N, L>,
    processes: Vec<Process<P>>,
    lanes: Lanes,
    ports: Ports<O::Stamp>,
    tails: Tails,
    state: P::Block,
    queue: RadixHeap,
    events: Vec<Event<O::Stamp>>,
    free: Vec<u32>,
    released: Vec<Release>,
    observer: O,
    messages: u64,
    /// Whether any message can be a rendezvous.
    rendezvous: bool,
}

/// Runs a program to its end.
pub(crate) fn run<P: Program, N: Noise, L: Latency, O: Observer>(
    program: &P,
    rules: &Rules<'_, N, L>,
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
        lanes: rules.lanes(0..program.processes(), program.largest_message()),
        ports: Ports::new(rules.latency.fabric(), rules.least_entry()),
        tails: Tails::default(),
        state: program.block(0..program.processes()),
        queue: RadixHeap::new(),
        events: Vec::new(),
        free: Vec::new(),
        released: Vec::new(),
        observer,
        messages: 0,
        rendezvous: rules.network.may_rendezvous(program.largest_message()),
    };
    engine.run(control)?;
    engine.conclude()
}

impl<P: Program, N: Noise, L: Latency, O: Observer> Engine<'_, P, N, L, O> {
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
                self.run_event(rank, &key, &event)?;
            }
            popped += 1;
            if popped.is_multiple_of(65_536) {
                if control.is_stopped() {
                    return Err(RunError::Interrupted);
                }
                if let Some(report) = &mut control.progress {
                    report(Progress { simulated: key.eligible, messages: self.messages });
                }
            }
        }
        Ok(())
    }

    /// When the CPU and NIC of an event that is eligible at `t` are free.
    fn eligible(&self, rank: Rank, t: Time, event: &Event<O::Stamp>) -> Time {
        let host = &self.processes[rank as usize].host;
        match event {
            Event::Local(release) => match release.kind {
                OperationKind::Send => rules::send_eligible(host, release.cpu, release.nic, t),
                OperationKind::Recv => t,
                OperationKind::Calc => rules::calc_eligible(host, release.cpu, t),
            },
            Event::Message(Incoming { message, .. }) => {
                rules::message_eligible(host, message.cpu, message.nic, t)
            }
            Event::Acknowledgement(_) | Event::Port(_) | Event::LastSegment { .. } => t,
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

    /// Queues the operations just released by an event that ran at `created`.
    fn issue(&mut self, rank: Rank, created: Time) {
        for place in 0..self.released.len() {
            let release = self.released[place];
            if self.observer.is_active() {
                self.observer.released(rank, &release);
            }
            let eligible = release.ready.max(self.processes[rank as usize].host.cpu(release.cpu).free);
            let key = Key { eligible, created, class: release.kind.into(), order: u64::from(release.id) };
            self.push(rank, key, Event::Local(release));
        }
        self.released.clear();
    }

    fn run_event(&mut self, rank: Rank, key: &Key, event: &Event<O::Stamp>) -> Result<(), RunError> {
        let t = key.eligible;
        let execution = Execution { rank, rules: self.rules, rendezvous: self.rendezvous };
        match event {
            Event::Local(release) => {
                let local = &self.processes[rank as usize].local;
                let operation = self.program.operation(rank, local, &self.state, release.kind, release.id);
                let mut at = OnRank { engine: self, rank };
                match release.kind {
                    OperationKind::Send => {
                        at.check_peer(&operation)?;
                        execution.run_send(&mut at, t, release.id, &operation);
                    }
                    OperationKind::Recv => execution.run_recv(&mut at, t, release.id, &operation),
                    OperationKind::Calc => execution.run_calc(&mut at, t, release.id, &operation),
                }
            }
            Event::Message(incoming) => {
                self.messages += 1;
                execution.run_message(&mut OnRank { engine: self, rank }, t, incoming);
            }
            Event::Acknowledgement(incoming) => {
                execution.run_acknowledgement(&mut OnRank { engine: self, rank }, t, incoming);
            }
            Event::Port(port) => {
                self.rules.latency.fabric().into_iter().for_each(|fabric| self.serve(fabric, *port))
            }
            Event::LastSegment { from, number } => {
                execution.run_last_segment(&mut OnRank { engine: self, rank }, t, *from, *number);
            }
        }
        Ok(())
    }

    /// Sends a message through its first port, segment by segment.
    fn launch(&mut self, fabric: &Fabric, first: Port, to: Rank, incoming: &Incoming<O::Stamp>) {
        if !fabric.waits {
            let (from, number) = (incoming.message.from, incoming.transit.number);
            let arrival = incoming.arrival + fabric.latency(from, to);
            return self.deliver(to, Incoming { arrival, ..*incoming }, number);
        }
        let count = fabric.topology.segment.count(incoming.message.bytes);
        for number in 0..count {
            let segment = Segment::new(&fabric.topology, incoming.message.bytes, number);
            let passage = Passage { head: incoming.arrival, tail: Time::ZERO };
            self.enter(fabric, first, Flight { incoming: *incoming, to, segment, passage });
        }
    }

    /// Lets a segment wait for a port. Ports are asked after processes that run at the same time, stage by stage.
    fn enter(&mut self, fabric: &Fabric, port: Port, flight: Flight<O::Stamp>) {
        let (eligible, stage) = self.ports.enter(fabric, port, flight);
        let order = (stage as u64) << 32 | u64::from(port);
        self.push(0, Key { eligible, created: Time::NEVER, class: Class::Message, order }, Event::Port(port));
    }

    /// Serves the next segment of a port, which goes on to the next port or to its receiver.
    fn serve(&mut self, fabric: &Fabric, port: Port) {
        let Some(flight) = self.ports.serve(fabric, port) else { return };
        let Flight { incoming, to, segment, passage } = flight;
        let (from, number) = (incoming.message.from, incoming.transit.number);
        if let Some(next) = fabric.next(port, from, to) {
            return self.enter(fabric, next, flight);
        }
        if segment.is_first() {
            let (arrival, transit) = (passage.head, segment.transit(number, passage.tail));
            self.deliver(to, Incoming { arrival, transit, ..incoming }, number);
        }
        if segment.is_last() && segment.count > 1 {
            let order = u64::from(from) << 32 | u64::from(number);
            let key = Key { eligible: passage.tail, created: Time::ZERO, class: Class::LastSegment, order };
            self.push(to, key, Event::LastSegment { from, number });
        }
    }

    /// A message has left its last port.
    fn deliver(&mut self, to: Rank, incoming: Incoming<O::Stamp>, number: u32) {
        let (from, arrival) = (incoming.message.from, incoming.arrival);
        let (created, order) =
            (self.rules.sent_at(from, to, arrival), u64::from(from) << 32 | u64::from(number));
        let key = Key { eligible: arrival, created, class: Class::Message, order };
        self.push(to, key, Event::Message(incoming));
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
            for &Early { from, tag, bytes, send, .. } in &process.unexpected {
                let rendezvous = self.rules.network.link(from, rank).is_rendezvous(bytes);
                remains.leftover(Leftover { from, to: rank, tag, bytes }, send, rendezvous);
            }
        }
        remains.finished(&finish);
        let (latest, ranks) = (remains.latest(), iter::once(0..finish.len() as Rank).collect());
        let stuck = remains.conclude()?;
        let (messages, loads) = (self.messages, vec![(0, self.ports.into_loads())]);
        let outcome = Outcome { finish, ranks, latest, messages, windows: 0, threads: 1, stuck, loads };
        Ok((outcome, self.observer))
    }
}

/// One process of the engine.
struct OnRank<'e, 'a, P: Program, N, L, O: Observer> {
    engine: &'e mut Engine<'a, P, N, L, O>,
    rank: Rank,
}

impl<P: Program, N: Noise, L: Latency, O: Observer> OnRank<'_, '_, P, N, L, O> {
    fn process(&mut self) -> &mut Process<P> {
        &mut self.engine.processes[self.rank as usize]
    }

    fn check_peer(&self, operation: &Operation) -> Result<(), RunError> {
        let (rank, peer, processes) = (self.rank, operation.peer, self.engine.program.processes());
        if peer < processes { Ok(()) } else { Err(RunError::PeerOutOfRange { rank, peer, processes }) }
    }
}

impl<P: Program, N: Noise, L: Latency, O: Observer> Site<P, O> for OnRank<'_, '_, P, N, L, O> {
    fn host(&mut self) -> &mut P::Host {
        &mut self.process().host
    }

    fn lanes(&mut self) -> &mut Lanes {
        &mut self.engine.lanes
    }

    fn tails(&mut self) -> &mut Tails {
        &mut self.engine.tails
    }

    fn sender(&mut self, cpu: u8, nic: u8) -> Sender<'_> {
        let Engine { processes, lanes, .. } = &mut *self.engine;
        let (cpu, send_free) = processes[self.rank as usize].host.sending(cpu, nic);
        Sender { cpu, send_free, lanes }
    }

    fn observer(&mut self) -> &mut O {
        &mut self.engine.observer
    }

    fn notify(&mut self, happened: Happened, t: Time) {
        let Engine { program, processes, state, released, .. } = &mut *self.engine;
        let local = &mut processes[self.rank as usize].local;
        notify(*program, self.rank, local, state, happened, &mut |release| released.push(release));
        self.engine.issue(self.rank, t);
    }

    fn post(&mut self, id: u32, operation: &Operation) -> Option<Early> {
        let (source, tag) = (operation.peer, operation.tag);
        let process = self.process();
        let place = process.unexpected.iter().position(|message| message.matches(source, tag));
        let early = place.map(|place| process.unexpected.remove(place));
        if early.is_none() {
            process.posted.push((id, source, tag));
        }
        early
    }

    fn match_message(&mut self, early: &Early) -> Option<u32> {
        let process = self.process();
        let place = process.posted.iter().position(|&(_, source, tag)| early.matches(source, tag));
        if place.is_none() {
            process.unexpected.push(*early);
        }
        place.map(|place| process.posted.remove(place).0)
    }

    fn send(&mut self, id: u32, operation: &Operation, sent: &Sent, stamp: O::Stamp) {
        let &Operation { amount: bytes, peer, tag, cpu, nic, .. } = operation;
        let (from, latency) = (u64::from(self.rank) << 32, self.engine.rules.latency);
        let process = self.process();
        process.sent = process.sent.wrapping_add(1);
        let before = if latency.counts() { sent.number } else { process.sent };
        let order = from | u64::from(before);
        let &Sent { arrival, created, number, .. } = sent;
        let key = Key { eligible: arrival, created, class: Class::Message, order };
        let message = Early { from: self.rank, tag, bytes, send: id, cpu, nic, ..Early::default() };
        let transit = Transit::whole(number, Time::ZERO);
        let incoming = Incoming { message, arrival, transit, cause: stamp };
        let fabric = latency.fabric();
        match fabric.and_then(|fabric| Some((fabric, fabric.first(self.rank, peer)?))) {
            None => self.engine.push(peer, key, Event::Message(incoming)),
            Some((fabric, first)) => self.engine.launch(fabric, first, peer, &incoming),
        }
    }

    fn acknowledge(&mut self, message: &Early, arrival: Time, stamp: O::Stamp) {
        let order = u64::from(message.send);
        let created = self.engine.rules.matched_at(message.from, self.rank, arrival);
        let key = Key { eligible: arrival, created, class: Class::Acknowledgement, order };
        let message_of = Early { from: self.rank, ..*message };
        let incoming = Incoming { message: message_of, arrival, transit: Transit::default(), cause: stamp };
        self.engine.push(message.from, key, Event::Acknowledgement(incoming));
    }
}
