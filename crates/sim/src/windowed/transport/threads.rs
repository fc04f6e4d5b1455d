//! The parts of a run as threads of one process.

use super::super::outgoing::Parcel;
use super::barrier::Barrier;
use super::{Agreed, Transport};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Said instead of a window by a part that failed; windows are said plus one.
const FAILED: u64 = 0;
const NEVER: u64 = u64::MAX;

/// What the threads share. Everything is there twice, for even and odd agreements: a thread that is ahead writes into
/// one half while another still reads the other, and none can be two agreements ahead.
#[derive(Debug)]
pub(in super::super) struct Threads<M> {
    barrier: Barrier,
    halves: [Half<M>; 2],
    /// The first block of every part, and the number of blocks.
    edges: Vec<u32>,
}

/// Parcels for one part, each with its block.
type Letters<M> = Vec<(u32, Parcel<M>)>;

#[derive(Debug)]
struct Half<M> {
    said: Vec<Said>,
    /// By receiver, then sender.
    boxes: Vec<Mutex<Letters<M>>>,
}

/// What a part says at an agreement, alone in its cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Said {
    due: AtomicU64,
    messages: AtomicU64,
}

impl<M> Threads<M> {
    /// `edges` holds the first block of every part, and the number of blocks.
    pub fn new(edges: Vec<u32>) -> Threads<M> {
        let parts = edges.len().saturating_sub(1);
        let half = || Half {
            said: (0..parts).map(|_| Said::default()).collect(),
            boxes: (0..parts * parts).map(|_| Mutex::default()).collect(),
        };
        Threads { barrier: Barrier::new(parts), halves: [half(), half()], edges }
    }

    pub fn parts(&self) -> usize {
        self.edges.len() - 1
    }

    /// The end of one part. Each is to be used by one thread.
    pub fn end(&self, part: usize) -> End<'_, M> {
        let outbox = (0..self.parts()).map(|_| Vec::new()).collect();
        End { threads: self, part, half: 0, outbox, messages: 0 }
    }
}

#[derive(Debug)]
pub(in super::super) struct End<'a, M> {
    threads: &'a Threads<M>,
    part: usize,
    /// The half in which the next agreement is made.
    half: usize,
    /// By receiver.
    outbox: Vec<Letters<M>>,
    messages: u64,
}

impl<M> End<'_, M> {
    fn letters(&self, half: usize, to: usize, from: usize) -> &Mutex<Letters<M>> {
        &self.threads.halves[half].boxes[to * self.threads.parts() + from]
    }
}

impl<M: bytemuck::Pod> Transport<M> for End<'_, M> {
    fn send(&mut self, block: u32, parcel: Parcel<M>) {
        let owner = self.threads.edges.partition_point(|&edge| edge <= block) - 1;
        self.outbox[owner].push((block, parcel));
    }

    fn agree(&mut self, due: u64, messages: u64, failed: bool) -> Agreed {
        for to in 0..self.outbox.len() {
            if !self.outbox[to].is_empty() {
                let letters = std::mem::take(&mut self.outbox[to]);
                *self.letters(self.half, to, self.part).lock().unwrap_or_else(PoisonError::into_inner) =
                    letters;
            }
        }
        let said = &self.threads.halves[self.half].said;
        let due = if failed { FAILED } else { due.saturating_add(1) };
        said[self.part].due.store(due, Ordering::Relaxed);
        said[self.part].messages.store(messages, Ordering::Relaxed);
        // The barrier orders what was stored before it and what is read after it.
        if !self.threads.barrier.wait() {
            return Agreed::Failed;
        }
        self.half ^= 1;
        self.messages = said.iter().map(|said| said.messages.load(Ordering::Relaxed)).sum();
        match said.iter().map(|said| said.due.load(Ordering::Relaxed)).min().unwrap_or(NEVER) {
            FAILED => Agreed::Failed,
            NEVER => Agreed::Finished,
            window => Agreed::Window(window - 1),
        }
    }

    fn receive(&mut self, mut take: impl FnMut(u32, Parcel<M>)) {
        for from in (0..self.threads.parts()).filter(|&from| from != self.part) {
            let letters = self.letters(self.half ^ 1, self.part, from);
            let letters = std::mem::take(&mut *letters.lock().unwrap_or_else(PoisonError::into_inner));
            letters.into_iter().for_each(|(block, parcel)| take(block, parcel));
        }
    }

    fn messages(&self) -> u64 {
        self.messages
    }
}

impl<M> Drop for End<'_, M> {
    /// A thread that panics lets the others go.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.threads.barrier.break_up();
        }
    }
}
