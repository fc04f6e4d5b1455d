//! The agenda of a process that may have anything ready.
//!
//! Ready operations wait in one line per kind, in an order that nothing can change, so only the heads of the three
//! lines can run next. A line has such an order while its operations use the same CPU and NIC and became ready in the
//! order in which they were created, which is nearly always true. Otherwise all ready operations move to
//! [`Unordered`], until none is left there.

use super::Agenda;
use super::lists::{Check, List, Slab};
use super::matching::{Indexed, meet};
use super::pending::Pending;
use super::unordered::Unordered;
use crate::checkpoint::{Unsound, ensure};
use crate::host::Host;
use crate::message::{Early, Full};
use crate::order::Key;
use crate::release::Release;
use crate::rules;
use serde::{Deserialize, Serialize};
use straggler_model::{Rank, Tag, Time};
use straggler_schedule::OperationKind;

/// A longer search than this through posted receives or early messages makes an index of them.
const FAR: u32 = 32;
/// A longer search than this for the place of a ready operation abandons the lines.
const NEAR: u32 = 24;

/// Ready operations, posted receives and early messages of one process.
#[derive(Debug, Serialize, Deserialize)]
pub struct Queues {
    /// The heads of the lines: sends, receives, computations. A missing head has the ready time [`Time::NEVER`].
    heads: [Pending; 3],
    /// The operations behind the heads.
    lines: [List; 3],
    /// The first posted receive, if there is one; `posted` has those behind it.
    first: Posted,
    posted: List,
    early: List,
    more: Option<Box<More>>,
    sent: u32,
    /// One bit for each line that has a head, or [`UNORDERED`].
    present: u8,
    /// Whether `first` is in use.
    has_first: bool,
}

const PRESENT: Unsound = "ready operations are not where they should be";

/// Set while ready operations are in [`More`] instead of the lines.
const UNORDERED: u8 = 1 << 3;

/// State that few processes need.
#[derive(Debug, Default, Serialize, Deserialize)]
struct More {
    ready: Unordered,
    /// If not empty, contains all posted receives.
    posted: Indexed<u32>,
    /// If not empty, contains all early messages.
    early: Indexed<Early>,
}

/// Storage for the queues of neighbouring processes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct QueuePool {
    ready: Slab<Pending>,
    posted: Slab<Posted>,
    early: Slab<Early>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Posted {
    pattern: (Rank, Tag),
    id: u32,
}

/// At most one send and one receive that the same event made ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pair {
    pub send: u32,
    pub recv: u32,
}

impl Pair {
    /// No operation has this number.
    pub const NONE: u32 = u32::MAX;
    pub const EMPTY: Pair = Pair { send: Pair::NONE, recv: Pair::NONE };
}

const KINDS: [OperationKind; 3] = [OperationKind::Send, OperationKind::Recv, OperationKind::Calc];

impl Default for Queues {
    fn default() -> Self {
        let nothing = |kind| Pending { ready: Time::NEVER, created: Time::ZERO, id: 0, kind, cpu: 0, nic: 0 };
        Queues {
            heads: KINDS.map(nothing),
            lines: Default::default(),
            first: Posted::default(),
            posted: List::default(),
            early: List::default(),
            more: None,
            sent: 0,
            present: 0,
            has_first: false,
        }
    }
}

impl Queues {
    /// Inserts an operation into a line that is not empty, or abandons the lines.
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
                self.heads[kind].ready = Time::NEVER;
            }
            while let Some(pending) = line.pop(&mut pool.ready) {
                unordered.push(pending);
            }
        }
    }

    /// Checks that operations are where `present` and `has_first` say, and in the order of their line.
    fn check_lines(&self, pool: &QueuePool) -> Result<(), Unsound> {
        let (more, lines) = (self.more.as_deref(), self.lines.iter().zip(&self.heads).zip(KINDS));
        let unordered = self.present & UNORDERED != 0;
        let is_unordered = more.is_some_and(|more| !more.ready.is_empty());
        ensure(unordered == is_unordered && self.present <= UNORDERED, PRESENT)?;
        for (place, ((line, head), kind)) in lines.enumerate() {
            let is_present = self.present & 1 << place != 0;
            ensure(is_present || head.ready == Time::NEVER && line.is_empty(), PRESENT)?;
            let mut last = *head;
            for next in line.items(&pool.ready).filter(|_| is_present) {
                ensure(
                    next.kind == kind && last.always_before(&next),
                    "ready operations are in another order",
                )?;
                last = next;
            }
            ensure(head.kind == kind, "a ready operation is of another kind")?;
        }
        let is_indexed = |list: List, has_first: bool, index: Option<bool>| {
            ensure(index != Some(false) || list.is_empty() && !has_first, "a list and its index have entries")
        };
        is_indexed(self.posted, self.has_first, more.map(|more| more.posted.is_empty()))?;
        is_indexed(self.early, false, more.map(|more| more.early.is_empty()))?;
        ensure(self.has_first || self.posted.is_empty(), "the first posted receive is missing")
    }

    /// When the head of each line may run.
    #[inline(always)]
    fn times(&self, host: &impl Host) -> [Time; 3] {
        let [send, recv, calc] = &self.heads;
        let (cpu, nic) = (send.cpu, send.nic);
        [
            rules::send_eligible(host, cpu, nic, send.ready),
            recv.ready,
            rules::calc_eligible(host, calc.cpu, calc.ready),
        ]
    }

    /// The line whose head runs at `t`: the one created first, then by kind.
    #[inline(always)]
    fn line_at(&self, t: Time, host: &impl Host) -> usize {
        let created = |line: usize| self.heads[line].created;
        let [send, recv, calc] = self.times(host);
        let early = if send == t && (recv != t || created(0) <= created(1)) { 0 } else { 1 };
        let is_calc = calc == t && (send.min(recv) != t || created(2) < created(early));
        if is_calc { 2 } else { early }
    }

    /// Takes the head of a line.
    #[inline(always)]
    fn take_head(&mut self, pool: &mut QueuePool, line: usize) -> u32 {
        let id = self.heads[line].id;
        if self.lines[line].is_empty() {
            self.heads[line].ready = Time::NEVER;
            self.present &= !(1 << line);
        } else {
            self.heads[line] = self.lines[line].pop_known(&mut pool.ready);
        }
        id
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

    /// Whether there are no ready operations, posted receives or early messages.
    pub(crate) fn is_empty(&self) -> bool {
        let nothing = self.present == 0 && !self.has_first && self.posted.is_empty() && self.early.is_empty();
        nothing && self.more.is_none()
    }

    /// Posts a receive when there are no early messages.
    #[inline(always)]
    pub(crate) fn post_before_all(&mut self, pool: &mut QueuePool, id: u32, source: Rank, tag: Tag) {
        debug_assert!(self.early.is_empty());
        self.push_posted(pool, Posted { pattern: (source, tag), id });
    }

    /// The send and the receive that are ready, with their ready time, if nothing else is and the same event made
    /// both ready.
    #[inline(always)]
    pub(crate) fn pair(&self) -> Option<(Time, Pair)> {
        let [send, recv, _] = &self.heads;
        let alone = self.lines[0].is_empty() && self.lines[1].is_empty();
        match self.present {
            1 if alone => Some((send.ready, Pair { send: send.id, recv: Pair::NONE })),
            2 if alone => Some((recv.ready, Pair { send: Pair::NONE, recv: recv.id })),
            3 if alone && (send.ready, send.created) == (recv.ready, recv.created) => {
                Some((send.ready, Pair { send: send.id, recv: recv.id }))
            }
            _ => None,
        }
    }

    /// Makes a send and a receive ready when nothing else is.
    #[inline(always)]
    pub(crate) fn set_pair(&mut self, ready: Time, created: Time, pair: Pair) {
        debug_assert_eq!(self.present, 0);
        for (line, kind, id) in [(0, OperationKind::Send, pair.send), (1, OperationKind::Recv, pair.recv)] {
            if id != Pair::NONE {
                self.heads[line] = Pending { ready, created, id, kind, cpu: 0, nic: 0 };
                self.present |= 1 << line;
            }
        }
    }

    /// Takes the operations that `pair` has found.
    #[inline(always)]
    pub(crate) fn take_pair(&mut self) {
        self.present = 0;
        self.heads[0].ready = Time::NEVER;
        self.heads[1].ready = Time::NEVER;
    }

    /// Takes the posted receive that a message completes.
    #[inline(always)]
    pub(crate) fn take_posted(&mut self, pool: &mut QueuePool, pattern: (Rank, Tag)) -> Option<u32> {
        if !(self.has_first && meet(self.first.pattern, pattern)) {
            return self.take_later(pool, pattern);
        }
        let id = self.first.id;
        if self.posted.is_empty() {
            self.has_first = false;
        } else {
            self.first = self.posted.pop_known(&mut pool.posted);
        }
        Some(id)
    }

    /// Like [`Queues::take_posted`], for a receive that is not the first.
    #[inline(never)]
    fn take_later(&mut self, pool: &mut QueuePool, pattern: (Rank, Tag)) -> Option<u32> {
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

    #[inline(always)]
    fn push_posted(&mut self, pool: &mut QueuePool, posted: Posted) {
        if let Some(more) = &mut self.more
            && !more.posted.is_empty()
        {
            more.posted.push(posted.pattern, posted.id);
        } else if self.has_first {
            self.posted.push(&mut pool.posted, posted);
        } else {
            self.first = posted;
            self.has_first = true;
        }
    }

    /// Keeps a message that no receive waits for.
    pub(crate) fn keep_early(&mut self, pool: &mut QueuePool, early: Early) {
        match &mut self.more {
            Some(more) if !more.early.is_empty() => more.early.push((early.from, early.tag), early),
            _ => self.early.push(&mut pool.early, early),
        }
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
        if std::mem::take(&mut self.has_first) {
            more.posted.push(self.first.pattern, self.first.id);
        }
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
        if self.present & UNORDERED != 0 {
            return self.unordered().next(host);
        }
        let [send, recv, calc] = self.times(host);
        send.min(recv).min(calc)
    }

    #[inline(never)]
    fn key(&self, host: &impl Host) -> Key {
        let [send, recv, calc] = self.times(host);
        match &self.more {
            _ if self.present == 0 => Key::LAST,
            Some(more) if self.present & UNORDERED != 0 => more.ready.key(host),
            _ => self.heads[self.line_at(send.min(recv).min(calc), host)].key(host),
        }
    }

    #[inline(always)]
    fn take(&mut self, pool: &mut QueuePool, host: &impl Host, t: Time) -> (OperationKind, u32) {
        if self.present & UNORDERED != 0 {
            return self.take_unordered();
        }
        // One branch for each kind, so that it is a constant in the code that follows.
        match self.line_at(t, host) {
            0 => (OperationKind::Send, self.take_head(pool, 0)),
            1 => (OperationKind::Recv, self.take_head(pool, 1)),
            _ => (OperationKind::Calc, self.take_head(pool, 2)),
        }
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
            self.push_posted(pool, Posted { pattern, id });
        }
        early
    }

    #[inline(always)]
    fn arrive(&mut self, pool: &mut QueuePool, early: Early, _: impl Fn(u32) -> (Rank, Tag)) -> Option<u32> {
        let posted = self.take_posted(pool, (early.from, early.tag));
        if posted.is_none() {
            self.keep_early(pool, early);
        }
        posted
    }

    #[inline(always)]
    fn prefetch(&self, pool: &QueuePool) -> Option<u32> {
        if !self.has_first {
            self.early.prefetch(&pool.early);
            return (self.present & 1 != 0).then_some(self.heads[0].id);
        }
        self.posted.prefetch(&pool.posted);
        Some(self.first.id)
    }

    fn check<'a>(mut agendas: impl Iterator<Item = &'a Queues>, pool: &QueuePool) -> Result<(), Unsound> {
        let (mut ready, mut posted) = (Check::begin(&pool.ready)?, Check::begin(&pool.posted)?);
        let mut early = Check::begin(&pool.early)?;
        agendas.try_for_each(|agenda| {
            agenda.lines.iter().try_for_each(|&line| ready.list(line))?;
            posted.list(agenda.posted)?;
            early.list(agenda.early)?;
            agenda.check_lines(pool)
        })
    }

    #[inline(always)]
    fn is_idle(&self) -> bool {
        self.present == 0
    }

    fn ready(&self, pool: &QueuePool) -> Vec<(OperationKind, u32, [u8; 2])> {
        let mut ready = self.more.as_ref().map_or_else(Vec::new, |more| more.ready.items());
        for (kind, line) in self.lines.iter().enumerate().filter(|(kind, _)| self.present & 1 << kind != 0) {
            ready.push(self.heads[kind].item());
            ready.extend(line.items(&pool.ready).map(|pending| pending.item()));
        }
        ready
    }

    fn posted(&self, pool: &QueuePool) -> Vec<u32> {
        let indexed = self.more.iter().flat_map(|more| more.posted.items());
        let first = self.has_first.then_some(self.first.id);
        indexed.chain(first).chain(self.posted.items(&pool.posted).map(|posted| posted.id)).collect()
    }

    fn unreceived(&self, pool: &QueuePool) -> Vec<Early> {
        let indexed = self.more.iter().flat_map(|more| more.early.items());
        indexed.chain(self.early.items(&pool.early)).collect()
    }
}
