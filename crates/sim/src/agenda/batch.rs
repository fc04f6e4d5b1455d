//! An agenda in 24 bytes, for the butterfly: at most one operation of each kind, released together.

use super::Agenda;
use super::early_pool::{EarlyPool, Late};
use super::step_ready;
use crate::checkpoint::Unsound;
use crate::host::Host;
use crate::message::{Compact, Early};
use crate::order::Key;
use crate::release::Release;
use serde::{Deserialize, Serialize};
use straggler_model::{Rank, Tag, Time};
use straggler_schedule::OperationKind;

/// At most one send, one receive and one computation, all ready at the same time. Early messages wait
/// in a circular list in the pool, whose last member points to the first.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Batch {
    ready: Time,
    created: Time,
    /// The last early message: its place in the pool plus one, 0 for none.
    early: u32,
    /// One bit for each kind of operation that has not run.
    pending: u8,
    posted: bool,
}

const _: () = assert!(size_of::<Batch>() == 24);

impl Agenda for Batch {
    type Pool = EarlyPool;
    type Body = Compact;

    #[inline(always)]
    fn release(&mut self, _: &mut EarlyPool, release: &Release, created: Time, host: &impl Host) {
        let ready = release.ready.max(host.cpu(0).free);
        debug_assert!(self.pending == 0 || (self.ready, self.created) == (ready, created));
        self.ready = ready;
        self.created = created;
        self.pending |= 1 << release.kind as u8;
    }

    #[inline(always)]
    fn next(&mut self, host: &impl Host) -> Time {
        step_ready::next(self.pending, self.ready, host)
    }

    fn key(&self, host: &impl Host) -> Key {
        step_ready::key(self.pending, self.ready, self.created, host)
    }

    #[inline(always)]
    fn take(&mut self, _: &mut EarlyPool, host: &impl Host, t: Time) -> (OperationKind, u32) {
        let kind = step_ready::take(&mut self.pending, self.ready, host, t);
        (kind, kind as u32)
    }

    #[inline(always)]
    fn count_send(&mut self) -> u32 {
        0
    }

    #[inline(always)]
    fn post(&mut self, pool: &mut EarlyPool, _: u32, source: Rank, tag: Tag) -> Option<Early> {
        let early = if self.early == 0 { None } else { pool.remove(&mut self.early, source, tag) };
        self.posted = early.is_none();
        early
    }

    #[inline(always)]
    fn arrive(
        &mut self,
        pool: &mut EarlyPool,
        early: Early,
        pattern: impl Fn(u32) -> (Rank, Tag),
    ) -> Option<u32> {
        if self.posted {
            let (source, tag) = pattern(OperationKind::Recv as u32);
            if early.matches(source, tag) {
                self.posted = false;
                return Some(OperationKind::Recv as u32);
            }
        }
        self.early = pool.append(self.early, (early.from, early.tag), early.bytes, Late::of(&early));
        None
    }

    #[inline(always)]
    fn prefetch(&self, pool: &EarlyPool) -> Option<u32> {
        pool.prefetch(self.early);
        None
    }

    fn check<'a>(mut agendas: impl Iterator<Item = &'a Batch>, pool: &EarlyPool) -> Result<(), Unsound> {
        let mut rings = Vec::new();
        agendas.try_for_each(|agenda| {
            rings.push(agenda.early);
            step_ready::check(agenda.pending)
        })?;
        pool.check(rings.into_iter())
    }

    fn is_idle(&self) -> bool {
        self.pending == 0
    }

    fn ready(&self, _: &EarlyPool) -> Vec<(OperationKind, u32, [u8; 2])> {
        step_ready::kinds(self.pending).map(|kind| (kind, kind as u32, [0, 0])).collect()
    }

    fn posted(&self, _: &EarlyPool) -> Vec<u32> {
        if self.posted { vec![OperationKind::Recv as u32] } else { Vec::new() }
    }

    fn unreceived(&self, pool: &EarlyPool) -> Vec<Early> {
        pool.ring(self.early)
    }
}
