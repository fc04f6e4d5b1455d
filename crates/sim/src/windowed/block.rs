//! A block of neighbouring processes and how it runs through a window.

use super::actors::{Actors, MessageOf, Process, Turn};
use super::backlog::Backlog;
use super::calendar::{Bucket, Calendar, Chunks};
use super::frame::Frame;
use super::mail::{Inbox, Mail, eligible_of};
use super::message_count::{self, HAS_BACKLOG, ONE, Oversubscribed};
use super::outgoing::Parcel;
use crate::checkpoint::{Unsound, ensure};
use crate::lanes::Lanes;
use crate::outcome::Remains;
use crate::prefetch::prefetch;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::Range;
use straggler_model::{Rank, Time};

/// Boxed, since few processes have one.
type HoardOf<A> = Box<Backlog<<A as Actors>::Body, <A as Actors>::Stamp>>;

/// Neighbouring processes.
pub(super) struct Block<'a, A: Actors> {
    first: Rank,
    slots: &'a mut [A::Slot],
    /// How many messages each process has in the window: see [`mod@crowd`].
    marks: Vec<u8>,
    shared: A::Shared,
    /// The record of the messages that its processes send; taken out while the block runs.
    pub lanes: Lanes,
    calendar: Calendar<MessageOf<A>>,
    /// Processes that wake in the window after the one that ran last; the calendar has those of later windows.
    soon: Vec<u32>,
    /// Waiting messages of processes with many, by the place of the process.
    backlogs: HashMap<u32, HoardOf<A>>,
    started: bool,
}

/// A window's number, messages and waking processes.
type SavedBucket<M> = (u64, Vec<M>, Vec<u32>);

/// The state of a block between two windows, for writing.
#[derive(Serialize)]
#[serde(bound = "")]
pub(super) struct State<'a, A: Actors> {
    slots: &'a [A::Slot],
    marks: &'a Vec<u8>,
    shared: &'a A::Shared,
    lanes: &'a Lanes,
    buckets: Vec<SavedBucket<MessageOf<A>>>,
    soon: &'a Vec<u32>,
    backlogs: &'a HashMap<u32, HoardOf<A>>,
}

/// The state of a block, read back.
#[derive(Deserialize)]
#[serde(bound = "")]
pub(super) struct Restored<A: Actors> {
    slots: Vec<A::Slot>,
    marks: Vec<u8>,
    shared: A::Shared,
    lanes: Lanes,
    buckets: Vec<SavedBucket<MessageOf<A>>>,
    soon: Vec<u32>,
    backlogs: HashMap<u32, HoardOf<A>>,
}

/// Windows that a calendar looks ahead; none is so close to the largest number.
const CALENDAR: u64 = 1 << 10;

/// A process with more waiting messages than this gets a backlog.
const MANY: usize = 16;

/// Temporary buffers of a running block.
pub(super) struct Scratch<A: Actors> {
    crowd: Oversubscribed<MessageOf<A>>,
    woken: Vec<u32>,
    inbox: Inbox<A::Body, A::Stamp>,
}

impl<A: Actors> Scratch<A> {
    pub fn new() -> Self {
        Scratch { crowd: Oversubscribed::default(), woken: Vec::new(), inbox: Inbox::new() }
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
            backlogs: HashMap::new(),
            started: false,
        }
    }

    /// Runs all processes that have something to do, in the order of their messages in memory, which is close to
    /// that of ranks. The order has no effect on results.
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

    /// Marks which processes have one message and which have several. Prefetches scattered processes; dense ones
    /// are left to the hardware prefetcher.
    fn count(&mut self, actors: &A, bucket: &Bucket<MessageOf<A>>) {
        let sparse = A::SCATTERED || bucket.len() < self.slots.len() / 2;
        for chunk in &bucket.chunks {
            for message in chunk {
                let place = (message.to - self.first) as usize;
                message_count::count(&mut self.marks[place]);
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

    /// Runs the processes that have one message; collects the others in `crowd`.
    #[inline(never)]
    fn run_chunk(
        &mut self,
        actors: &A,
        turn: &mut Turn<'_, A>,
        chunk: &[MessageOf<A>],
        crowd: &mut Oversubscribed<MessageOf<A>>,
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
        if self.marks[place] != HAS_BACKLOG {
            self.run_alone(actors, turn, place, note);
        } else {
            self.run_hoarder(actors, turn, place, &mut scratch.inbox, note);
        }
    }

    /// Schedules a process that has a local event at `due`, in a later window.
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

    /// Runs the processes with several messages or a backlog, apart from those with one message.
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
        !self.backlogs.is_empty() && self.backlogs.contains_key(&(place as u32))
    }

    /// Runs a process that has a backlog, with the messages that have just arrived.
    #[inline(never)]
    fn run_hoarder(
        &mut self,
        actors: &A,
        turn: &mut Turn<'_, A>,
        place: usize,
        inbox: &mut Inbox<A::Body, A::Stamp>,
        note: &mut impl FnMut(u64),
    ) {
        let mut backlog = self.backlogs.remove(&(place as u32)).unwrap_or_default();
        inbox.drain().for_each(|message| backlog.push(message, actors.rules()));
        self.run_process(actors, turn, place, &mut *backlog, note);
        self.marks[place] = 0;
        if backlog.is_empty() {
            return;
        }
        let (eligible, _) = backlog.first(A::host(&self.slots[place]), actors.rules());
        if turn.check_time(eligible) {
            let window = turn.frame.window_of(eligible);
            // A process may run twice in a window, or get the same later window twice.
            if backlog.noted != window {
                backlog.noted = window;
                self.wake(&turn.frame, place, eligible, note);
            }
            self.backlogs.insert(place as u32, backlog);
            self.marks[place] = HAS_BACKLOG;
        }
    }

    /// Keeps a message whose CPU or NIC is busy beyond the window for the window in which it may run.
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

    /// Accepts messages that were sent in the window of `frame`.
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
            self.accept_one(*message, frame, chunks, note);
        }
    }

    /// Accepts a message that was sent in the window of `frame`.
    #[inline(always)]
    pub fn accept_one(
        &mut self,
        message: MessageOf<A>,
        frame: &Frame,
        chunks: &mut Chunks<MessageOf<A>>,
        note: &mut impl FnMut(u64),
    ) {
        let window = frame.window_of(Time(message.arrival));
        let bucket = self.calendar.bucket(window, frame.window);
        if bucket.is_empty() && (window > frame.window + 1 || self.soon.is_empty()) {
            note(window);
        }
        chunks.room(&mut bucket.chunks).push(message);
    }

    /// The state of the block before window `next`.
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
            backlogs: &self.backlogs,
        }
    }

    /// Checks a state that was read, before window `next`.
    pub fn check(&self, actors: &A, state: &Restored<A>, next: u64) -> Result<(), Unsound> {
        let count = self.slots.len();
        let fits = next > 0 && state.slots.len() == count && state.marks.len() == count;
        ensure(fits, "it belongs to another run")?;
        state.lanes.check(&self.lanes)?;
        let wakes = state.buckets.iter().flat_map(|(_, _, wakes)| wakes);
        let mut places = wakes.chain(&state.soon).chain(state.backlogs.keys());
        ensure(places.all(|&place| (place as usize) < count), "a process is in another block")?;
        let last = u64::MAX - CALENDAR;
        let mut windows = state.buckets.iter().map(|&(window, ..)| window);
        ensure(windows.all(|window| (next..last).contains(&window)), "a window is over, or never comes")?;
        let marked = |place: usize| match state.backlogs.contains_key(&(place as u32)) {
            true => HAS_BACKLOG,
            false => 0,
        };
        ensure((0..count).all(|place| state.marks[place] == marked(place)), "a process is marked wrongly")?;
        let mut arriving: Vec<MessageOf<A>> = Vec::new();
        for (&place, backlog) in &state.backlogs {
            backlog.check()?;
            let own = backlog.messages().all(|message| message.to.checked_sub(self.first) == Some(place));
            ensure(own, "a message waits at another process")?;
            arriving.extend(backlog.messages());
        }
        state.buckets.iter().for_each(|(_, messages, _)| arriving.extend(messages));
        let ranks = self.first..self.first + count as u32;
        ensure(
            arriving.iter().all(|message| ranks.contains(&{ message.to })),
            "a message is for another block",
        )?;
        actors.check(ranks, &state.slots, &state.shared, &arriving)
    }

    /// Restores the state of the block before window `next`, which must not be the first.
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
        (self.soon, self.backlogs) = (state.soon, state.backlogs);
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

    /// The number of processes.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Writes the finish time of each process, and adds what it leaves behind to `remains`.
    pub fn conclude(self, actors: &A, finish: &mut [Time], remains: &mut Remains) {
        for ((rank, slot), finish) in (self.first..).zip(self.slots.iter()).zip(finish) {
            *finish = actors.conclude(rank, slot, &self.shared, remains);
        }
    }
}
