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

use crate::agenda::step_ready::{self, CALC, RECV, SEND};
use crate::control::{Control, Progress};
use crate::host::{Host, OneLane};
use crate::outcome::{Outcome, RunError};
use crate::prefetch::prefetch;
use crate::rules::{self, Rules};
use std::sync::atomic::Ordering;
use straggler_model::noise::Noise;
use straggler_model::{Network, Rank, Tag, Time};
use straggler_schedule::OperationKind;
use straggler_schedule::steps::{Message, Step, Steps, Then};

/// Tags are bits of a mask.
const MOST_TAGS: u32 = u32::BITS;

/// Whether this engine may run a collective over a network.
pub(crate) fn fits(steps: &impl Steps, network: &Network) -> bool {
    // A rank takes at most a step for each tag it receives, one for each it sends, and these are as many.
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

/// Where messages lie between their send and their receiver.
struct Mail {
    bells: Vec<Bell>,
    /// By tag, then rank. An entry means something only while its bit is set.
    arrivals: Vec<Time>,
    /// For each group of ranks, not later than the next event of any of them: most windows of a run with long
    /// detours concern few processes, and the others are passed over [`GROUP`] at a time.
    groups: Vec<Time>,
}

impl Mail {
    #[inline(always)]
    fn place(&self, tag: Tag, rank: Rank) -> usize {
        tag as usize * self.bells.len() + rank as usize
    }

    #[inline(always)]
    fn arrival(&self, tag: Tag, rank: Rank) -> Time {
        self.arrivals[self.place(tag, rank)]
    }

    #[inline(always)]
    fn put(&mut self, to: Rank, tag: Tag, arrival: Time) {
        let place = self.place(tag, to);
        self.arrivals[place] = arrival;
        let bell = &mut self.bells[to as usize];
        debug_assert_eq!(bell.sent & 1 << tag, 0, "a second message of tag {tag} to rank {to}");
        bell.sent |= 1 << tag;
        bell.next = bell.next.min(arrival);
        let group = &mut self.groups[to as usize / GROUP];
        *group = (*group).min(arrival);
    }
}

/// What all processes have in common.
struct Common<'a, S, N> {
    steps: &'a S,
    rules: &'a Rules<'a, N>,
    /// Of every message.
    bytes: u64,
    /// o_s + L, which is the lookahead too.
    flight: Time,
}

/// Neighbouring ranks that are looked through together; the memory of those that are due is asked for before the
/// first of them runs.
const GROUP: usize = 64;

/// Runs a collective that [`fits`] to its end.
pub(crate) fn run<S: Steps, N: Noise>(
    steps: &S,
    rules: &Rules<'_, N>,
    control: &mut Control<'_>,
) -> Result<Outcome, RunError> {
    let count = steps.processes() as usize;
    let tags = steps.distinct_tags().unwrap_or(0) as usize;
    let common = Common { steps, rules, bytes: steps.largest_message(), flight: rules.network.lookahead() };
    let mut mail = Mail {
        bells: vec![Bell { next: Time::NEVER, sent: 0 }; count],
        arrivals: vec![Time::ZERO; count * tags],
        groups: vec![Time::ZERO; count.div_ceil(GROUP)],
    };
    let mut processes = vec![Process::default(); count];
    for (rank, process) in processes.iter_mut().enumerate() {
        if steps.stages(rank as Rank) > 0 {
            process.enter(0, &steps.step(rank as Rank, 0), Time::ZERO);
            mail.bells[rank].next = Time::ZERO;
        }
    }
    let lookahead = common.flight.ps();
    let (mut due, mut windows, mut messages) = (Time::ZERO, 0, 0);
    while due != Time::NEVER {
        let window = (due.ps().checked_div(lookahead)).ok_or(RunError::NoLookahead)?;
        let until = Time(window.saturating_add(1).saturating_mul(lookahead));
        due = common.window(&mut processes, &mut mail, until, &mut messages);
        windows += 1;
        if control.stop.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
        (control.progress)(Progress { simulated: until, messages });
    }
    let finish = finish(&processes)?;
    Ok(Outcome { finish, messages, windows, threads: 1, stuck: None })
}

fn finish(processes: &[Process]) -> Result<Vec<Time>, RunError> {
    // Schedules of collectives come to their end unless time does.
    let ended =
        |process: &Process| (process.open == 0).then(|| process.host.finish()).filter(|&t| t != Time::NEVER);
    processes.iter().map(|process| ended(process).ok_or(RunError::TimeOverflow)).collect()
}

impl<S: Steps, N: Noise> Common<'_, S, N> {
    /// Runs every process that has an event before `until`; gives the time of the first one after that.
    fn window(&self, processes: &mut [Process], mail: &mut Mail, until: Time, messages: &mut u64) -> Time {
        for group in 0..mail.groups.len() {
            if mail.groups[group] < until {
                mail.groups[group] = self.run_group(group * GROUP, processes, mail, until, messages);
            }
        }
        mail.groups.iter().copied().min().unwrap_or(Time::NEVER)
    }

    /// Runs those of a group that are due; gives the time of the group's next event.
    fn run_group(
        &self,
        first: usize,
        processes: &mut [Process],
        mail: &mut Mail,
        until: Time,
        messages: &mut u64,
    ) -> Time {
        let last = (first + GROUP).min(processes.len());
        // Who is due looks like chance: no branch on it.
        let (mut ranks, mut due) = ([0; GROUP], 0);
        for (rank, bell) in (first..last).zip(&mail.bells[first..last]) {
            ranks[due] = rank as Rank;
            due += usize::from(bell.next < until);
        }
        let ranks = &ranks[..due];
        ranks.iter().for_each(|&rank| prefetch(&processes[rank as usize]));
        for &rank in ranks {
            self.run(rank, &mut processes[rank as usize], mail, until, messages);
        }
        mail.bells[first..last].iter().map(|bell| bell.next).min().unwrap_or(Time::NEVER)
    }

    /// Runs the events of a process in their order, up to the first one that belongs to a later window.
    #[inline(always)]
    fn run(&self, rank: Rank, process: &mut Process, mail: &mut Mail, until: Time, messages: &mut u64) {
        let mut sent = mail.bells[rank as usize].sent;
        let next = loop {
            // The usual course of a round, in one go: nothing else can happen before the window ends.
            if process.pending == SEND | RECV && sent == 0 && process.ready < until && process.may_send() {
                if self.exchange(rank, process, mail) {
                    break Time::NEVER;
                }
                continue;
            }
            let local = step_ready::next(process.pending, process.ready, &process.host);
            if sent != 0 {
                let (tag, arrival) = self.first(rank, sent, mail, &process.host);
                let eligible = rules::message_eligible(&process.host, 0, 0, arrival);
                // Local operations go first where the creation times are equal, too.
                if eligible < local || eligible == local && arrival - self.flight < process.created {
                    if eligible >= until {
                        break eligible;
                    }
                    sent &= !(1 << tag);
                    *messages += 1;
                    self.run_message(rank, process, eligible, tag);
                    continue;
                }
            }
            if local >= until {
                break local;
            }
            self.run_local(rank, process, mail, local);
        };
        mail.bells[rank as usize] = Bell { next, sent };
    }

    /// Sends and posts the receive of the step, both when they became ready; says whether the process waits for
    /// its message then.
    #[inline(always)]
    fn exchange(&self, rank: Rank, process: &mut Process, mail: &mut Mail) -> bool {
        let t = process.ready;
        let step = self.steps.step(rank, process.stage.into());
        process.pending = 0;
        if let Some(message) = step.send {
            self.send(rank, process, mail, t, &message);
        }
        process.open &= !SEND;
        !self.receive(rank, process, &step, t)
    }

    /// The message that runs first, by the model's order. With one link the one that arrives first was sent
    /// first.
    #[inline(always)]
    fn first(&self, rank: Rank, sent: u32, mail: &Mail, host: &OneLane) -> (Tag, Time) {
        let tag = sent.trailing_zeros();
        let others = sent & (sent - 1);
        let first = (tag, mail.arrival(tag, rank));
        if others == 0 { first } else { self.first_of(rank, others, mail, host, first) }
    }

    #[inline(never)]
    fn first_of(
        &self,
        rank: Rank,
        mut others: u32,
        mail: &Mail,
        host: &OneLane,
        first: (Tag, Time),
    ) -> (Tag, Time) {
        let key = |(_, arrival): (Tag, Time)| (rules::message_eligible(host, 0, 0, arrival), arrival);
        let mut best = first;
        while others != 0 {
            let tag = others.trailing_zeros();
            others &= others - 1;
            let other = (tag, mail.arrival(tag, rank));
            let earlier = key(other) < key(best)
                || key(other) == key(best) && self.source(rank, tag) < self.source(rank, best.0);
            if earlier {
                best = other;
            }
        }
        best
    }

    /// Who sends `rank` the message of a tag.
    #[cold]
    fn source(&self, rank: Rank, tag: Tag) -> Rank {
        let receives = (0..self.steps.stages(rank)).filter_map(|stage| self.steps.step(rank, stage).recv);
        receives.into_iter().find(|message| message.tag == tag).map_or(Rank::MAX, |message| message.peer)
    }

    #[inline(always)]
    fn run_message(&self, rank: Rank, process: &mut Process, t: Time, tag: Tag) {
        let step = self.steps.step(rank, process.stage.into());
        let (cpu, recv_free) = process.host.receiving(0, 0);
        self.rules.message(rank, rank, cpu, recv_free, t, self.bytes);
        if process.posted && step.recv.is_some_and(|message| message.tag == tag) {
            process.posted = false;
            self.completed(rank, process, RECV, t);
        } else {
            process.early |= 1 << tag;
        }
    }

    #[inline(always)]
    fn run_local(&self, rank: Rank, process: &mut Process, mail: &mut Mail, t: Time) {
        let step = self.steps.step(rank, process.stage.into());
        match step_ready::take(&mut process.pending, process.ready, &process.host, t) {
            OperationKind::Send => {
                if let Some(message) = step.send {
                    self.send(rank, process, mail, t, &message);
                }
                self.completed(rank, process, SEND, t);
            }
            OperationKind::Recv => {
                self.receive(rank, process, &step, t);
            }
            OperationKind::Calc => {
                let last = process.open == AFTER;
                let length = if last { step.after } else { step.calc.unwrap_or(Time::ZERO) };
                let (cpu, _) = process.host.sending(0, 0);
                self.rules.calc(rank, cpu, t, length);
                self.completed(rank, process, if last { AFTER } else { CALC }, t);
            }
        }
    }

    #[inline(always)]
    fn send(&self, rank: Rank, process: &mut Process, mail: &mut Mail, t: Time, message: &Message) {
        let (cpu, send_free) = process.host.sending(0, 0);
        let sent = self.rules.send(rank, message.peer, cpu, send_free, t, message.bytes);
        debug_assert_ne!(message.peer, rank, "the bell of a process that runs is not heard");
        mail.put(message.peer, message.tag, sent.arrival);
    }

    /// Posts the receive of the step; says whether its message was there.
    #[inline(always)]
    fn receive(&self, rank: Rank, process: &mut Process, step: &Step, t: Time) -> bool {
        let bit = step.recv.map_or(0, |message| 1 << message.tag);
        let early = process.early & bit != 0;
        process.early &= !bit;
        process.posted = !early;
        if early {
            self.completed(rank, process, RECV, t);
        }
        early
    }

    /// An operation of the step completes, by an event that runs at `t`. On one CPU nothing completes after
    /// the CPU is free.
    #[inline(always)]
    fn completed(&self, rank: Rank, process: &mut Process, operation: u8, t: Time) {
        process.open &= !operation;
        match process.open {
            0 => {}
            AFTER => return process.release(CALC, t),
            _ => return,
        }
        let stage = process.stage + 1;
        if u32::from(stage) < self.steps.stages(rank) {
            process.enter(stage, &self.steps.step(rank, stage.into()), t);
        }
    }
}

impl Process {
    /// Whether the send of the step may run as soon as it is ready.
    #[inline(always)]
    fn may_send(&self) -> bool {
        rules::send_eligible(&self.host, 0, 0, self.ready) == self.ready
    }

    #[inline(always)]
    fn enter(&mut self, stage: u8, step: &Step, t: Time) {
        debug_assert_eq!(step.then, Then::Wait, "an overlapping step needs another engine");
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
