//! The agenda of a process that may have anything ready.
//!
//! Ready operations stand in a line for each kind, in the order in which they will run whatever happens meanwhile: then
//! only the heads of the three lines can be next. A line has such an order while its operations want the same CPU and
//! NIC and became ready in the order in which they were created, which is nearly always so. What does not fit goes
//! into [`Unordered`], until nothing is left there.

use super::Agenda;
use super::lists::{List, Slab};
use super::matching::{Indexed, meet};
use super::pending::Pending;
use super::unordered::Unordered;
use crate::host::Host;
use crate::message::{Early, Full};
use crate::order::Key;
use crate::prefetch::prefetch;
use crate::release::Release;
use straggler_model::{Rank, Tag, Time};
use straggler_schedule::OperationKind;

/// Looking further than this through posted receives or early messages makes an index of them.
const FAR: u32 = 32;
/// Looking further than this for the place of a ready operation gives the lines up.
const NEAR: u32 = 24;

/// Ready operations, posted receives and early messages of one process.
#[derive(Debug)]
pub struct Queues {
    /// The heads of the lines: sends, receives, computations.
    heads: [Pending; 3],
    /// Those behind the heads.
    lines: [List; 3],
    posted: List,
    early: List,
    more: Option<Box<More>>,
    sent: u32,
    /// One bit for each line that has a head, or [`UNORDERED`].
    present: u8,
    /// The line whose head `next` has found.
    found: u8,
}

/// Set while ready operations are in [`More`] instead of the lines.
const UNORDERED: u8 = 1 << 3;

/// What few processes need.
#[derive(Debug, Default)]
struct More {
    ready: Unordered,
    /// While it has any, all posted receives are here.
    posted: Indexed<u32>,
    /// While it has any, all early messages are here.
    early: Indexed<Early>,
}

/// What the queues of neighbouring processes lie in.
#[derive(Debug, Default)]
pub struct QueuePool {
    ready: Slab<Pending>,
    posted: Slab<Posted>,
    early: Slab<Early>,
}

#[derive(Clone, Copy, Debug)]
struct Posted {
    pattern: (Rank, Tag),
    id: u32,
}

const KINDS: [OperationKind; 3] = [OperationKind::Send, OperationKind::Recv, OperationKind::Calc];

impl Default for Queues {
    fn default() -> Self {
        Queues {
            heads: KINDS.map(|kind| Pending { ready: Time::ZERO, created: Time::ZERO, id: 0, kind, cpu: 0, nic: 0 }),
            lines: Default::default(),
            posted: List::default(),
            early: List::default(),
            more: None,
            sent: 0,
            present: 0,
            found: 0,
        }
    }
}

impl Queues {
    /// An operation that is not alone: finds its place, or gives the lines up.
    #[inline(never)]
    fn insert(&mut self, pool: &mut QueuePool, pending: Pending) {
        if self.present & UNORDERED != 0 {
            return self.unordered().push(pending);
        }
        let kind = pending.kind as usize - 1;
        let (head, line) = (&mut self.heads[kind], &mut self.lines[kind]);
        if line.last(&pool.ready).unwrap_or(head).always_before(&pending) {
            return line.push(&mut pool.ready, pending);
        }
        if pending.always_before(head) {
            let second = std::mem::replace(head, pending);
            return line.insert(&mut pool.ready, line.start(), second);
        }
        let (cursor, far) = line.find(&pool.ready, NEAR, |known| !known.stands_before(&pending));
        let fits = cursor.previous(&pool.ready).unwrap_or(head).always_before(&pending)
            && cursor.item(&pool.ready).is_none_or(|known| pending.always_before(known));
        if fits && !far {
            return line.insert(&mut pool.ready, cursor, pending);
        }
        self.give_up_lines(pool, pending);
    }

    fn give_up_lines(&mut self, pool: &mut QueuePool, pending: Pending) {
        let present = std::mem::replace(&mut self.present, UNORDERED);
        let unordered = &mut self.more.get_or_insert_default().ready;
        unordered.push(pending);
        for (kind, line) in self.lines.iter_mut().enumerate() {
            if present & 1 << kind != 0 {
                unordered.push(self.heads[kind]);
            }
            while let Some(pending) = line.pop(&mut pool.ready) {
                unordered.push(pending);
            }
        }
    }

    fn unordered(&mut self) -> &mut Unordered {
        &mut self.more.get_or_insert_default().ready
    }

    #[inline(never)]
    fn take_unordered(&mut self) -> (OperationKind, u32) {
        let unordered = self.unordered();
        let taken = unordered.take();
        if unordered.is_empty() {
            self.present = 0;
        }
        taken
    }

    #[inline(always)]
    fn take_early(&mut self, pool: &mut QueuePool, pattern: (Rank, Tag)) -> Option<Early> {
        if let Some(more) = &mut self.more
            && !more.early.is_empty()
        {
            return more.early.take(pattern);
        }
        if self.early.is_empty() {
            return None;
        }
        let is_it = |early: &Early| meet(pattern, (early.from, early.tag));
        let (cursor, far) = self.early.find(&pool.early, FAR, is_it);
        let early = cursor.item(&pool.early).is_some().then(|| self.early.remove(&mut pool.early, cursor));
        if far {
            self.index_early(pool);
        }
        early
    }

    #[inline(always)]
    fn take_posted(&mut self, pool: &mut QueuePool, pattern: (Rank, Tag)) -> Option<u32> {
        if let Some(more) = &mut self.more
            && !more.posted.is_empty()
        {
            return more.posted.take(pattern);
        }
        let (cursor, far) = self.posted.find(&pool.posted, FAR, |posted| meet(posted.pattern, pattern));
        let found = cursor.item(&pool.posted).is_some();
        let posted = found.then(|| self.posted.remove(&mut pool.posted, cursor).id);
        if far {
            self.index_posted(pool);
        }
        posted
    }

    #[inline(never)]
    fn index_early(&mut self, pool: &mut QueuePool) {
        let more = self.more.get_or_insert_default();
        while let Some(early) = self.early.pop(&mut pool.early) {
            more.early.push((early.from, early.tag), early);
        }
    }

    #[inline(never)]
    fn index_posted(&mut self, pool: &mut QueuePool) {
        let more = self.more.get_or_insert_default();
        while let Some(Posted { pattern, id }) = self.posted.pop(&mut pool.posted) {
            more.posted.push(pattern, id);
        }
    }
}

impl Agenda for Queues {
    type Pool = QueuePool;
    type Body = Full;

    #[inline(always)]
    fn release(&mut self, pool: &mut QueuePool, release: &Release, created: Time, host: &impl Host) {
        let ready = release.ready.max(host.cpu(release.cpu).free);
        let Release { id, kind, cpu, nic, .. } = *release;
        let pending = Pending { ready, created, id, kind, cpu, nic };
        let bit = 1 << (kind as u8 - 1);
        if self.present & (bit | UNORDERED) == 0 {
            self.heads[kind as usize - 1] = pending;
            self.present |= bit;
        } else {
            self.insert(pool, pending);
        }
    }

    #[inline(always)]
    fn next(&mut self, host: &impl Host) -> Time {
        if self.present == 0 {
            return Time::NEVER;
        }
        if self.present & UNORDERED != 0 {
            return self.unordered().next(host);
        }
        // A later kind goes first only by an earlier time, or by an earlier creation at the same.
        let (mut eligible, mut created) = (Time::NEVER, Time::NEVER);
        for (line, kind) in KINDS.into_iter().enumerate() {
            if self.present & 1 << line != 0 {
                let head = &self.heads[line];
                let time = head.eligible(kind, host);
                if time < eligible || time == eligible && head.created < created {
                    (eligible, created) = (time, head.created);
                    self.found = line as u8;
                }
            }
        }
        eligible
    }

    fn key(&self, host: &impl Host) -> Key {
        match &self.more {
            _ if self.present == 0 => Key::LAST,
            Some(more) if self.present & UNORDERED != 0 => more.ready.key(host),
            _ => self.heads[usize::from(self.found) % 3].key(host),
        }
    }

    #[inline(always)]
    fn take(&mut self, pool: &mut QueuePool, _: &impl Host, _: Time) -> (OperationKind, u32) {
        if self.present & UNORDERED != 0 {
            return self.take_unordered();
        }
        let line = usize::from(self.found) % 3;
        let id = self.heads[line].id;
        match self.lines[line].pop(&mut pool.ready) {
            Some(next) => self.heads[line] = next,
            None => self.present &= !(1 << line),
        }
        (KINDS[line], id)
    }

    #[inline(always)]
    fn count_send(&mut self) -> u32 {
        self.sent = self.sent.wrapping_add(1);
        self.sent
    }

    #[inline(always)]
    fn post(&mut self, pool: &mut QueuePool, id: u32, source: Rank, tag: Tag) -> Option<Early> {
        let pattern = (source, tag);
        let early = self.take_early(pool, pattern);
        if early.is_none() {
            match &mut self.more {
                Some(more) if !more.posted.is_empty() => more.posted.push(pattern, id),
                _ => self.posted.push(&mut pool.posted, Posted { pattern, id }),
            }
        }
        early
    }

    #[inline(always)]
    fn arrive(
        &mut self,
        pool: &mut QueuePool,
        early: Early,
        _: impl Fn(u32) -> (Rank, Tag),
    ) -> Option<u32> {
        let pattern = (early.from, early.tag);
        let posted = self.take_posted(pool, pattern);
        if posted.is_none() {
            match &mut self.more {
                Some(more) if !more.early.is_empty() => more.early.push(pattern, early),
                _ => self.early.push(&mut pool.early, early),
            }
        }
        posted
    }

    #[inline(always)]
    fn prefetch(&self, pool: &QueuePool) -> Option<u32> {
        self.early.first(&pool.early).into_iter().for_each(prefetch);
        let ready = || (self.present & 1 != 0).then_some(self.heads[0].id);
        self.posted.first(&pool.posted).map(|posted| posted.id).or_else(ready)
    }

    fn is_idle(&self) -> bool {
        self.present == 0
    }

    fn posted(&self, pool: &QueuePool) -> Vec<u32> {
        let indexed = self.more.iter().flat_map(|more| more.posted.items());
        indexed.chain(self.posted.items(&pool.posted).map(|posted| posted.id)).collect()
    }

    fn unreceived(&self, pool: &QueuePool) -> Vec<Early> {
        let indexed = self.more.iter().flat_map(|more| more.early.items());
        indexed.chain(self.early.items(&pool.early)).collect()
    }
}
