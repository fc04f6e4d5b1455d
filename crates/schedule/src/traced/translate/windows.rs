//! One-sided communication: epochs among some processes of a window, and what fences complete.
//!
//! MPI_Win_post sends a note to each process of its group, for which MPI_Win_start waits. MPI_Win_complete sends what
//! was put or accumulated since, for which MPI_Win_wait waits. Bytes that were fetched are counted in the same message.
//! MPI_Win_fence sends and receives what was moved since the last fence (`traced/transfers.rs`), before all processes of
//! the window meet.

use super::{RankReader, Site};
use crate::traced::error::TraceError;
use crate::traced::notes::Reason;
use crate::traced::recording::{Asked, How, Instruction};
use crate::traced::transfers::{Moved, Window};
use crate::workloads::Only;
use std::collections::BTreeMap;
use straggler_model::Rank;
use straggler_trace::{CommId, Function};

/// An epoch of a rank among some processes of a window.
#[derive(Clone, Debug, Default)]
pub(super) struct SomeProcesses {
    /// The processes that may access the window.
    posted: Vec<Rank>,
    /// The processes that the rank accesses, with the bytes moved so far.
    accessed: BTreeMap<Rank, u64>,
}

/// Internal tags of notes and of data: below this, two for each window.
const TAGS: i64 = -32;

/// The tags of notes and of data of a window, by its place on its communicator.
fn tags(place: i64) -> (i64, i64) {
    (TAGS - 2 * place, TAGS - 2 * place - 1)
}

impl<'a> RankReader<'_, 'a> {
    /// Translates a call of an epoch among some processes. Returns whether it has a model.
    pub(super) fn epoch(&mut self, site: &Site<'a>) -> Result<bool, TraceError> {
        let window = self.windows.at(site.details, site.call.comm, site.call.function);
        let number = site.details.window.filter(|_| self.shared.options.only != Only::Collectives);
        let Some((window, number)) = window.zip(number) else { return Ok(false) };
        let (own, processes) = (self.rank, self.shared.trace.processes());
        let group = site.details.group.iter().copied().filter(|&rank| rank != own && rank < processes);
        // Traces of earlier versions do not record groups.
        let is_told = !site.details.group.is_empty();
        let (comm, (note, data)) = (window.comm, tags(window.place));
        let window = self.epochs.entry(number).or_default();
        match site.call.function {
            Function::Win_post if is_told => {
                window.posted = group.collect();
                let to = window.posted.iter().map(|&rank| (rank, 0)).collect();
                self.notify(site, comm, note, to)?;
            }
            Function::Win_start if is_told => {
                window.accessed = group.map(|rank| (rank, 0)).collect();
                let from = window.accessed.keys().copied().collect();
                self.expect(site, comm, note, from)?;
            }
            Function::Win_complete if !window.accessed.is_empty() => {
                let to = std::mem::take(&mut window.accessed);
                self.notify(site, comm, data, to)?;
            }
            Function::Win_wait if !window.posted.is_empty() => {
                let from = std::mem::take(&mut window.posted);
                self.expect(site, comm, data, from)?;
            }
            Function::Win_test if !window.posted.is_empty() && site.details.found => {
                let from = std::mem::take(&mut window.posted);
                self.expect(site, comm, data, from)?;
            }
            _ => return Ok(false),
        }
        self.shared.notes.count(Reason::AsMessages, site.call.function);
        Ok(true)
    }

    /// Counts a transfer for the call that completes it. Returns whether it has a model: a fence sends it. In an epoch
    /// among some processes, its bytes are sent by the end of the epoch, but the time of the call counts as well.
    pub(super) fn transfer(&mut self, site: &Site<'_>) -> bool {
        let window = self.windows.at(site.details, site.call.comm, site.call.function);
        let Some((window, number)) = window.zip(site.details.window) else { return false };
        let comm = self.shared.trace.communicators.get(window.comm.index());
        let Some(to) = comm.and_then(|comm| comm.world_rank(self.rank, site.call.peer)) else { return false };
        let has_model = self.shared.options.only != Only::Collectives && !site.details.has_failed();
        if has_model && window.is_fenced() && to != self.rank {
            self.shared.notes.count(Reason::AtFence, site.call.function);
            return true;
        }
        if let Some(bytes) = self.epochs.get_mut(&number).and_then(|epoch| epoch.accessed.get_mut(&to)) {
            *bytes = bytes.saturating_add(site.call.sent).saturating_add(site.call.received);
        }
        false
    }

    /// Sends and receives what was moved since the last fence, and waits for it.
    pub(super) fn complete_transfers(&mut self, site: &Site<'_>, window: Window) -> Result<(), TraceError> {
        let epoch = (self.shared.side(window.comm), window.place, window.fences);
        let moved: Vec<(Rank, Moved)> = self.shared.transfers.at(self.rank, epoch).collect();
        if moved.is_empty() || self.shared.options.only == Only::Collectives {
            return Ok(());
        }
        let (tag, how) = (self.shared.tag(window.comm, tags(window.place).1)?, How::default());
        let receives = moved.iter().filter(|(_, moved)| moved.received > 0);
        let receives = receives.map(|&(from, _)| Instruction::Recv { bytes: 0, from, tag, how });
        let sends = moved.iter().filter(|(_, moved)| moved.sent > 0);
        let sends = sends.map(|&(to, moved)| Instruction::Send { bytes: moved.sent, to, tag, how });
        let places = receives.chain(sends).map(|instruction| self.emit(site, instruction)).collect();
        self.await_all(site, places, Asked::Waited);
        Ok(())
    }

    /// Sends a message to each process; the call waits until they are sent.
    fn notify(
        &mut self,
        site: &Site<'_>,
        comm: CommId,
        tag: i64,
        to: BTreeMap<Rank, u64>,
    ) -> Result<(), TraceError> {
        let tag = self.shared.tag(comm, tag)?;
        let how = How::default();
        for (to, bytes) in to {
            self.emit(site, Instruction::Send { bytes, to, tag, how });
        }
        Ok(())
    }

    /// Waits for a message from each process.
    fn expect(&mut self, site: &Site<'_>, comm: CommId, tag: i64, from: Vec<Rank>) -> Result<(), TraceError> {
        let tag = self.shared.tag(comm, tag)?;
        let how = How::default();
        let receives = from.into_iter();
        let places =
            receives.map(|from| self.emit(site, Instruction::Recv { bytes: 0, from, tag, how })).collect();
        self.await_all(site, places, Asked::Waited);
        Ok(())
    }
}
