//! Messages that leave the processes of a part, sorted by the block they go to.

use super::calendar::{Chunk, Chunks};
use super::frame::Frame;
use crate::message::Timed;

#[derive(Debug)]
pub(super) struct Outgoing<M> {
    /// The parcel for each block of the run.
    parcels: Vec<Parcel<M>>,
    /// The blocks whose parcels are not empty.
    touched: Vec<u32>,
}

/// The messages for one block.
#[derive(Debug)]
pub(super) struct Parcel<M> {
    /// The chunk for the next window that is being filled, or one without memory.
    open: Chunk<M>,
    full: Vec<Chunk<M>>,
    /// Messages that arrive after the next window.
    later: Vec<M>,
}

impl<M> Default for Parcel<M> {
    fn default() -> Self {
        Parcel { open: Vec::new(), full: Vec::new(), later: Vec::new() }
    }
}

impl<M: Timed> Parcel<M> {
    /// Makes a parcel from its parts.
    pub fn of_parts(full: Vec<Chunk<M>>, later: Vec<M>) -> Parcel<M> {
        Parcel { open: Vec::new(), full, later }
    }

    /// The chunks for the next window, in order, and the later messages.
    pub fn into_parts(mut self) -> (Vec<Chunk<M>>, Vec<M>) {
        if !self.open.is_empty() {
            self.full.push(self.open);
        }
        (self.full, self.later)
    }

    /// Whether any of it arrives soon.
    pub fn has_soon(&self) -> bool {
        !self.open.is_empty() || !self.full.is_empty()
    }

    /// The first window in which any of it arrives.
    pub fn first_window(&self, frame: &Frame) -> u64 {
        if self.has_soon() {
            return frame.window + 1;
        }
        let first = self.later.iter().map(M::arrival).min();
        first.map_or(u64::MAX, |arrival| frame.window_of(arrival))
    }
}

impl<M> Outgoing<M> {
    pub fn new(blocks: usize) -> Self {
        Outgoing { parcels: (0..blocks).map(|_| Parcel::default()).collect(), touched: Vec::new() }
    }

    pub fn push(&mut self, chunks: &mut Chunks<M>, block: u32, soon: bool, message: M) {
        if soon {
            return self.push_soon(chunks, block, message);
        }
        self.room_later(block).push(message);
    }

    /// Adds a message that arrives in the next window. The slow path only makes room and does not take the message,
    /// so that it can be written field by field.
    #[inline(always)]
    pub fn push_soon(&mut self, chunks: &mut Chunks<M>, block: u32, message: M) {
        let mut parcel = &mut self.parcels[block as usize];
        if parcel.open.len() == parcel.open.capacity() {
            self.make_room(chunks, block);
            parcel = &mut self.parcels[block as usize];
        }
        parcel.open.push(message);
    }

    /// Where the next message to a block goes if it arrives in the next window.
    #[inline(always)]
    pub fn room_soon(&mut self, chunks: &mut Chunks<M>, block: u32) -> &mut Chunk<M> {
        let parcel = &self.parcels[block as usize];
        if parcel.open.len() == parcel.open.capacity() {
            self.make_room(chunks, block);
        }
        &mut self.parcels[block as usize].open
    }

    /// Where the next message to a block goes if it arrives later.
    pub fn room_later(&mut self, block: u32) -> &mut Vec<M> {
        self.touch(block);
        &mut self.parcels[block as usize].later
    }

    fn touch(&mut self, block: u32) {
        let parcel = &self.parcels[block as usize];
        if parcel.open.is_empty() && parcel.later.is_empty() {
            self.touched.push(block);
        }
    }

    #[inline(never)]
    fn make_room(&mut self, chunks: &mut Chunks<M>, block: u32) {
        self.touch(block);
        let parcel = &mut self.parcels[block as usize];
        let full = std::mem::replace(&mut parcel.open, chunks.take());
        if !full.is_empty() {
            parcel.full.push(full);
        }
    }

    /// Takes the parcel for a block that [`Outgoing::take_touched`] has named.
    pub fn take(&mut self, block: u32) -> Parcel<M> {
        std::mem::take(&mut self.parcels[block as usize])
    }

    /// Takes one of the blocks whose parcels are no longer empty.
    #[inline(always)]
    pub fn take_touched(&mut self) -> Option<u32> {
        self.touched.pop()
    }

    /// Takes every parcel, with the block it goes to.
    pub fn drain(&mut self) -> impl Iterator<Item = (u32, Parcel<M>)> + '_ {
        self.drain_if(|_| true)
    }

    /// Takes the parcels for the blocks that are `wanted`.
    pub fn drain_if(&mut self, wanted: impl Fn(u32) -> bool) -> impl Iterator<Item = (u32, Parcel<M>)> {
        let parcels = &mut self.parcels;
        let taken = self.touched.extract_if(.., move |block| wanted(*block));
        taken.map(|block| (block, std::mem::take(&mut parcels[block as usize])))
    }
}
