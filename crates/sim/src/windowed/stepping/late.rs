//! State of neighbouring processes outside their slots: early messages, and what completes after the CPU is free.

use super::slot::Slot;
use crate::agenda::early_pool::EarlyPool;
use crate::checkpoint::{Unsound, ensure};
use crate::host::Host;
use crate::ports::Tails;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::Range;
use straggler_model::{Rank, Time};

#[derive(Debug, Default, Serialize, Deserialize)]
pub(in super::super) struct Shared {
    pub early: EarlyPool,
    pub tails: Tails,
    /// When the latest operation of a process's step completed, if the CPU was free before then. Only on shared links,
    /// and only of processes whose slots say so.
    completions: HashMap<Rank, Time>,
}

impl Shared {
    /// Notes that an operation of the step has completed at `done`.
    #[inline(always)]
    pub(super) fn note(&mut self, rank: Rank, slot: &mut Slot, done: Time) {
        if done > slot.host.cpu(0).free {
            slot.state.late = 1;
            self.note_late(rank, done);
        }
    }

    #[inline(never)]
    fn note_late(&mut self, rank: Rank, done: Time) {
        let latest = self.completions.entry(rank).or_default();
        *latest = done.max(*latest);
    }

    /// When the operations of the step have all completed.
    #[inline(always)]
    pub(super) fn completion(&mut self, rank: Rank, slot: &mut Slot) -> Time {
        let free = slot.host.cpu(0).free;
        if slot.state.late == 0 {
            return free;
        }
        slot.state.late = 0;
        self.take_late(rank).max(free)
    }

    #[inline(never)]
    fn take_late(&mut self, rank: Rank) -> Time {
        self.completions.remove(&rank).unwrap_or_default()
    }

    /// When a process has finished.
    pub(super) fn finish(&self, rank: Rank, slot: &Slot) -> Time {
        let late = self.completions.get(&rank).copied().unwrap_or_default();
        slot.host.finish().max(slot.ready).max(late)
    }

    /// Checks what was read. Returns how many receives of each process wait for a last segment.
    pub(super) fn check(
        &self,
        ranks: Range<Rank>,
        slots: &[Slot],
        processes: u32,
    ) -> Result<HashMap<Rank, u32>, Unsound> {
        let own = |(to, from): (Rank, Rank)| ranks.contains(&to) && from < processes;
        ensure(self.tails.ends().all(own), "a last segment is from nobody, or for nobody")?;
        let is_late = |rank: &Rank| {
            let place = rank.checked_sub(ranks.start).map(|place| place as usize);
            place.and_then(|place| slots.get(place)).is_some_and(|slot| slot.state.late == 1)
        };
        ensure(self.completions.keys().all(is_late), "a completion is of another process")?;
        let mut partial = HashMap::new();
        self.tails.receives().for_each(|(rank, _)| *partial.entry(rank).or_default() += 1);
        Ok(partial)
    }
}
