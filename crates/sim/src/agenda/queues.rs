//! The agenda of a process that may have anything ready: lists while short, heaps when long.

use super::Agenda;
use super::matching::MatchQueue;
use super::pending::Pending;
use super::ready_heaps::ReadyHeaps;
use crate::host::Host;
use crate::message::{Early, Full};
use crate::order::Key;
use crate::release::Release;
use smallvec::SmallVec;
use straggler_model::{Rank, Tag, Time};
use straggler_schedule::OperationKind;

/// More ready operations than this move into heaps.
const LONG: usize = 24;

/// Ready operations, posted receives and early messages of one process.
#[derive(Debug, Default)]
pub struct Queues {
    pending: SmallVec<[Pending; 2]>,
    /// Where `next` found the first of them.
    first: u32,
    sent: u32,
    heaps: Option<Box<ReadyHeaps>>,
    posted: MatchQueue<u32, 2>,
    early: MatchQueue<Early, 0>,
}

impl Agenda for Queues {
    type Pool = ();
    type Body = Full;

    fn release(&mut self, release: &Release, created: Time, host: &impl Host) {
        let ready = release.ready.max(host.cpu(release.cpu).free);
        let Release { id, kind, cpu, nic, .. } = *release;
        let pending = Pending { ready, created, id, kind, cpu, nic };
        if self.heaps.is_none() && self.pending.len() < LONG {
            self.pending.push(pending);
            return;
        }
        let heaps = self.heaps.get_or_insert_default();
        for pending in self.pending.drain(..).chain([pending]) {
            heaps.push(pending);
        }
    }

    fn next(&mut self, host: &impl Host) -> Time {
        if let Some(heaps) = &mut self.heaps {
            return heaps.find(host);
        }
        let keys = self.pending.iter().enumerate().map(|(place, pending)| (pending.key(host), place));
        keys.min().map_or(Time::NEVER, |(key, place)| {
            self.first = place as u32;
            key.eligible
        })
    }

    fn key(&self, host: &impl Host) -> Key {
        match &self.heaps {
            Some(heaps) => heaps.key(),
            None => self.pending.get(self.first as usize).map_or(Key::LAST, |pending| pending.key(host)),
        }
    }

    fn take(&mut self, _: &impl Host, _: Time) -> (OperationKind, u32) {
        let Some(heaps) = &mut self.heaps else {
            let Pending { kind, id, .. } = self.pending.swap_remove(self.first as usize);
            return (kind, id);
        };
        let found = heaps.remove_found();
        if heaps.is_empty() {
            self.heaps = None;
        }
        found
    }

    fn count_send(&mut self) -> u32 {
        self.sent = self.sent.wrapping_add(1);
        self.sent
    }

    fn post(&mut self, _: &mut (), id: u32, source: Rank, tag: Tag) -> Option<Early> {
        let early = self.early.take((source, tag));
        if early.is_none() {
            self.posted.push((source, tag), id);
        }
        early
    }

    fn arrive(&mut self, _: &mut (), early: Early, _: impl Fn(u32) -> (Rank, Tag)) -> Option<u32> {
        let posted = self.posted.take((early.from, early.tag));
        if posted.is_none() {
            self.early.push((early.from, early.tag), early);
        }
        posted
    }

    #[inline(always)]
    fn prefetch(&self, _: &()) -> Option<u32> {
        self.posted.first().or_else(|| self.pending.first().map(|pending| pending.id))
    }

    fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.heaps.is_none()
    }

    fn posted(&self) -> Vec<u32> {
        self.posted.items()
    }

    fn unreceived(&self, _: &()) -> Vec<Early> {
        self.early.items()
    }
}
