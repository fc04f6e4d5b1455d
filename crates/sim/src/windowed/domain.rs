//! The blocks one thread runs, and the messages they send.

use super::MessageOf;
use super::block::{Block, Frame, Scratch};
use super::calendar::{CHUNK, Chunks};
use crate::observer::Observer;
use crate::outcome::{Remains, RunError};
use crate::program::Program;
use crate::rules::Rules;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use straggler_model::noise::Noise;
use straggler_model::{Network, Time};

/// Messages that leave, sorted by the block they go to.
#[derive(Debug)]
pub(super) struct Outgoing<M> {
    /// For each block, those that arrive in the next window and those that arrive later.
    lists: Vec<Parcel<M>>,
    touched: Vec<u32>,
}

#[derive(Debug)]
pub(super) struct Parcel<M> {
    /// The chunk being filled, or an empty list that owns no memory.
    open: Vec<M>,
    full: Vec<Vec<M>>,
    pub later: Vec<M>,
}

impl<M> Default for Parcel<M> {
    fn default() -> Self {
        Parcel { open: Vec::new(), full: Vec::new(), later: Vec::new() }
    }
}

impl<M> Parcel<M> {
    /// The chunks for the next window, in order.
    pub fn into_parts(mut self) -> (Vec<Vec<M>>, Vec<M>) {
        if !self.open.is_empty() {
            self.full.push(self.open);
        }
        (self.full, self.later)
    }
}

impl<M> Default for Outgoing<M> {
    fn default() -> Self {
        Outgoing { lists: Vec::new(), touched: Vec::new() }
    }
}

impl<M> Outgoing<M> {
    fn new(blocks: usize) -> Self {
        Outgoing { lists: (0..blocks).map(|_| Parcel::default()).collect(), touched: Vec::new() }
    }

    /// The slow path makes room and does not see the message, which can so be written field by field.
    #[inline(always)]
    pub fn push(&mut self, chunks: &mut Chunks<M>, block: u32, in_next_window: bool, message: M) {
        let parcel = &self.lists[block as usize];
        if parcel.open.is_empty() || parcel.open.len() == CHUNK || !in_next_window {
            self.make_room(chunks, block, in_next_window);
        }
        let parcel = &mut self.lists[block as usize];
        if in_next_window {
            parcel.open.push(message);
        } else {
            parcel.later.push(message);
        }
    }

    #[inline(never)]
    fn make_room(&mut self, chunks: &mut Chunks<M>, block: u32, in_next_window: bool) {
        let parcel = &mut self.lists[block as usize];
        if parcel.open.is_empty() && parcel.later.is_empty() {
            self.touched.push(block);
        }
        if in_next_window && (parcel.open.capacity() == 0 || parcel.open.len() == CHUNK) {
            let full = std::mem::replace(&mut parcel.open, chunks.take());
            if !full.is_empty() {
                parcel.full.push(full);
            }
        }
    }

    pub fn drain_touched(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.touched)
    }

    pub fn take(&mut self, block: u32) -> Parcel<M> {
        std::mem::take(&mut self.lists[block as usize])
    }
}

/// Some neighbouring blocks.
pub(super) struct Domain<P: Program, O: Observer> {
    first_block: u32,
    blocks: Vec<Block<P, O>>,
    /// Window → blocks with something to do in it.
    due: BTreeMap<u64, Vec<u32>>,
    pub outgoing: Outgoing<MessageOf<P, O::Stamp>>,
    chunks: Chunks<MessageOf<P, O::Stamp>>,
    scratch: Scratch<P, O>,
    observer: O,
    pub messages: u64,
    pub error: Option<RunError>,
}

impl<P: Program, O: Observer> Domain<P, O> {
    pub fn new(program: &P, blocks: Range<u32>, shift: u32, observer: O) -> Self {
        let total = program.processes().div_ceil(1 << shift);
        let size = 1u64 << shift;
        let ranks = |block: u32| {
            let first = u64::from(block) * size;
            first as u32..(first + size).min(u64::from(program.processes())) as u32
        };
        Domain {
            first_block: blocks.start,
            due: BTreeMap::from([(0, (0..blocks.len() as u32).collect())]),
            outgoing: Outgoing::new(total as usize),
            chunks: Chunks::new(4 * blocks.len() + 64),
            scratch: Scratch::new(size as usize),
            blocks: blocks.map(|block| Block::new(program, ranks(block))).collect(),
            observer,
            messages: 0,
            error: None,
        }
    }

    pub fn blocks(&self) -> Range<u32> {
        self.first_block..self.first_block + self.blocks.len() as u32
    }

    pub fn next_window(&self) -> Option<u64> {
        self.due.first_key_value().map(|(&window, _)| window)
    }

    /// Runs every block that has something to do in this window.
    pub fn run<N: Noise>(&mut self, program: &P, rules: &Rules<'_, N>, frame: &Frame, stop: &AtomicBool) {
        let Some(blocks) = self.due.remove(&frame.window) else { return };
        let rendezvous = rules.network.may_rendezvous(program.largest_message());
        for index in blocks {
            let mut turn = super::process::Turn {
                program,
                rules,
                frame,
                outgoing: &mut self.outgoing,
                chunks: &mut self.chunks,
                observer: &mut self.observer,
                rendezvous,
                stop,
                operations: 0,
                messages: 0,
                error: None,
            };
            let due = &mut self.due;
            let mut note = |window: u64| due.entry(window).or_default().push(index);
            self.blocks[index as usize].run(&mut turn, &mut self.scratch, &mut note);
            self.messages += turn.messages;
            self.error = self.error.take().or(turn.error);
            if self.error.is_some() || stop.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    /// Messages for one of this domain's blocks.
    pub fn accept(&mut self, block: u32, parcel: Parcel<MessageOf<P, O::Stamp>>, frame: &Frame) {
        let index = block - self.first_block;
        let due = &mut self.due;
        let mut note = |window: u64| due.entry(window).or_default().push(index);
        self.blocks[index as usize].accept(parcel, frame, &mut self.chunks, &mut note);
    }

    /// Gives back the memory of messages once none is left.
    pub fn free_messages(&mut self) {
        self.outgoing = Outgoing::default();
        self.chunks.clear();
        self.scratch = Scratch::new(0);
    }

    /// Gives up the processes one block after the other.
    pub fn conclude(self, program: &P, network: &Network) -> Concluded<O> {
        let mut concluded =
            Concluded { finish: Vec::new(), remains: Remains::default(), observer: self.observer };
        for block in self.blocks {
            block.conclude(program, network, &mut concluded.finish, &mut concluded.remains);
        }
        concluded
    }
}

/// What is left of a domain when nothing happens any more.
#[derive(Debug)]
pub(super) struct Concluded<O> {
    /// By rank.
    pub finish: Vec<Time>,
    pub remains: Remains,
    pub observer: O,
}
