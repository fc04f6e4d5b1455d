//! Which messages arrive at a block of processes, and which processes wake, in which window.

use std::collections::BTreeMap;

/// Messages travel in chunks of this many, so that freed memory serves again at once. Small ones: a block that hears of
/// many windows ahead has a chunk open for each.
pub(super) const CHUNK: usize = 64;

pub(super) type Chunk<M> = Vec<M>;

/// How far ahead windows are found by their number alone.
const NEAR: u64 = 64;

/// What happens in one window. Chunks other than the last few may be partly filled.
#[derive(Debug)]
pub(super) struct Bucket<M> {
    pub chunks: Vec<Chunk<M>>,
    /// Processes with a local event, by their place in the block.
    pub wakes: Vec<u32>,
}

impl<M> Default for Bucket<M> {
    fn default() -> Self {
        Bucket { chunks: Vec::new(), wakes: Vec::new() }
    }
}

impl<M> Bucket<M> {
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.wakes.is_empty()
    }

    /// Messages and wakes.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(Vec::len).sum::<usize>() + self.wakes.len()
    }
}

/// Spare chunks of a part, up to a number: where messages go one way, the part that receives would collect them all.
#[derive(Debug)]
pub(super) struct Chunks<M> {
    spare: Vec<Chunk<M>>,
    most: usize,
}

impl<M> Chunks<M> {
    /// Reserves room for two messages per process.
    pub fn new(processes: usize) -> Self {
        Chunks { spare: Vec::new(), most: processes / CHUNK * 2 + 64 }
    }

    pub fn take(&mut self) -> Chunk<M> {
        self.spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK))
    }

    pub fn put(&mut self, mut chunk: Chunk<M>) {
        if self.spare.len() < self.most {
            chunk.clear();
            self.spare.push(chunk);
        }
    }

    /// Appends messages to a list of chunks.
    pub fn extend(&mut self, list: &mut Vec<Chunk<M>>, mut messages: &[M])
    where
        M: Copy,
    {
        while !messages.is_empty() {
            let mut chunk = match list.pop() {
                Some(chunk) if chunk.len() < CHUNK => chunk,
                Some(full) => {
                    list.push(full);
                    self.take()
                }
                None => self.take(),
            };
            let (more, rest) = messages.split_at(messages.len().min(CHUNK - chunk.len()));
            chunk.extend_from_slice(more);
            list.push(chunk);
            messages = rest;
        }
    }

    /// Appends a message to a list of chunks.
    #[inline(always)]
    pub fn push(&mut self, list: &mut Vec<Chunk<M>>, message: M) {
        match list.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(message),
            _ => {
                let mut chunk = self.take();
                chunk.push(message);
                list.push(chunk);
            }
        }
    }
}

/// The windows of one block: near ones in a ring, far ones in a map.
#[derive(Debug)]
pub(super) struct Calendar<M> {
    ring: Box<[Bucket<M>]>,
    far: BTreeMap<u64, Bucket<M>>,
}

impl<M> Calendar<M> {
    pub fn new() -> Self {
        Calendar { ring: (0..NEAR).map(|_| Bucket::default()).collect(), far: BTreeMap::new() }
    }

    /// The bucket of `window`, seen from window `now`; `now` itself has been taken already.
    #[inline(always)]
    pub fn bucket(&mut self, window: u64, now: u64) -> &mut Bucket<M> {
        debug_assert!(window > now);
        if window - now < NEAR {
            &mut self.ring[(window % NEAR) as usize]
        } else {
            self.far.entry(window).or_default()
        }
    }

    /// The nonempty buckets when window `next` is about to begin, with their windows.
    pub fn buckets(&self, next: u64) -> impl Iterator<Item = (u64, &Bucket<M>)> {
        let near =
            (next..next.saturating_add(NEAR)).map(|window| (window, &self.ring[(window % NEAR) as usize]));
        let far = self.far.iter().map(|(&window, bucket)| (window, bucket));
        far.chain(near).filter(|(_, bucket)| !bucket.is_empty())
    }

    /// Takes the bucket of the window that begins. What was noted while it was far is joined in front:
    /// it was noted first.
    pub fn take(&mut self, window: u64) -> Bucket<M> {
        let mut near = std::mem::take(&mut self.ring[(window % NEAR) as usize]);
        if !self.far.is_empty()
            && let Some(mut far) = self.far.remove(&window)
        {
            far.chunks.append(&mut near.chunks);
            far.wakes.append(&mut near.wakes);
            return far;
        }
        near
    }
}
