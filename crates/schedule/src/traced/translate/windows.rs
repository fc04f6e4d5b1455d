//! One-sided communication: epochs among some processes of a window.
//!
//! MPI_Win_post sends a note to each process of its group, for which MPI_Win_start waits. MPI_Win_complete sends what
//! was put or accumulated since, for which MPI_Win_wait waits. Bytes that were fetched are counted in the same message.

use super::{RankReader, Site};
use crate::traced::error::TraceError;
use crate::traced::notes::Reason;
use crate::traced::recording::{Asked, How, Instruction};
use crate::workloads::Only;
use std::collections::BTreeMap;
use straggler_model::Rank;
use straggler_trace::{CommId, Function};

/// The window of a rank, as all its processes know it, and its epochs.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) comm: CommId,
    /// How many windows were made on the communicator before it.
    place: i64,
    /// The processes that may access it.
    posted: Vec<Rank>,
    /// The processes that it accesses, with the bytes moved so far.
    accessed: BTreeMap<Rank, u64>,
}

/// Internal tags of notes and of data: below this, two for each window.
const TAGS: i64 = -32;

impl Window {
    pub(super) fn new(comm: CommId, place: usize) -> Window {
        Window { comm, place: place as i64, posted: Vec::new(), accessed: BTreeMap::new() }
    }
}

impl<'a> RankReader<'_, 'a> {
    /// Translates a call of an epoch among some processes. Returns whether it has a model.
    pub(super) fn epoch(&mut self, site: &Site<'a>) -> Result<bool, TraceError> {
        let number = site.details.window.filter(|_| self.shared.options.only != Only::Collectives);
        let Some(window) = number.and_then(|number| self.windows.get_mut(&number)) else { return Ok(false) };
        let (own, processes) = (self.rank, self.shared.trace.processes());
        let group = site.details.group.iter().copied().filter(|&rank| rank != own && rank < processes);
        // Traces of earlier versions do not record groups.
        let is_told = !site.details.group.is_empty();
        let (comm, place) = (window.comm, window.place);
        let (note, data) = (TAGS - 2 * place, TAGS - 2 * place - 1);
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

    /// Adds the bytes of a transfer to those that the end of its epoch sends.
    pub(super) fn transfer(&mut self, site: &Site<'_>) {
        let Some(window) = site.details.window.and_then(|number| self.windows.get_mut(&number)) else {
            return;
        };
        let comm = self.shared.trace.communicators.get(window.comm.index());
        let to = comm.and_then(|comm| comm.world_rank(self.rank, site.call.peer));
        if let Some(bytes) = to.and_then(|to| window.accessed.get_mut(&to)) {
            *bytes = bytes.saturating_add(site.call.sent).saturating_add(site.call.received);
        }
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
