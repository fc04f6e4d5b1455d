//! What became of the requests of a rank: who a wildcard received from, and what was cancelled. Calls that complete
//! requests say so; the calls that made them come earlier, so that this is looked up ahead.

use std::collections::HashMap;
use straggler_trace::{Matched, RankTrace, RequestId};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Fate {
    pub matched: Option<Matched>,
    pub cancelled: bool,
}

/// The requests with which something happened worth telling.
#[derive(Debug, Default)]
pub(super) struct Fates(HashMap<RequestId, Fate>);

impl Fates {
    pub fn of(rank: &RankTrace) -> Fates {
        let completed = rank.details.iter().flat_map(|details| &details.completed);
        let told = completed.filter(|one| one.matched.is_some() || one.cancelled);
        Fates(
            told.map(|one| (one.request, Fate { matched: one.matched, cancelled: one.cancelled })).collect(),
        )
    }

    pub fn get(&self, request: RequestId) -> Fate {
        self.0.get(&request).copied().unwrap_or_default()
    }
}

/// An instruction of the rank that is read, by its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub thread: u16,
    pub number: u32,
}

/// What a request stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Behind {
    /// These; none where nothing has to be done.
    Operations(Vec<Place>),
    /// Something that the trace does not describe, or that has no model.
    Untold,
}

/// Requests that were made and not completed.
#[derive(Debug, Default)]
pub(super) struct Requests {
    active: HashMap<RequestId, Behind>,
    /// The call that made a persistent request.
    persistent: HashMap<RequestId, usize>,
    /// The request of a persistent one that was begun last.
    begun: HashMap<RequestId, RequestId>,
}

impl Requests {
    pub fn make(&mut self, request: RequestId, behind: Behind) {
        self.active.insert(request, behind);
    }

    pub fn prepare(&mut self, request: RequestId, call: usize) {
        self.persistent.insert(request, call);
    }

    /// The call that prepared a request.
    pub fn prepared_by(&self, request: RequestId) -> Option<usize> {
        self.persistent.get(&request).copied()
    }

    pub fn begin(&mut self, persistent: RequestId, request: RequestId) {
        self.begun.insert(persistent, request);
    }

    /// What is behind a request that has completed, once. `None`: there is no such request.
    pub fn complete(&mut self, request: RequestId) -> Option<Behind> {
        if let Some(behind) = self.active.remove(&request) {
            return Some(behind);
        }
        // Traces may name a persistent request where the one that was begun is meant; it may be inactive.
        let known = self.persistent.contains_key(&request);
        known.then(|| {
            let begun = self.begun.remove(&request).and_then(|begun| self.active.remove(&begun));
            begun.unwrap_or(Behind::Operations(Vec::new()))
        })
    }
}
