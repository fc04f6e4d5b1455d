//! The agenda of an implicit schedule with nonblocking calls: only one step is ready at a time, but
//! receives of several steps may be posted.

use super::Agenda;
use super::matching::MatchQueue;
use super::step_ready;
use crate::checkpoint::Unsound;
use crate::host::Host;
use crate::message::{Early, Full};
use crate::order::Key;
use crate::release::Release;
use serde::{Deserialize, Serialize};
use straggler_model::{Rank, Tag, Time};
use straggler_schedule::OperationKind;

/// A step becomes ready only when all operations of the one before have started, so all ready operations
/// belong to one step.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct StepQueues {
    ready: Time,
    created: Time,
    /// The numbers of the operations that are ready, by kind.
    ids: [u32; 3],
    sent: u32,
    /// One bit for each kind of operation that has not run.
    pending: u8,
    posted: MatchQueue<u32, 2>,
    early: MatchQueue<Early, 0>,
}

impl Agenda for StepQueues {
    type Pool = ();
    type Body = Full;

    #[inline(always)]
    fn release(&mut self, _: &mut (), release: &Release, created: Time, host: &impl Host) {
        let ready = release.ready.max(host.cpu(0).free);
        debug_assert!(self.pending == 0 || (self.ready, self.created) == (ready, created));
        self.ready = ready;
        self.created = created;
        self.pending |= 1 << release.kind as u8;
        self.ids[release.kind as usize - 1] = release.id;
    }

    #[inline(always)]
    fn next(&mut self, host: &impl Host) -> Time {
        step_ready::next(self.pending, self.ready, host)
    }

    fn key(&self, host: &impl Host) -> Key {
        step_ready::key(self.pending, self.ready, self.created, host)
    }

    #[inline(always)]
    fn take(&mut self, _: &mut (), host: &impl Host, t: Time) -> (OperationKind, u32) {
        let kind = step_ready::take(&mut self.pending, self.ready, host, t);
        (kind, self.ids[kind as usize - 1])
    }

    #[inline(always)]
    fn count_send(&mut self) -> u32 {
        self.sent = self.sent.wrapping_add(1);
        self.sent
    }

    #[inline]
    fn post(&mut self, _: &mut (), id: u32, source: Rank, tag: Tag) -> Option<Early> {
        let early = self.early.take((source, tag));
        if early.is_none() {
            self.posted.push((source, tag), id);
        }
        early
    }

    #[inline]
    fn arrive(&mut self, _: &mut (), early: Early, _: impl Fn(u32) -> (Rank, Tag)) -> Option<u32> {
        let posted = self.posted.take((early.from, early.tag));
        if posted.is_none() {
            self.early.push((early.from, early.tag), early);
        }
        posted
    }

    fn prefetch(&self, _: &()) -> Option<u32> {
        None
    }

    fn check<'a>(mut agendas: impl Iterator<Item = &'a StepQueues>, _: &()) -> Result<(), Unsound> {
        agendas.try_for_each(|agenda| step_ready::check(agenda.pending))
    }

    fn is_idle(&self) -> bool {
        self.pending == 0
    }

    fn ready(&self, _: &()) -> Vec<(OperationKind, u32, [u8; 2])> {
        step_ready::kinds(self.pending).map(|kind| (kind, self.ids[kind as usize - 1], [0, 0])).collect()
    }

    fn posted(&self, _: &()) -> Vec<u32> {
        self.posted.items()
    }

    fn unreceived(&self, _: &()) -> Vec<Early> {
        self.early.items()
    }
}
