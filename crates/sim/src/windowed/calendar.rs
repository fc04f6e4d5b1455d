//! The calendar of a block: which messages arrive and which processes wake in which window.

use std::collections::BTreeMap;

/// Messages are stored in chunks of this many, so that freed memory is reused at once. Chunks are small because a
/// block may have an open chunk for each of many windows ahead.
pub(super) const CHUNK: usize = 64;

pub(super) type Chunk<M> = Vec<M>;

/// How many windows ahead are in the ring, where a window's number gives its place.
const NEAR: u64 = 64;

/// What happens in one window. Any chunk may be partly filled.
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

    /// The number of messages and wakes.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(Vec::len).sum::<usize>() + self.wakes.len()
    }
}

/// Spare chunks of a part, up to a limit: if messages go one way, the receiving part would collect all of them.
#[derive(Debug)]
pub(super) struct Chunks<M> {
    spare: Vec<Chunk<M>>,
    most: usize,
}

impl<M> Chunks<M> {
    /// Limits spare chunks to about two messages per process.
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

    /// The last of a list of chunks, with room for a message: who pushes it there can write it field by field.
    #[inline(always)]
    pub fn room<'l>(&mut self, list: &'l mut Vec<Chunk<M>>) -> &'l mut Chunk<M> {
        if list.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            list.push(self.take());
        }
        let last = list.len() - 1;
        &mut list[last]
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
    /// Window → place in `buckets`, so that only one kind of map is compiled for all messages.
    far: BTreeMap<u64, usize>,
    buckets: Vec<Bucket<M>>,
    /// Places in `buckets` to use again.
    vacant: Vec<usize>,
}

impl<M> Calendar<M> {
    pub fn new() -> Self {
        let ring = (0..NEAR).map(|_| Bucket::default()).collect();
        Calendar { ring, far: BTreeMap::new(), buckets: Vec::new(), vacant: Vec::new() }
    }

    /// The bucket of `window`, seen from window `now`; `now` itself has been taken already.
    #[inline(always)]
    pub fn bucket(&mut self, window: u64, now: u64) -> &mut Bucket<M> {
        debug_assert!(window > now);
        if window - now < NEAR { &mut self.ring[(window % NEAR) as usize] } else { self.far_bucket(window) }
    }

    fn far_bucket(&mut self, window: u64) -> &mut Bucket<M> {
        let place = *self.far.entry(window).or_insert_with(|| {
            self.vacant.pop().unwrap_or_else(|| {
                self.buckets.push(Bucket::default());
                self.buckets.len() - 1
            })
        });
        &mut self.buckets[place]
    }

    /// The nonempty buckets when window `next` is about to begin, with their windows.
    pub fn buckets(&self, next: u64) -> impl Iterator<Item = (u64, &Bucket<M>)> {
        let near =
            (next..next.saturating_add(NEAR)).map(|window| (window, &self.ring[(window % NEAR) as usize]));
        let far = self.far.iter().map(|(&window, &place)| (window, &self.buckets[place]));
        far.chain(near).filter(|(_, bucket)| !bucket.is_empty())
    }

    /// Takes the bucket of the window that begins. Entries from when it was far come first, since they were added
    /// first.
    pub fn take(&mut self, window: u64) -> Bucket<M> {
        let mut near = std::mem::take(&mut self.ring[(window % NEAR) as usize]);
        if !self.far.is_empty()
            && let Some(place) = self.far.remove(&window)
        {
            let mut far = std::mem::take(&mut self.buckets[place]);
            self.vacant.push(place);
            far.chunks.append(&mut near.chunks);
            far.wakes.append(&mut near.wakes);
            return far;
        }
        near
    }
}
