//! One-sided transfers between two fences of a window.
//!
//! MPI_Put, MPI_Accumulate and MPI_Get name a target that calls nothing, and only the fence that ends the epoch completes
//! them. So the fence sends them: one message to each process that got bytes, in either direction. Which messages a
//! process receives follows from the calls of the others, which are read here before the ranks are translated.
//!
//! Transfers in other epochs are not meant: those of MPI_Win_start are sent by MPI_Win_complete (`translate/windows.rs`),
//! and those under a lock have no model, because a trace tells neither the kind of the lock nor when it was granted.

use std::collections::{BTreeMap, HashMap};
use straggler_model::Rank;
use straggler_trace::call::NO_COMM;
use straggler_trace::{Class, CommId, Details, Function, RankTrace, Trace};

/// A window by its communicator and how many were made on it before, and how many fences it had before an epoch.
pub(super) type Epoch = (CommId, i64, u32);

/// What a process sends to or receives from another at the end of an epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Moved {
    pub sent: u64,
    pub received: u64,
}

/// By rank and epoch: the bytes moved, by partner.
#[derive(Debug, Default)]
pub(super) struct Transfers(Vec<HashMap<Epoch, BTreeMap<Rank, Moved>>>);

impl Transfers {
    /// `side` gives the communicator that stands for both sides of an intercommunicator.
    pub fn new(trace: &Trace, side: impl Fn(CommId) -> CommId) -> Transfers {
        let is_transfer =
            |rank: &RankTrace| rank.calls.iter().any(|call| call.function.class() == Class::OneSided);
        if !trace.ranks.iter().any(is_transfer) {
            return Transfers::default();
        }
        let mut all = Transfers(vec![HashMap::new(); trace.ranks.len()]);
        for (rank, traced) in (0..).zip(&trace.ranks) {
            all.of_rank(trace, rank, traced, &side);
        }
        all
    }

    fn of_rank(&mut self, trace: &Trace, rank: Rank, traced: &RankTrace, side: &impl Fn(CommId) -> CommId) {
        let mut windows = Windows::default();
        for call in &traced.calls {
            let details = traced.details(call).unwrap_or(Details::NOTHING);
            let Some(window) = windows.at(details, call.comm, call.function) else { continue };
            if call.function.class() != Class::OneSided || !window.is_fenced() || details.has_failed() {
                continue;
            }
            let epoch = (side(window.comm), window.place, window.fences);
            let comm = trace.communicators.get(window.comm.index());
            let target =
                comm.and_then(|comm| comm.world_rank(rank, call.peer)).filter(|&target| target != rank);
            let Some(target) = target.filter(|&target| (target as usize) < self.0.len()) else { continue };
            let mut add = |of: Rank, partner: Rank, sent: u64, received: u64| {
                let moved = self.0[of as usize].entry(epoch).or_default().entry(partner).or_default();
                moved.sent = moved.sent.saturating_add(sent);
                moved.received = moved.received.saturating_add(received);
            };
            add(rank, target, call.sent, call.received);
            add(target, rank, call.received, call.sent);
        }
    }

    /// What a rank moves at the end of an epoch, by partner.
    pub fn at(&self, rank: Rank, epoch: Epoch) -> impl Iterator<Item = (Rank, Moved)> + '_ {
        let of_rank = self.0.get(rank as usize).and_then(|epochs| epochs.get(&epoch));
        of_rank.into_iter().flatten().map(|(&partner, &moved)| (partner, moved))
    }
}

/// The windows of a rank while its calls are passed.
#[derive(Debug, Default)]
pub(super) struct Windows {
    known: HashMap<u32, Window>,
    /// How many windows were made on each communicator.
    made: HashMap<CommId, i64>,
}

/// A window of a rank, as all its processes know it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub comm: CommId,
    /// How many windows were made on the communicator before it.
    pub place: i64,
    /// How many fences the rank has called on it.
    pub fences: u32,
    /// Epochs of other kinds that are open: those among some processes, and locks.
    others: u32,
}

impl Window {
    /// Whether its transfers are completed by a fence.
    pub fn is_fenced(&self) -> bool {
        self.fences > 0 && self.others == 0
    }
}

impl Windows {
    /// The window of a call, after the call; for a fence, before it.
    pub fn at(&mut self, details: &Details, comm: CommId, function: Function) -> Option<Window> {
        let number = details.window?;
        let Class::Epoch { collective } = function.class() else { return self.known.get(&number).copied() };
        if collective && !self.known.contains_key(&number) && comm != NO_COMM {
            let made = self.made.entry(comm).or_default();
            self.known.insert(number, Window { comm, place: *made, fences: 0, others: 0 });
            *made += 1;
        }
        let window = self.known.get_mut(&number)?;
        let before = *window;
        match function {
            Function::Win_fence => {
                window.fences += 1;
                return Some(before);
            }
            Function::Win_start | Function::Win_lock | Function::Win_lock_all => window.others += 1,
            Function::Win_complete | Function::Win_unlock | Function::Win_unlock_all => {
                window.others = window.others.saturating_sub(1);
            }
            _ => {}
        }
        Some(*window)
    }
}
