//! The part of a run that one thread runs: some neighbouring blocks and the messages they send.

use super::actors::{Actors, MessageOf, Turn};
use super::block::{Block, Scratch};
use super::calendar::Chunks;
use super::frame::Frame;
use super::outgoing::{Outgoing, Parcel};
use super::transport::Transport;
use crate::lanes::Lanes;
use crate::outcome::{Remains, RunError};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use straggler_model::{Rank, Time};

pub(super) struct Domain<'a, A: Actors> {
    actors: &'a A,
    first_block: u32,
    blocks: Vec<Block<'a, A>>,
    /// Window → blocks with something to do in it.
    due: BTreeMap<u64, Vec<u32>>,
    outgoing: Outgoing<MessageOf<A>>,
    chunks: Chunks<MessageOf<A>>,
    scratch: Scratch<A>,
    lanes: Lanes,
    observer: A::Observer,
    /// Messages that ran.
    pub messages: u64,
    pub error: Option<RunError>,
}

/// The ranks of a block.
pub(super) fn ranks_of(block: u32, shift: u32, processes: u32) -> Range<Rank> {
    let edge = |block: u64| (block << shift).min(u64::from(processes)) as Rank;
    edge(block.into())..edge(u64::from(block) + 1)
}

impl<'a, A: Actors> Domain<'a, A> {
    /// `slots` holds the processes of the blocks, in order of rank.
    pub fn new(
        actors: &'a A,
        blocks: Range<u32>,
        shift: u32,
        slots: &'a mut [A::Slot],
        observer: A::Observer,
    ) -> Self {
        let processes = actors.processes();
        let first = ranks_of(blocks.start, shift, processes).start;
        let lanes = actors.rules().lanes(first..first + slots.len() as Rank, actors.largest_message());
        Domain {
            actors,
            lanes,
            first_block: blocks.start,
            due: BTreeMap::from([(0, (0..blocks.len() as u32).collect())]),
            outgoing: Outgoing::new(processes.div_ceil(1 << shift) as usize),
            chunks: Chunks::new(slots.len()),
            scratch: Scratch::new(),
            blocks: blocks
                .zip(slots.chunks_mut(1 << shift))
                .map(|(block, slots)| Block::new(actors, ranks_of(block, shift, processes), slots))
                .collect(),
            observer,
            messages: 0,
            error: None,
        }
    }

    /// The first window in which a block has something to do, as far as is known.
    pub fn next_window(&self) -> u64 {
        self.due.first_key_value().map_or(u64::MAX, |(&window, _)| window)
    }

    /// Runs every block that has something to do in this window.
    pub fn run(&mut self, frame: &Frame, stop: &AtomicBool) {
        let Some(mut blocks) = self.due.remove(&frame.window) else { return };
        // A window that was far and has come near may have been noted twice.
        blocks.sort_unstable();
        blocks.dedup();
        for index in blocks {
            let mut turn = Turn {
                frame: *frame,
                outgoing: &mut self.outgoing,
                chunks: &mut self.chunks,
                lanes: &mut self.lanes,
                observer: &mut self.observer,
                stop,
                processes: self.actors.processes(),
                operations: 0,
                messages: 0,
                error: None,
            };
            let due = &mut self.due;
            let mut note = |window: u64| due.entry(window).or_default().push(index);
            self.blocks[index as usize].run(self.actors, &mut turn, &mut self.scratch, &mut note);
            self.messages += turn.messages;
            self.error = self.error.take().or(turn.error);
            if stop.load(Ordering::Relaxed) {
                self.error.get_or_insert(RunError::Interrupted);
            }
            if self.error.is_some() {
                return;
            }
        }
    }

    /// Hands over what was sent in the window: to the own blocks at once, to others by the transport. Gives the first
    /// window in which anything of it arrives elsewhere.
    pub fn deliver(&mut self, frame: &Frame, transport: &mut impl Transport<MessageOf<A>>) -> u64 {
        let mut outgoing = std::mem::replace(&mut self.outgoing, Outgoing::new(0));
        let mut first = u64::MAX;
        for (block, parcel) in outgoing.drain() {
            if self.owns(block) {
                self.accept(block, parcel, frame);
            } else {
                first = first.min(parcel.first_window(frame));
                transport.send(block, parcel);
            }
        }
        self.outgoing = outgoing;
        first
    }

    fn owns(&self, block: u32) -> bool {
        (block.wrapping_sub(self.first_block) as usize) < self.blocks.len()
    }

    /// Messages for one of this domain's blocks, sent in the window of `frame`.
    pub fn accept(&mut self, block: u32, parcel: Parcel<MessageOf<A>>, frame: &Frame) {
        let index = block - self.first_block;
        let due = &mut self.due;
        let mut note = |window: u64| due.entry(window).or_default().push(index);
        self.blocks[index as usize].accept(parcel, frame, &mut self.chunks, &mut note);
    }

    /// Gives up the processes one block after the other, once no message is left, and says when each has finished.
    pub fn conclude(self, mut finish: &mut [Time]) -> Concluded<A::Observer> {
        let Domain { actors, blocks, observer, outgoing, chunks, .. } = self;
        drop((outgoing, chunks));
        let mut concluded = Concluded { remains: Remains::default(), observer };
        for block in blocks {
            let own = finish.split_off_mut(..block.len()).unwrap_or_default();
            block.conclude(actors, own, &mut concluded.remains);
        }
        concluded
    }
}

/// What is left of a domain when nothing happens any more.
#[derive(Debug)]
pub(super) struct Concluded<O> {
    pub remains: Remains,
    pub observer: O,
}
