//! A block of neighbouring processes and how it runs through a window.

use super::actors::{Actors, MessageOf, Process, Turn};
use super::calendar::{Bucket, Calendar, Chunks};
use super::crowd::{self, Crowd, HOARDS, ONE};
use super::frame::Frame;
use super::hoard::Hoard;
use super::mail::{Inbox, Mail, eligible_of};
use super::outgoing::Parcel;
use crate::lanes::Lanes;
use crate::outcome::Remains;
use crate::prefetch::prefetch;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::Range;
use straggler_model::{Rank, Time};

/// Kept in a box: few processes have one.
type HoardOf<A> = Box<Hoard<<A as Actors>::Body, <A as Actors>::Stamp>>;

/// Neighbouring processes.
pub(super) struct Block<'a, A: Actors> {
    first: Rank,
    slots: &'a mut [A::Slot],
    /// How many messages each process has in the window: see [`mod@crowd`].
    marks: Vec<u8>,
    shared: A::Shared,
    /// What its processes keep of the messages they send; away while the block runs.
    pub lanes: Lanes,
    calendar: Calendar<MessageOf<A>>,
    /// Processes that wake in the window after the one that ran last; those of later ones are in the calendar.
    soon: Vec<u32>,
    /// Messages of processes that have many, by the place of the process.
    hoards: HashMap<u32, HoardOf<A>>,
    started: bool,
}

/// What happens in a window: its number, messages and processes that wake.
type SavedBucket<M> = (u64, Vec<M>, Vec<u32>);

/// What there is of a block between two windows, to be written.
#[derive(Serialize)]
#[serde(bound = "")]
pub(super) struct State<'a, A: Actors> {
    slots: &'a [A::Slot],
    marks: &'a Vec<u8>,
    shared: &'a A::Shared,
    lanes: &'a Lanes,
    buckets: Vec<SavedBucket<MessageOf<A>>>,
    soon: &'a Vec<u32>,
    hoards: &'a HashMap<u32, HoardOf<A>>,
}

/// The same, read back.
#[derive(Deserialize)]
#[serde(bound = "")]
pub(super) struct Restored<A: Actors> {
    slots: Vec<A::Slot>,
    marks: Vec<u8>,
    shared: A::Shared,
    lanes: Lanes,
    buckets: Vec<SavedBucket<MessageOf<A>>>,
    soon: Vec<u32>,
    hoards: HashMap<u32, HoardOf<A>>,
}

/// More waiting messages than this make a hoard.
const MANY: usize = 16;

/// What a block needs while it runs and forgets afterwards.
pub(super) struct Scratch<A: Actors> {
    crowd: Crowd<MessageOf<A>>,
    woken: Vec<u32>,
    inbox: Inbox<A::Body, A::Stamp>,
}

impl<A: Actors> Scratch<A> {
    pub fn new() -> Self {
        Scratch { crowd: Crowd::default(), woken: Vec::new(), inbox: Inbox::new() }
    }
}

impl<'a, A: Actors> Block<'a, A> {
    pub fn new(actors: &A, ranks: Range<Rank>, slots: &'a mut [A::Slot]) -> Self {
        Block {
            first: ranks.start,
            marks: vec![0; ranks.len()],
            lanes: actors.rules().lanes(ranks.clone(), actors.largest_message()),
            shared: actors.shared(ranks),
            slots,
            calendar: Calendar::new(),
            soon: Vec::new(),
            hoards: HashMap::new(),
            started: false,
        }
    }

    /// Runs all processes that have something to do. They go in the order in which their messages lie, which is
    /// close to that of their ranks; the order changes nothing.
    pub fn run(
        &mut self,
        actors: &A,
        turn: &mut Turn<'_, A>,
        scratch: &mut Scratch<A>,
        note: &mut impl FnMut(u64),
    ) {
        let bucket = self.calendar.take(turn.frame.window);
        let mut woken = std::mem::replace(&mut self.soon, std::mem::take(&mut scratch.woken));
        if !std::mem::replace(&mut self.started, true) {
            self.start(actors, turn, note);
        }
        self.count(actors, &bucket);
        for chunk in &bucket.chunks {
            self.run_chunk(actors, turn, chunk, &mut scratch.crowd, note);
        }
        self.run_crowd(actors, turn, scratch, note);
        for &place in woken.iter().chain(&bucket.wakes) {
            self.run_woken(actors, turn, place as usize, scratch, note);
        }
        woken.clear();
        scratch.woken = woken;
        let next = turn.frame.window + 1;
        if !self.soon.is_empty() && self.calendar.bucket(next, turn.frame.window).is_empty() {
            note(next);
        }
        bucket.chunks.into_iter().for_each(|chunk| turn.chunks.put(chunk));
    }

    #[inline(never)]
    fn start(&mut self, actors: &A, turn: &mut Turn<'_, A>, note: &mut impl FnMut(u64)) {
        for place in 0..self.slots.len() {
            let process = Process {
                rank: self.first + place as u32,
                slot: &mut self.slots[place],
                shared: &mut self.shared,
            };
            actors.start(process, turn);
            self.run_alone(actors, turn, place, note);
        }
    }

    /// Marks who has a message, and who has several. Scattered processes are asked for; those that lie close the
    /// processor finds itself.
    fn count(&mut self, actors: &A, bucket: &Bucket<MessageOf<A>>) {
        let sparse = A::SCATTERED || bucket.len() < self.slots.len() / 2;
        for chunk in &bucket.chunks {
            for message in chunk {
                let place = (message.to - self.first) as usize;
                crowd::count(&mut self.marks[place]);
                if sparse {
                    prefetch(&self.slots[place]);
                }
            }
        }
        if sparse {
            bucket.wakes.iter().for_each(|&place| prefetch(&self.slots[place as usize]));
        }
        if A::SCATTERED {
            for chunk in &bucket.chunks {
                for message in chunk {
                    let to = message.to;
                    actors.prefetch(to, &self.slots[(to - self.first) as usize], &self.shared);
                }
            }
        }
    }

    /// Runs the processes that have one message; notes the others.
    #[inline(never)]
    fn run_chunk(
        &mut self,
        actors: &A,
        turn: &mut Turn<'_, A>,
        chunk: &[MessageOf<A>],
        crowd: &mut Crowd<MessageOf<A>>,
        note: &mut impl FnMut(u64),
    ) {
        for message in chunk {
            let place = (message.to - self.first) as usize;
            let mark = &mut self.marks[place];
            if *mark == ONE {
                *mark = 0;
                self.run_one(actors, turn, place, message, note);
            } else {
                crowd.add(place, message);
            }
        }
    }

    /// Runs a process with its only message.
    #[inline(always)]
    fn run_one(
        &mut self,
        actors: &A,
        turn: &mut Turn<'_, A>,
        place: usize,
        message: &MessageOf<A>,
        note: &mut impl FnMut(u64),
    ) {
        let process = Process { rank: message.to, slot: &mut self.slots[place], shared: &mut self.shared };
        let (due, ran) = actors.run_one(process, turn, message);
        self.wake(&turn.frame, place, due, note);
        if !ran {
            self.keep_one(turn, place, message, note);
        }
    }

    #[inline(always)]
    fn run_process(
        &mut self,
        actors: &A,
        turn: &mut Turn<'_, A>,
        place: usize,
        mail: &mut impl Mail<A::Body, A::Stamp>,
        note: &mut impl FnMut(u64),
    ) {
        let rank = self.first + place as u32;
        let process = Process { rank, slot: &mut self.slots[place], shared: &mut self.shared };
        let due = actors.run(process, turn, mail);
        self.wake(&turn.frame, place, due, note);
    }

    #[inline(always)]
    fn run_alone(&mut self, actors: &A, turn: &mut Turn<'_, A>, place: usize, note: &mut impl FnMut(u64)) {
        let rank = self.first + place as u32;
        let process = Process { rank, slot: &mut self.slots[place], shared: &mut self.shared };
        let due = actors.run_alone(process, turn);
        self.wake(&turn.frame, place, due, note);
    }

    #[inline(always)]
    fn run_woken(
        &mut self,
        actors: &A,
        turn: &mut Turn<'_, A>,
        place: usize,
        scratch: &mut Scratch<A>,
        note: &mut impl FnMut(u64),
    ) {
        if self.marks[place] != HOARDS {
            self.run_alone(actors, turn, place, note);
        } else {
            self.run_hoarder(actors, turn, place, &mut scratch.inbox, note);
        }
    }

    /// A process has a local event at `due`, in a later window.
    #[inline(always)]
    fn wake(&mut self, frame: &Frame, place: usize, due: Time, note: &mut impl FnMut(u64)) {
        if due < frame.next_until {
            self.soon.push(place as u32);
        } else if due != Time::NEVER {
            self.wake_late(frame, place, due, note);
        }
    }

    #[inline(never)]
    fn wake_late(&mut self, frame: &Frame, place: usize, due: Time, note: &mut impl FnMut(u64)) {
        let window = frame.window_of(due);
        let bucket = self.calendar.bucket(window, frame.window);
        if bucket.is_empty() {
            note(window);
        }
        bucket.wakes.push(place as u32);
    }

    /// Runs those who have several messages, or a hoard, out of the way of those who have one.
    #[inline(never)]
    fn run_crowd(
        &mut self,
        actors: &A,
        turn: &mut Turn<'_, A>,
        Scratch { crowd, inbox, .. }: &mut Scratch<A>,
        note: &mut impl FnMut(u64),
    ) {
        for number in 0..crowd.len() {
            let (place, members) = crowd.take(number);
            members.for_each(|message| inbox.push(message));
            self.marks[place] = 0;
            if inbox.len() <= MANY && !self.has_hoard(place) {
                if actors.in_order_of_arrival() {
                    inbox.line_up();
                }
                self.run_process(actors, turn, place, inbox, note);
                inbox.drain().for_each(|message| self.keep_one(turn, place, &message, note));
            } else {
                self.run_hoarder(actors, turn, place, inbox, note);
            }
        }
        crowd.clear();
    }

    fn has_hoard(&self, place: usize) -> bool {
        !self.hoards.is_empty() && self.hoards.contains_key(&(place as u32))
    }

    /// Runs a process that has hoarded messages, with those that have just come.
    #[inline(never)]
    fn run_hoarder(
        &mut self,
        actors: &A,
        turn: &mut Turn<'_, A>,
        place: usize,
        inbox: &mut Inbox<A::Body, A::Stamp>,
        note: &mut impl FnMut(u64),
    ) {
        let mut hoard = self.hoards.remove(&(place as u32)).unwrap_or_default();
        inbox.drain().for_each(|message| hoard.push(message, actors.rules()));
        self.run_process(actors, turn, place, &mut *hoard, note);
        self.marks[place] = 0;
        if hoard.is_empty() {
            return;
        }
        let (eligible, _) = hoard.first(A::host(&self.slots[place]), actors.rules());
        if turn.check_time(eligible) {
            let window = turn.frame.window_of(eligible);
            // A process may run twice in a window, or be told of the same later one twice.
            if hoard.noted != window {
                hoard.noted = window;
                self.wake(&turn.frame, place, eligible, note);
            }
            self.hoards.insert(place as u32, hoard);
            self.marks[place] = HOARDS;
        }
    }

    /// A message whose CPU or NIC is busy beyond the window waits for the window in which it may run.
    #[inline(never)]
    fn keep_one(
        &mut self,
        turn: &mut Turn<'_, A>,
        place: usize,
        message: &MessageOf<A>,
        note: &mut impl FnMut(u64),
    ) {
        let eligible = eligible_of(message, A::host(&self.slots[place]));
        if turn.check_time(eligible) {
            let window = turn.frame.window_of(eligible);
            let bucket = self.calendar.bucket(window, turn.frame.window);
            if bucket.is_empty() {
                note(window);
            }
            turn.chunks.push(&mut bucket.chunks, *message);
        }
    }

    /// Messages that were sent in the window of `frame`.
    pub fn accept(
        &mut self,
        parcel: Parcel<MessageOf<A>>,
        frame: &Frame,
        chunks: &mut Chunks<MessageOf<A>>,
        note: &mut impl FnMut(u64),
    ) {
        let (mut soon, later) = parcel.into_parts();
        if !soon.is_empty() {
            let bucket = self.calendar.bucket(frame.window + 1, frame.window);
            if bucket.is_empty() && self.soon.is_empty() {
                note(frame.window + 1);
            }
            bucket.chunks.append(&mut soon);
        }
        for message in &later {
            let window = frame.window_of(Time(message.arrival));
            let bucket = self.calendar.bucket(window, frame.window);
            if bucket.is_empty() && (window > frame.window + 1 || self.soon.is_empty()) {
                note(window);
            }
            chunks.push(&mut bucket.chunks, *message);
        }
    }

    /// What there is of the block before window `next`.
    pub fn state(&self, next: u64) -> State<'_, A> {
        let bucket = |(window, bucket): (u64, &Bucket<MessageOf<A>>)| {
            (window, bucket.chunks.concat(), bucket.wakes.clone())
        };
        State {
            slots: &*self.slots,
            marks: &self.marks,
            shared: &self.shared,
            lanes: &self.lanes,
            buckets: self.calendar.buckets(next).map(bucket).collect(),
            soon: &self.soon,
            hoards: &self.hoards,
        }
    }

    /// Whether a state is one of a block of this size.
    pub fn fits(&self, state: &Restored<A>) -> bool {
        state.slots.len() == self.slots.len() && state.marks.len() == self.slots.len()
    }

    /// Puts the block into the state that it had before window `next`, which is after the first.
    pub fn restore(
        &mut self,
        state: Restored<A>,
        next: u64,
        chunks: &mut Chunks<MessageOf<A>>,
        note: &mut impl FnMut(u64),
    ) {
        self.started = true;
        self.slots.iter_mut().zip(state.slots).for_each(|(slot, saved)| *slot = saved);
        (self.marks, self.shared, self.lanes) = (state.marks, state.shared, state.lanes);
        (self.soon, self.hoards) = (state.soon, state.hoards);
        if !self.soon.is_empty() {
            note(next);
        }
        for (window, messages, mut wakes) in state.buckets {
            note(window);
            let bucket = self.calendar.bucket(window, next - 1);
            chunks.extend(&mut bucket.chunks, &messages);
            bucket.wakes.append(&mut wakes);
        }
    }

    /// How many processes there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Says when each process has finished, and what is left of it.
    pub fn conclude(self, actors: &A, finish: &mut [Time], remains: &mut Remains) {
        for ((rank, slot), finish) in (self.first..).zip(self.slots.iter()).zip(finish) {
            *finish = actors.conclude(rank, slot, &self.shared, remains);
        }
    }
}
