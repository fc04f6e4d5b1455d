//! The engine for one collective in rounds: no queues and no calendar.
//!
//! Where no rank receives two messages of one tag and all have one size, a message needs no place in a queue: when its send runs it is
//! written into the one slot that the receiver has for its tag. Time goes on in windows of the lookahead as in the
//! windowed engine, and a process is run if its next event falls into the window, which a pass over one array finds
//! out:
//! ```text
//! bells      rank ─► when its next event may run at the earliest, which messages have been sent to it (16 bytes)
//! arrivals   tag, rank ─► when that message arrives                                                  (8 bytes)
//! processes  rank ─► host and step                                                                  (64 bytes)
//! ```
//! Noise scatters the messages of a collective over hundreds of windows. Queues pay for that with lists, sorting and
//! branches that nobody can predict; here a message costs one write, and its receiver is found by the pass.
//!
//! It runs on one thread: many replicas run side by side. One link for all messages, no rendezvous, one cycle; the
//! windowed engine does the rest.

use crate::host::{Host, OneLane};
use crate::outcome::{Outcome, RunError};
use crate::rules::{self, Rules};
use crate::step_ready::{self, CALC, RECV, SEND};
use crate::windowed::{Control, Progress};
use std::sync::atomic::Ordering;
use straggler_model::noise::Noise;
use straggler_model::{Network, Rank, Tag, Time};
use straggler_schedule::OperationKind;
use straggler_schedule::steps::{Message, Step, Steps, Then};

/// Tags are bits of a mask.
const MOST_TAGS: u32 = u32::BITS;

/// Whether this engine may run a collective over a network.
pub(crate) fn fits(steps: &impl Steps, network: &Network) -> bool {
    let tags = steps.distinct_tags().is_some_and(|tags| tags <= MOST_TAGS);
    let one_link = network.links().count() == 1;
    tags && one_link && !steps.overlaps() && !network.may_rendezvous(steps.largest_message())
}

/// What others tell a process.
#[derive(Clone, Copy, Debug)]
struct Bell {
    /// Not later than its next event; [`Time::NEVER`]: it waits for a message that has not been sent.
    next: Time,
    /// A bit for each tag whose message was sent and has not run.
    sent: u32,
}

/// One process.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
struct Process {
    host: OneLane,
    /// When the operations of the step became ready, and when the event that released them ran.
    ready: Time,
    created: Time,
    /// A bit for each tag whose message ran before it was received.
    early: u32,
    stage: u8,
    /// Operations of the step that have not run.
    pending: u8,
    /// Operations of the step that have not completed, and [`AFTER`].
    open: u8,
    /// The receive of the step waits for its message.
    posted: bool,
}

const _: () = assert!(size_of::<Process>() == 64 && size_of::<Bell>() == 16);

/// The computation that ends a step is still to come; no kind of operation has this bit.
const AFTER: u8 = 1;
const _: () = assert!(AFTER & (SEND | RECV | CALC) == 0);

struct Engine<'a, S, N> {
    steps: &'a S,
    rules: &'a Rules<'a, N>,
    /// Of every message.
    bytes: u64,
    /// o_s + L, which is the lookahead too.
    flight: Time,
    bells: Vec<Bell>,
    processes: Vec<Process>,
    /// By tag, then rank. An entry means something only while its bit is set.
    arrivals: Vec<Time>,
    /// The earliest arrival among the messages sent in this window.
    soonest: Time,
    messages: u64,
}

/// Runs a collective that [`fits`] to its end.
pub(crate) fn run<S: Steps, N: Noise>(
    steps: &S,
    rules: &Rules<'_, N>,
    control: &mut Control<'_>,
) -> Result<Outcome, RunError> {
    let mut engine = Engine::new(steps, rules);
    let lookahead = engine.flight.ps();
    if lookahead == 0 {
        return Err(RunError::NoLookahead);
    }
    (0..steps.processes()).for_each(|rank| engine.start(rank));
    let (mut due, mut windows) = (Time::ZERO, 0);
    while due != Time::NEVER {
        let until = Time((due.ps() / lookahead).saturating_add(1).saturating_mul(lookahead));
        due = engine.window(until);
        windows += 1;
        if control.stop.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
        (control.progress)(Progress { simulated: until, messages: engine.messages });
    }
    engine.conclude(windows)
}

impl<'a, S: Steps, N: Noise> Engine<'a, S, N> {
    fn new(steps: &'a S, rules: &'a Rules<'a, N>) -> Self {
        let count = steps.processes() as usize;
        let tags = steps.distinct_tags().unwrap_or(0) as usize;
        Engine {
            steps,
            rules,
            bytes: steps.largest_message(),
            flight: rules.network.lookahead(),
            bells: vec![Bell { next: Time::NEVER, sent: 0 }; count],
            processes: vec![Process::default(); count],
            arrivals: vec![Time::ZERO; count * tags],
            soonest: Time::NEVER,
            messages: 0,
        }
    }

    fn start(&mut self, rank: Rank) {
        if self.steps.stages(rank) > 0 {
            let step = self.steps.step(rank, 0);
            self.processes[rank as usize].enter(0, &step, Time::ZERO);
            self.bells[rank as usize].next = Time::ZERO;
        }
    }

    /// Runs every process that has an event before `until`; gives the time of the first one after that.
    fn window(&mut self, until: Time) -> Time {
        self.soonest = Time::NEVER;
        let mut next = Time::NEVER;
        for rank in 0..self.bells.len() {
            let mut bell = self.bells[rank];
            if bell.next < until {
                let mut process = self.processes[rank];
                bell.next = self.run(rank as Rank, &mut process, &mut bell.sent, until);
                self.processes[rank] = process;
                self.bells[rank] = bell;
            }
            next = next.min(bell.next);
        }
        next.min(self.soonest)
    }

    /// Runs the events of a process in their order; gives the time of the first one that belongs to a later
    /// window.
    #[inline(always)]
    fn run(&mut self, rank: Rank, process: &mut Process, sent: &mut u32, until: Time) -> Time {
        loop {
            let local = step_ready::next(process.pending, process.ready, &process.host);
            if *sent != 0 {
                let (tag, arrival) = self.first(rank, *sent, &process.host);
                let eligible = rules::message_eligible(&process.host, 0, 0, arrival);
                // Local operations go first where the creation times are equal, too.
                if eligible < local || eligible == local && arrival - self.flight < process.created {
                    if eligible >= until {
                        return eligible;
                    }
                    *sent &= !(1 << tag);
                    self.run_message(rank, process, eligible, tag);
                    continue;
                }
            }
            if local >= until {
                return local;
            }
            self.run_local(rank, process, local);
        }
    }

    /// The message that runs first, by the model's order. With one link the one that arrives first was sent
    /// first.
    #[inline(always)]
    fn first(&self, rank: Rank, sent: u32, host: &OneLane) -> (Tag, Time) {
        let tag = sent.trailing_zeros();
        let arrival = self.arrival(tag, rank);
        let others = sent & (sent - 1);
        if others == 0 { (tag, arrival) } else { self.first_of(rank, others, host, (tag, arrival)) }
    }

    #[inline(never)]
    fn first_of(&self, rank: Rank, mut others: u32, host: &OneLane, first: (Tag, Time)) -> (Tag, Time) {
        let key = |(_, arrival): (Tag, Time)| (rules::message_eligible(host, 0, 0, arrival), arrival);
        let mut best = first;
        while others != 0 {
            let tag = others.trailing_zeros();
            others &= others - 1;
            let other = (tag, self.arrival(tag, rank));
            let earlier = key(other) < key(best)
                || key(other) == key(best) && self.source(rank, tag) < self.source(rank, best.0);
            if earlier {
                best = other;
            }
        }
        best
    }

    #[inline(always)]
    fn arrival(&self, tag: Tag, rank: Rank) -> Time {
        self.arrivals[tag as usize * self.bells.len() + rank as usize]
    }

    /// Who sends `rank` the message of a tag.
    #[cold]
    fn source(&self, rank: Rank, tag: Tag) -> Rank {
        let receives = (0..self.steps.stages(rank)).filter_map(|stage| self.steps.step(rank, stage).recv);
        receives.into_iter().find(|message| message.tag == tag).map_or(Rank::MAX, |message| message.peer)
    }

    #[inline(always)]
    fn run_message(&mut self, rank: Rank, process: &mut Process, t: Time, tag: Tag) {
        let step = self.steps.step(rank, process.stage.into());
        let expected = process.posted && step.recv.is_some_and(|message| message.tag == tag);
        let (cpu, recv_free) = process.host.receiving(0, 0);
        self.rules.message(rank, rank, cpu, recv_free, t, self.bytes);
        self.messages += 1;
        if expected {
            process.posted = false;
            self.completed(rank, process, &step, RECV, t);
        } else {
            process.early |= 1 << tag;
        }
    }

    #[inline(always)]
    fn run_local(&mut self, rank: Rank, process: &mut Process, t: Time) {
        let step = self.steps.step(rank, process.stage.into());
        match step_ready::take(&mut process.pending, process.ready, &process.host, t) {
            OperationKind::Send => {
                if let Some(message) = step.send {
                    self.send(rank, process, t, &message);
                }
                self.completed(rank, process, &step, SEND, t);
            }
            OperationKind::Recv => {
                let bit = step.recv.map_or(0, |message| 1 << message.tag);
                if process.early & bit != 0 {
                    process.early &= !bit;
                    self.completed(rank, process, &step, RECV, t);
                } else {
                    process.posted = true;
                }
            }
            OperationKind::Calc => {
                let last = process.open == AFTER;
                let length = if last { step.after } else { step.calc.unwrap_or(Time::ZERO) };
                let (cpu, _) = process.host.sending(0, 0);
                self.rules.calc(rank, cpu, t, length);
                self.completed(rank, process, &step, if last { AFTER } else { CALC }, t);
            }
        }
    }

    #[inline(always)]
    fn send(&mut self, rank: Rank, process: &mut Process, t: Time, message: &Message) {
        let Message { peer, tag, bytes } = *message;
        debug_assert_ne!(peer, rank, "a process has a hand free only for others");
        let (cpu, send_free) = process.host.sending(0, 0);
        let arrival = self.rules.send(rank, peer, cpu, send_free, t, bytes).arrival;
        let place = tag as usize * self.bells.len() + peer as usize;
        self.arrivals[place] = arrival;
        let bell = &mut self.bells[peer as usize];
        debug_assert_eq!(bell.sent & 1 << tag, 0, "a second message of tag {tag} to rank {peer}");
        bell.sent |= 1 << tag;
        bell.next = bell.next.min(arrival);
        self.soonest = self.soonest.min(arrival);
    }

    /// An operation of the step completes, by an event that runs at `t`. On one CPU nothing completes after
    /// the CPU is free.
    #[inline(always)]
    fn completed(&mut self, rank: Rank, process: &mut Process, step: &Step, operation: u8, t: Time) {
        process.open &= !operation;
        match process.open {
            0 => {}
            AFTER => return process.release(CALC, t),
            _ => return,
        }
        let stage = process.stage + 1;
        if u32::from(stage) < self.steps.stages(rank) {
            debug_assert_eq!(step.then, Then::Wait, "an overlapping step needs another engine");
            let next = self.steps.step(rank, stage.into());
            process.enter(stage, &next, t);
        }
    }

    fn conclude(self, windows: u64) -> Result<Outcome, RunError> {
        // Schedules of collectives come to their end unless time does.
        if self.processes.iter().any(|process| process.open != 0) {
            return Err(RunError::TimeOverflow);
        }
        let finish: Vec<Time> = self.processes.iter().map(|process| process.host.finish()).collect();
        if finish.contains(&Time::NEVER) {
            return Err(RunError::TimeOverflow);
        }
        Ok(Outcome { finish, messages: self.messages, windows, threads: 1, stuck: None })
    }
}

impl Process {
    #[inline(always)]
    fn enter(&mut self, stage: u8, step: &Step, t: Time) {
        let bit = |there: bool, bit: u8| if there { bit } else { 0 };
        let pending =
            bit(step.send.is_some(), SEND) | bit(step.recv.is_some(), RECV) | bit(step.calc.is_some(), CALC);
        self.stage = stage;
        self.open = pending | bit(step.after > Time::ZERO, AFTER);
        self.release(pending, t);
    }

    #[inline(always)]
    fn release(&mut self, operations: u8, t: Time) {
        self.ready = self.host.cpu(0).free;
        self.created = t;
        self.pending = operations;
    }
}
