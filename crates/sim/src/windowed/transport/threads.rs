//! The parts of a run as threads of one process, which may be one of several that run it together.
//!
//! ```text
//! alone:       settle ─► say ─► barrier ─► read what all have said
//! in a cluster: hand over what leaves the process ─► barrier ─► settle ─► say ─► barrier ─► read
//!                                                      └ the first part exchanges it meanwhile ┘
//! ```

use super::super::layout::Layout;
use super::super::outgoing::Parcel;
use super::barrier::Barrier;
use super::{Agreed, Delivery, State, Transport, wire};
use crate::cluster::Cluster;
use crate::message::Timed;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Said instead of a window by a part that failed; windows are said plus one.
const FAILED: u64 = 0;
const NEVER: u64 = u64::MAX;

/// A buffer for another process is sent on its own once it has so many bytes.
const LARGEST: usize = 64 << 20;

/// What the threads share. Everything is there twice, for even and odd agreements: a thread that is ahead writes into
/// one half while another still reads the other, and none can be two agreements ahead.
#[derive(Debug)]
pub(in super::super) struct Threads<M> {
    barrier: Barrier,
    halves: [Half<M>; 2],
    pub layout: Layout,
    /// Whether other processes run other parts.
    clustered: bool,
}

/// Parcels for one part, each with its block.
type Letters<M> = Vec<(u32, Parcel<M>)>;
/// Bytes for other processes, each with its number.
type Freight = Vec<(u32, Vec<u8>)>;

#[derive(Debug)]
struct Half<M> {
    said: Vec<Said>,
    /// By receiver, then sender.
    boxes: Vec<Mutex<Letters<M>>>,
    /// By part: what it sends to other processes.
    freight: Vec<Mutex<Freight>>,
    /// By part: what came from other processes. Everybody looks for its own parcels in all of it.
    arrived: Vec<Mutex<Vec<Arc<Vec<u8>>>>>,
    /// What all processes have agreed on: the window, and whether it is time for a checkpoint.
    agreed: AtomicU64,
    checkpoint: AtomicBool,
}

/// What a part says at an agreement, alone in its cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Said {
    due: AtomicU64,
    messages: AtomicU64,
    checkpoint: AtomicBool,
}

impl<M> Threads<M> {
    pub fn new(layout: Layout, clustered: bool) -> Threads<M> {
        let parts = layout.parts();
        let half = || Half {
            said: (0..parts).map(|_| Said::default()).collect(),
            boxes: (0..parts * parts).map(|_| Mutex::default()).collect(),
            freight: (0..parts).map(|_| Mutex::default()).collect(),
            arrived: (0..parts).map(|_| Mutex::default()).collect(),
            agreed: AtomicU64::new(NEVER),
            checkpoint: AtomicBool::new(false),
        };
        Threads { barrier: Barrier::new(parts), halves: [half(), half()], layout, clustered }
    }

    fn parts(&self) -> usize {
        self.layout.parts()
    }

    /// The end of one part. Each is to be used by one thread; that of the first part exchanges messages with the cluster.
    pub fn end<'b>(&'b self, part: usize, cluster: Option<&'b dyn Cluster>) -> End<'b, M> {
        let outbox = (0..self.parts()).map(|_| Vec::new()).collect();
        End {
            threads: self,
            part,
            half: 0,
            cluster,
            outbox,
            freight: Vec::new(),
            messages: 0,
            checkpoint: false,
        }
    }
}

pub(in super::super) struct End<'a, M> {
    threads: &'a Threads<M>,
    part: usize,
    /// The half in which the next agreement is made.
    half: usize,
    cluster: Option<&'a dyn Cluster>,
    /// By receiver.
    outbox: Vec<Letters<M>>,
    freight: Freight,
    messages: u64,
    checkpoint: bool,
}

impl<M> End<'_, M> {
    fn letters(&self, half: usize, to: usize, from: usize) -> &Mutex<Letters<M>> {
        &self.threads.halves[half].boxes[to * self.threads.parts() + from]
    }

    /// Puts what leaves this part where the others find it.
    fn hand_over(&mut self) {
        for to in 0..self.outbox.len() {
            if !self.outbox[to].is_empty() {
                let letters = std::mem::take(&mut self.outbox[to]);
                *lock(self.letters(self.half, to, self.part)) = letters;
            }
        }
        if !self.freight.is_empty() {
            *lock(&self.threads.halves[self.half].freight[self.part]) = std::mem::take(&mut self.freight);
        }
    }

    fn say(&self, State { due, messages, failed, checkpoint }: State) {
        let said = &self.threads.halves[self.half].said[self.part];
        let due = if failed { FAILED } else { due.saturating_add(1) };
        said.due.store(due, Ordering::Relaxed);
        said.messages.store(messages, Ordering::Relaxed);
        said.checkpoint.store(checkpoint, Ordering::Relaxed);
    }

    /// Whether a part of this process has said that it is time for a checkpoint.
    fn checkpoint_said(&self) -> bool {
        let said = &self.threads.halves[self.half].said;
        said.iter().any(|said| said.checkpoint.load(Ordering::Relaxed))
    }

    /// The first of the windows that the parts of this process have said.
    fn first_said(&self) -> u64 {
        let said = &self.threads.halves[self.half].said;
        said.iter().map(|said| said.due.load(Ordering::Relaxed)).min().unwrap_or(NEVER)
    }

    /// What the parts of this process agree on, or of all processes. Nothing if a thread has panicked.
    fn agree_on(&mut self, settle: &mut dyn FnMut() -> State) -> Option<u64> {
        let (threads, half) = (self.threads, &self.threads.halves[self.half]);
        self.hand_over();
        if !threads.clustered {
            self.say(settle());
            // The barrier orders what was stored before it and what is read after it.
            return threads.barrier.wait().then(|| self.first_said());
        }
        if !threads.barrier.wait() {
            return None;
        }
        let Some(cluster) = self.cluster else {
            self.say(settle());
            let all_there = threads.barrier.wait() && threads.barrier.wait();
            return all_there.then(|| half.agreed.load(Ordering::Relaxed));
        };
        let freight = half.freight.iter().flat_map(|freight| std::mem::take(&mut *lock(freight))).collect();
        let mut take = |_, bytes: Vec<u8>| {
            let bytes = Arc::new(bytes);
            half.arrived.iter().for_each(|arrived| lock(arrived).push(bytes.clone()));
        };
        let mut all_there = true;
        let mut said = || {
            self.say(settle());
            all_there = threads.barrier.wait();
            // The largest is taken of all processes.
            let first = if all_there { self.first_said() } else { FAILED };
            [!first, u64::from(self.checkpoint_said())]
        };
        let agreed = cluster.exchange(freight, &mut said, &mut take);
        half.agreed.store(!agreed[0], Ordering::Relaxed);
        half.checkpoint.store(agreed[1] > 0, Ordering::Relaxed);
        (threads.barrier.wait() && all_there).then_some(!agreed[0])
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<M: bytemuck::Pod + Timed> Transport<M> for End<'_, M> {
    fn send(&mut self, block: u32, parcel: Parcel<M>) {
        match self.threads.layout.part(block) {
            Ok(part) => self.outbox[part].push((block, parcel)),
            Err(member) => {
                let open =
                    self.freight.iter_mut().rfind(|(to, bytes)| *to == member && bytes.len() < LARGEST);
                match open {
                    Some((_, bytes)) => wire::write(bytes, block, parcel),
                    None => {
                        let mut bytes = Vec::new();
                        wire::write(&mut bytes, block, parcel);
                        self.freight.push((member, bytes));
                    }
                }
            }
        }
    }

    fn agree(&mut self, settle: &mut dyn FnMut() -> State) -> Agreed {
        let Some(agreed) = self.agree_on(settle) else { return Agreed::Failed };
        let said = &self.threads.halves[self.half].said;
        self.checkpoint = match self.threads.clustered {
            true => self.threads.halves[self.half].checkpoint.load(Ordering::Relaxed),
            false => self.checkpoint_said(),
        };
        self.messages = said.iter().map(|said| said.messages.load(Ordering::Relaxed)).sum();
        self.half ^= 1;
        match agreed {
            FAILED => Agreed::Failed,
            NEVER => Agreed::Finished,
            window => Agreed::Window(window - 1),
        }
    }

    fn receive(&mut self, mut take: impl FnMut(u32, Delivery<'_, M>)) {
        let half = self.half ^ 1;
        for from in (0..self.threads.parts()).filter(|&from| from != self.part) {
            let letters = std::mem::take(&mut *lock(self.letters(half, self.part, from)));
            letters.into_iter().for_each(|(block, parcel)| take(block, Delivery::Parcel(parcel)));
        }
        let arrived = std::mem::take(&mut *lock(&self.threads.halves[half].arrived[self.part]));
        for bytes in arrived {
            let mut rest = &bytes[..];
            while let Some((block, delivery)) = wire::read(&mut rest) {
                if self.threads.layout.part(block) == Ok(self.part) {
                    take(block, delivery);
                }
            }
            debug_assert!(rest.is_empty(), "a parcel is cut off");
        }
    }

    fn wants_checkpoint(&self) -> bool {
        self.checkpoint
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
