//! A block of neighbouring processes and how it runs through a window.

use super::MessageOf;
use super::calendar::{Bucket, CHUNK, Calendar, Chunks};
use super::domain::Parcel;
use super::hoard::Hoard;
use super::mail::{Inbox, Mail, One, eligible_of};
use super::process::{Process, Turn};
use crate::agenda::Agenda;
use crate::host::Host;
use crate::observer::Observer;
use crate::outcome::{Blocked, Leftover, Remains};
use crate::prefetch::prefetch;
use crate::program::Program;
use std::collections::HashMap;
use std::ops::Range;
use straggler_model::noise::Noise;
use straggler_model::{Network, Rank, Time};
use straggler_schedule::OperationKind;

/// The window that is being run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub window: u64,
    /// The window's end: events at this time belong to the next one.
    pub until: Time,
    /// The end of the next window.
    pub next_until: Time,
    lookahead: u64,
    pub shift: u32,
}

impl Frame {
    pub fn new(window: u64, lookahead: Time, shift: u32) -> Frame {
        let end = |window: u64| Time(lookahead.ps().saturating_mul(window.saturating_add(1)));
        Frame {
            window,
            until: end(window),
            next_until: end(window.saturating_add(1)),
            lookahead: lookahead.ps(),
            shift,
        }
    }

    pub fn window_of(&self, time: Time) -> u64 {
        if time < self.next_until { self.window + 1 } else { time.ps() / self.lookahead }
    }
}

/// One process.
#[repr(C, align(64))]
pub(super) struct Slot<P: Program> {
    pub host: P::Host,
    pub agenda: P::Agenda,
    pub local: P::Local,
}

/// Kept in a box: few processes have one.
type HoardOf<P, O> = Box<Hoard<BodyOf<P>, <O as Observer>::Stamp>>;

pub(super) type BodyOf<P> = <<P as Program>::Agenda as Agenda>::Body;

/// Neighbouring processes.
pub(super) struct Block<P: Program, O: Observer> {
    first: Rank,
    slots: Vec<Slot<P>>,
    state: P::Block,
    pool: <P::Agenda as Agenda>::Pool,
    calendar: Calendar<MessageOf<P, O::Stamp>>,
    /// Messages of processes that have many, by the place of the process.
    hoards: HashMap<u32, HoardOf<P, O>>,
    started: bool,
}

/// More waiting messages than this make a hoard.
const MANY: usize = 16;

/// What a block needs while it runs and forgets afterwards.
pub(super) struct Scratch<P: Program, O: Observer> {
    /// For each process its first message: place in the bucket plus one, 0 for none.
    head: Vec<u32>,
    /// For each message the next one of the same process.
    next: Vec<u32>,
    /// One bit for each process that has something to do.
    active: Vec<u64>,
    inbox: Inbox<BodyOf<P>, O::Stamp>,
}

impl<P: Program, O: Observer> Scratch<P, O> {
    /// Puts the chain of messages that begins at `head` into the inbox.
    #[inline(never)]
    fn gather(&mut self, bucket: &Bucket<MessageOf<P, O::Stamp>>, head: u32) {
        let mut message = head;
        while message != 0 {
            let index = message as usize - 1;
            self.inbox.push(bucket.chunks[index / CHUNK][index % CHUNK]);
            message = self.next[index];
        }
    }

    pub fn new(ranks: usize) -> Self {
        Scratch {
            head: vec![0; ranks],
            next: Vec::new(),
            active: vec![0; ranks.div_ceil(64)],
            inbox: Inbox::new(),
        }
    }
}

impl<P: Program, O: Observer> Block<P, O> {
    pub fn new(program: &P, ranks: Range<Rank>) -> Self {
        let slot = |_| Slot { host: P::Host::new(), agenda: Default::default(), local: Default::default() };
        Block {
            first: ranks.start,
            state: program.block(ranks.clone()),
            slots: ranks.map(slot).collect(),
            pool: Default::default(),
            calendar: Calendar::new(),
            hoards: HashMap::new(),
            started: false,
        }
    }

    /// Runs all processes that have something to do, in order of rank.
    pub fn run<N: Noise>(
        &mut self,
        turn: &mut Turn<'_, P, N, O>,
        scratch: &mut Scratch<P, O>,
        note: &mut impl FnMut(u64),
    ) {
        let bucket = self.calendar.take(turn.frame.window);
        let sparse = P::SCATTERED || bucket.len() < self.slots.len() / 2;
        self.sort_in(&bucket, scratch, sparse);
        let starting = !std::mem::replace(&mut self.started, true);
        if starting {
            (0..self.slots.len()).for_each(|place| scratch.active[place / 64] |= 1 << (place % 64));
        }
        for word in 0..self.slots.len().div_ceil(64) {
            let mut bits = std::mem::take(&mut scratch.active[word]);
            while bits != 0 {
                let place = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if sparse && bits != 0 {
                    self.prefetch(turn.program, word * 64 + bits.trailing_zeros() as usize);
                }
                let head = std::mem::take(&mut scratch.head[place]);
                if !self.hoards.is_empty() && self.hoards.contains_key(&(place as u32)) {
                    scratch.gather(&bucket, head);
                    self.run_hoarder(turn, place, starting, &mut scratch.inbox, note);
                } else if head == 0 || scratch.next[head as usize - 1] == 0 {
                    let message =
                        (head as usize).checked_sub(1).map(|at| &bucket.chunks[at / CHUNK][at % CHUNK]);
                    let mut mail = One(message);
                    self.run_process(turn, place, starting, &mut mail, note);
                    if let Some(message) = mail.0 {
                        self.keep_one(turn, place, message, note);
                    }
                } else {
                    scratch.gather(&bucket, head);
                    self.run_several(turn, place, starting, &mut scratch.inbox, note);
                }
            }
        }
        bucket.chunks.into_iter().for_each(|chunk| turn.chunks.put(chunk));
    }

    /// Asks for what a process that runs soon will need; its slot is in the cache by now.
    #[inline(never)]
    fn prefetch(&self, program: &P, place: usize) {
        if let Some(id) = self.slots[place].agenda.prefetch(&self.pool) {
            program.prefetch(self.first + place as u32, &self.state, id);
        }
    }

    /// Chains each process's messages, in the order they lie in the bucket. Scattered processes are asked
    /// for; those that lie close the processor finds itself.
    fn sort_in(&self, bucket: &Bucket<MessageOf<P, O::Stamp>>, scratch: &mut Scratch<P, O>, sparse: bool) {
        if scratch.next.len() < bucket.chunks.len() * CHUNK {
            scratch.next.resize(bucket.chunks.len() * CHUNK, 0);
        }
        for (chunk, messages) in bucket.chunks.iter().enumerate().rev() {
            for (index, message) in messages.iter().enumerate().rev() {
                let place = (message.to - self.first) as usize;
                if sparse {
                    prefetch(&self.slots[place]);
                }
                let index = chunk * CHUNK + index;
                scratch.next[index] = std::mem::replace(&mut scratch.head[place], index as u32 + 1);
                scratch.active[place / 64] |= 1 << (place % 64);
            }
        }
        for &place in &bucket.wakes {
            prefetch(&self.slots[place as usize]);
            scratch.active[place as usize / 64] |= 1 << (place % 64);
        }
    }

    #[inline(always)]
    fn run_process<N: Noise>(
        &mut self,
        turn: &mut Turn<'_, P, N, O>,
        place: usize,
        starting: bool,
        mail: &mut impl Mail<BodyOf<P>, O::Stamp>,
        note: &mut impl FnMut(u64),
    ) {
        let rank = self.first + place as u32;
        let mut process =
            Process { rank, slot: &mut self.slots[place], state: &mut self.state, pool: &mut self.pool };
        let was_due = process.next_window(turn.frame);
        if starting {
            process.start(turn);
        }
        let eligible = process.run(turn, mail);
        if eligible == Time::NEVER {
            return;
        }
        let window = turn.frame.window_of(eligible);
        // A process that was due in a later window and still is has been noted there already.
        if was_due != Some(window) {
            self.wake(turn.frame, place, window, note);
        }
    }

    #[inline(always)]
    fn wake(&mut self, frame: &Frame, place: usize, window: u64, note: &mut impl FnMut(u64)) {
        let bucket = self.calendar.bucket(window, frame.window);
        if bucket.is_empty() {
            note(window);
        }
        bucket.wakes.push(place as u32);
    }

    /// Runs a process that has several messages, out of the way of those that have one.
    #[inline(never)]
    fn run_several<N: Noise>(
        &mut self,
        turn: &mut Turn<'_, P, N, O>,
        place: usize,
        starting: bool,
        inbox: &mut Inbox<BodyOf<P>, O::Stamp>,
        note: &mut impl FnMut(u64),
    ) {
        if inbox.len() <= MANY {
            self.run_process(turn, place, starting, inbox, note);
            inbox.drain().for_each(|message| self.keep_one(turn, place, &message, note));
        } else {
            self.hoards.insert(place as u32, Box::new(Hoard::new()));
            self.run_hoarder(turn, place, starting, inbox, note);
        }
    }

    /// Runs a process that has hoarded messages, with those that have just come.
    #[inline(never)]
    fn run_hoarder<N: Noise>(
        &mut self,
        turn: &mut Turn<'_, P, N, O>,
        place: usize,
        starting: bool,
        inbox: &mut Inbox<BodyOf<P>, O::Stamp>,
        note: &mut impl FnMut(u64),
    ) {
        let Some(mut hoard) = self.hoards.remove(&(place as u32)) else { return };
        inbox.drain().for_each(|message| hoard.push(message, turn.rules));
        self.run_process(turn, place, starting, &mut *hoard, note);
        self.keep_hoard(turn, place, hoard, note);
    }

    /// Lets a process wake when its hoard's first message may run.
    fn keep_hoard<N: Noise>(
        &mut self,
        turn: &mut Turn<'_, P, N, O>,
        place: usize,
        mut hoard: Box<Hoard<BodyOf<P>, O::Stamp>>,
        note: &mut impl FnMut(u64),
    ) {
        if hoard.is_empty() {
            return;
        }
        let (eligible, _) = hoard.first(&self.slots[place].host, turn.rules);
        if turn.check_time(eligible) {
            self.wake(turn.frame, place, turn.frame.window_of(eligible), note);
            self.hoards.insert(place as u32, hoard);
        }
    }

    /// A message whose CPU or NIC is busy beyond the window waits for the window in which it may run.
    #[inline(never)]
    fn keep_one<N: Noise>(
        &mut self,
        turn: &mut Turn<'_, P, N, O>,
        place: usize,
        message: &MessageOf<P, O::Stamp>,
        note: &mut impl FnMut(u64),
    ) {
        let eligible = eligible_of(message, &self.slots[place].host);
        if turn.check_time(eligible) {
            let window = turn.frame.window_of(eligible);
            let bucket = self.calendar.bucket(window, turn.frame.window);
            if bucket.is_empty() {
                note(window);
            }
            turn.chunks.push(&mut bucket.chunks, *message);
        }
    }

    /// Messages from elsewhere.
    pub fn accept(
        &mut self,
        parcel: Parcel<MessageOf<P, O::Stamp>>,
        frame: &Frame,
        chunks: &mut Chunks<MessageOf<P, O::Stamp>>,
        note: &mut impl FnMut(u64),
    ) {
        let (mut soon, later) = parcel.into_parts();
        if !soon.is_empty() {
            let bucket = self.calendar.bucket(frame.window + 1, frame.window);
            if bucket.is_empty() {
                note(frame.window + 1);
            }
            bucket.chunks.append(&mut soon);
        }
        for message in later {
            let window = frame.window_of(Time(message.arrival));
            let bucket = self.calendar.bucket(window, frame.window);
            if bucket.is_empty() {
                note(window);
            }
            chunks.push(&mut bucket.chunks, message);
        }
    }

    pub fn conclude(self, program: &P, network: &Network, finish: &mut Vec<Time>, remains: &mut Remains) {
        for (place, slot) in self.slots.iter().enumerate() {
            let rank = self.first + place as u32;
            finish.push(slot.host.finish().max(program.last_completion(rank, &slot.local, &self.state)));
            if !slot.agenda.is_idle() {
                // What is ready and never ran waits for the end of time.
                remains.out_of_time();
            }
            if !program.finished(rank, &slot.local, &self.state) {
                remains.unfinished();
                program.unstarted(rank, &self.state, &mut |operation| remains.unstarted(rank, operation));
            }
            for id in slot.agenda.posted(&self.pool) {
                remains.blocked(Blocked {
                    rank,
                    id,
                    operation: program.operation(rank, &slot.local, &self.state, OperationKind::Recv, id),
                });
            }
            for early in slot.agenda.unreceived(&self.pool) {
                let rendezvous = network.link(early.from, rank).is_rendezvous(early.bytes);
                let leftover = Leftover { from: early.from, to: rank, tag: early.tag, bytes: early.bytes };
                remains.leftover(leftover, early.send, rendezvous);
            }
        }
    }
}
