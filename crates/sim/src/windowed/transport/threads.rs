//! The parts of a run as threads of one process, which may be a member of a cluster.
//!
//! ```text
//! alone:        settle ─► publish ─► barrier ─► read what all have published
//! in a cluster: settle ─► publish ─► barrier ─► the first part agrees with the other processes ─► barrier ─► read what they agreed on
//! ```
//! Messages to other processes leave as soon as a buffer is full, through the first part, which alone talks to the
//! cluster; arriving ones are unpacked between two blocks. So messages travel while the window runs, and few bytes
//! are buffered.

use super::super::calendar::Chunks;
use super::super::layout::Layout;
use super::super::outgoing::Parcel;
use super::barrier::Barrier;
use super::{Agreed, State, Transport, wire};
use crate::cluster::Cluster;
use crate::message::Timed;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Reported instead of a window by a part that failed; windows are reported plus one.
const FAILED: u64 = 0;
const NEVER: u64 = u64::MAX;

/// A buffer for another process is sent once it has this many bytes. It is small enough to stay in the caches until
/// it is read again.
const LARGEST: usize = 128 << 10;

/// State shared by the threads. Everything exists twice, for even and odd agreements: a thread that is ahead writes
/// into one half while another still reads the other, and none can be two agreements ahead.
#[derive(Debug)]
pub(in super::super) struct Threads<M> {
    barrier: Barrier,
    halves: [Half<M>; 2],
    /// Buffers filled by parts other than the first, which sends them.
    outbound: Mutex<Freight>,
    pub layout: Layout,
    /// Whether the run is shared with other processes.
    clustered: bool,
}

/// Parcels for one part, each with its block.
type Letters<M> = Vec<(u32, Parcel<M>)>;
/// Bytes for other processes, each with the number of the process.
type Freight = Vec<(u32, Vec<u8>)>;

#[derive(Debug)]
struct Half<M> {
    published: Vec<Published>,
    /// By receiver, then sender.
    boxes: Vec<Mutex<Letters<M>>>,
    /// By part: what arrived from other processes. Each part searches all of it for its own parcels.
    arrived: Vec<Mutex<Vec<Arc<Vec<u8>>>>>,
    /// What all processes have agreed on: the window, and whether to write a checkpoint.
    agreed: AtomicU64,
    checkpoint: AtomicBool,
}

/// What a part reports for an agreement, in cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Published {
    due: AtomicU64,
    messages: AtomicU64,
    checkpoint: AtomicBool,
}

impl<M> Threads<M> {
    pub fn new(layout: Layout, clustered: bool) -> Threads<M> {
        let parts = layout.parts();
        let half = || Half {
            published: (0..parts).map(|_| Published::default()).collect(),
            boxes: (0..parts * parts).map(|_| Mutex::default()).collect(),
            arrived: (0..parts).map(|_| Mutex::default()).collect(),
            agreed: AtomicU64::new(NEVER),
            checkpoint: AtomicBool::new(false),
        };
        let (barrier, halves) = (Barrier::new(parts), [half(), half()]);
        Threads { barrier, halves, outbound: Mutex::default(), layout, clustered }
    }

    fn parts(&self) -> usize {
        self.layout.parts()
    }

    /// The end of one part, to be used by one thread. The end of the first part exchanges messages with the cluster.
    pub fn end<'b>(&'b self, part: usize, cluster: Option<&'b dyn Cluster>) -> End<'b, M> {
        let outbox = (0..self.parts()).map(|_| Vec::new()).collect();
        End {
            threads: self,
            part,
            half: 0,
            cluster,
            outbox,
            open: Vec::new(),
            came: Vec::new(),
            messages: 0,
            checkpoint: false,
        }
    }
}

pub(in super::super) struct End<'a, M> {
    threads: &'a Threads<M>,
    part: usize,
    /// The half used by the next agreement.
    half: usize,
    cluster: Option<&'a dyn Cluster>,
    /// By receiver.
    outbox: Vec<Letters<M>>,
    /// By process: the buffer that is being filled for it.
    open: Vec<Vec<u8>>,
    /// Unpacked parcels from other processes.
    came: Letters<M>,
    messages: u64,
    checkpoint: bool,
}

impl<M> End<'_, M> {
    fn letters(&self, half: usize, to: usize, from: usize) -> &Mutex<Letters<M>> {
        &self.threads.halves[half].boxes[to * self.threads.parts() + from]
    }

    /// Hands the outgoing messages of this part to the others.
    fn hand_over(&mut self) {
        for to in 0..self.outbox.len() {
            if !self.outbox[to].is_empty() {
                let letters = std::mem::take(&mut self.outbox[to]);
                *lock(self.letters(self.half, to, self.part)) = letters;
            }
        }
        for member in 0..self.open.len() {
            self.ship(member as u32);
        }
    }

    /// Sends the buffer for another process.
    fn ship(&mut self, member: u32) {
        let bytes = std::mem::take(&mut self.open[member as usize]);
        match self.cluster {
            _ if bytes.is_empty() => {}
            Some(cluster) => cluster.send(member, bytes),
            None => lock(&self.threads.outbound).push((member, bytes)),
        }
    }

    /// Gives bytes from another process to all parts, which search them for their own parcels.
    fn deal_out(&self, bytes: Vec<u8>) {
        let bytes = Arc::new(bytes);
        let arrived = &self.threads.halves[self.half].arrived;
        arrived.iter().for_each(|arrived| lock(arrived).push(bytes.clone()));
    }

    /// Sends the buffers that the other parts have filled.
    fn ship_outbound(&self, cluster: &dyn Cluster) {
        let outbound = std::mem::take(&mut *lock(&self.threads.outbound));
        outbound.into_iter().for_each(|(member, bytes)| cluster.send(member, bytes));
    }

    fn publish(&self, State { due, messages, failed, checkpoint }: State) {
        let published = &self.threads.halves[self.half].published[self.part];
        let due = if failed { FAILED } else { due.saturating_add(1) };
        published.due.store(due, Ordering::Relaxed);
        published.messages.store(messages, Ordering::Relaxed);
        published.checkpoint.store(checkpoint, Ordering::Relaxed);
    }

    /// Whether a part of this process wants a checkpoint.
    fn checkpoint_wanted(&self) -> bool {
        let published = &self.threads.halves[self.half].published;
        published.iter().any(|published| published.checkpoint.load(Ordering::Relaxed))
    }

    /// The first of the windows that the parts of this process have reported.
    fn earliest(&self) -> u64 {
        let published = &self.threads.halves[self.half].published;
        published.iter().map(|published| published.due.load(Ordering::Relaxed)).min().unwrap_or(NEVER)
    }

    /// The window that the parts of this process, or of all processes, agree on. None if a thread has panicked.
    fn agree_on(&mut self, settle: &mut dyn FnMut() -> State) -> Option<u64> {
        let (threads, half) = (self.threads, &self.threads.halves[self.half]);
        self.hand_over();
        self.publish(settle());
        // The barrier orders what was stored before it and what is read after it.
        let mut all_there = threads.barrier.wait();
        if !threads.clustered {
            return all_there.then(|| self.earliest());
        }
        if let Some(cluster) = self.cluster {
            self.ship_outbound(cluster);
            let first = if all_there { self.earliest() } else { FAILED };
            // The cluster takes the maximum, so the window is inverted.
            let published = [!first, u64::from(self.checkpoint_wanted())];
            let agreed = cluster.agree(published, &mut |_, bytes| self.deal_out(bytes));
            half.agreed.store(!agreed[0], Ordering::Relaxed);
            half.checkpoint.store(agreed[1] > 0, Ordering::Relaxed);
        }
        all_there &= threads.barrier.wait();
        all_there.then(|| half.agreed.load(Ordering::Relaxed))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<M: bytemuck::Pod + Timed> End<'_, M> {
    /// Unpacks the parcels that arrived for this part before the agreement of a half.
    fn unpack(&mut self, half: usize, chunks: &mut Chunks<M>) {
        let arrived = std::mem::take(&mut *lock(&self.threads.halves[half].arrived[self.part]));
        for bytes in arrived {
            let mut rest = &bytes[..];
            while let Some((block, packed)) = wire::read(&mut rest) {
                if self.threads.layout.part(block) == Ok(self.part) {
                    self.came.push((block, packed.unpack(chunks)));
                }
            }
            assert!(rest.is_empty(), "a parcel from another member of the cluster is truncated");
        }
    }
}

impl<M: bytemuck::Pod + Timed> Transport<M> for End<'_, M> {
    fn send(&mut self, block: u32, parcel: Parcel<M>, chunks: &mut Chunks<M>) {
        match self.threads.layout.part(block) {
            Ok(part) => self.outbox[part].push((block, parcel)),
            Err(member) => {
                let place = member as usize;
                if self.open.len() <= place {
                    self.open.resize_with(place + 1, Vec::new);
                }
                wire::write(&mut self.open[place], block, parcel, chunks);
                if self.open[place].len() >= LARGEST {
                    self.ship(member);
                }
            }
        }
    }

    fn poll(&mut self, chunks: &mut Chunks<M>) {
        if let Some(cluster) = self.cluster {
            self.ship_outbound(cluster);
            cluster.poll(&mut |_, bytes| self.deal_out(bytes));
        }
        self.unpack(self.half, chunks);
    }

    fn agree(&mut self, settle: &mut dyn FnMut() -> State) -> Agreed {
        let Some(agreed) = self.agree_on(settle) else { return Agreed::Failed };
        let published = &self.threads.halves[self.half].published;
        self.checkpoint = match self.threads.clustered {
            true => self.threads.halves[self.half].checkpoint.load(Ordering::Relaxed),
            false => self.checkpoint_wanted(),
        };
        self.messages = published.iter().map(|published| published.messages.load(Ordering::Relaxed)).sum();
        self.half ^= 1;
        match agreed {
            FAILED => Agreed::Failed,
            NEVER => Agreed::Finished,
            window => Agreed::Window(window - 1),
        }
    }

    fn receive(&mut self, chunks: &mut Chunks<M>, mut take: impl FnMut(&mut Chunks<M>, u32, Parcel<M>)) {
        let half = self.half ^ 1;
        for from in (0..self.threads.parts()).filter(|&from| from != self.part) {
            let letters = std::mem::take(&mut *lock(self.letters(half, self.part, from)));
            letters.into_iter().for_each(|(block, parcel)| take(chunks, block, parcel));
        }
        self.unpack(half, chunks);
        self.came.drain(..).for_each(|(block, parcel)| take(chunks, block, parcel));
    }

    fn wants_checkpoint(&self) -> bool {
        self.checkpoint
    }

    fn messages(&self) -> u64 {
        self.messages
    }
}

impl<M> Drop for End<'_, M> {
    /// Releases the other threads if this one panics.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.threads.barrier.break_up();
        }
    }
}
