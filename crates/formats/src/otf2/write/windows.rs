//! One-sided communication: windows, and the events of their transfers and collective calls.
//!
//! A transfer ends, like in Score-P, in the call that completes it: a fence, the end of an epoch, an unlock or a flush.
//! A trace does not record the kind of a lock, so locks are only functions that are entered and left, and so are calls
//! that synchronise groups. Transfers belong to the thread that started them, and those with a request end with their
//! epoch, too.

use super::encoder::Encoder;
use crate::otf2::ids::{event, root};
use std::collections::{BTreeMap, HashMap};
use straggler_model::Rank;
use straggler_trace::call::CommId;
use straggler_trace::{Call, Class, Details, Function, Trace};

/// Synchronises processes (OTF2_RMA_SYNC_LEVEL_PROCESS).
const PROCESSES: u32 = 1;
/// OTF2_CollectiveOp.
const BARRIER: u8 = 0;
const CREATE_HANDLE: u8 = 17;
const DESTROY_HANDLE: u8 = 18;
/// OTF2_RmaAtomicType.
const ACCUMULATE: u8 = 0;
const COMPARE_AND_SWAP: u8 = 3;
const FETCH_AND_ACCUMULATE: u8 = 7;

/// The windows of a run. Each rank numbers its own; the n-th on a communicator is the n-th of all members.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// The communicators of the windows in the archive.
    pub(super) comms: Vec<CommId>,
    numbers: HashMap<(Rank, u32), u32>,
}

impl Windows {
    pub(super) fn new(trace: &Trace) -> Windows {
        let mut windows = Windows::default();
        let mut known: HashMap<(CommId, u32), u32> = HashMap::new();
        for (rank, number) in trace.ranks.iter().zip(0..) {
            let mut made: HashMap<CommId, u32> = HashMap::new();
            for call in rank.calls.iter().filter(|call| makes(call.function)) {
                let Some(window) = rank.details(call).and_then(|details| details.window) else { continue };
                if trace.communicators.get(call.comm.index()).is_none() {
                    continue;
                }
                let nth = made.entry(call.comm).or_default();
                let place = *known.entry((call.comm, *nth)).or_insert_with(|| {
                    windows.comms.push(call.comm);
                    windows.comms.len() as u32 - 1
                });
                *nth += 1;
                windows.numbers.insert((number, window), place);
            }
        }
        windows
    }
}

fn makes(function: Function) -> bool {
    matches!(
        function,
        Function::Win_create
            | Function::Win_allocate
            | Function::Win_allocate_shared
            | Function::Win_create_dynamic
    )
}

/// Which transfers a call completes.
enum Completes {
    Nothing,
    All,
    /// Those with the process it names.
    OfPeer,
}

fn completes(function: Function) -> Completes {
    match function {
        Function::Win_fence
        | Function::Win_complete
        | Function::Win_unlock_all
        | Function::Win_flush_all
        | Function::Win_free => Completes::All,
        Function::Win_unlock | Function::Win_flush => Completes::OfPeer,
        _ => Completes::Nothing,
    }
}

/// The operation of a collective call on a window.
fn collective(function: Function) -> Option<u8> {
    match function {
        function if makes(function) => Some(CREATE_HANDLE),
        Function::Win_free => Some(DESTROY_HANDLE),
        Function::Win_fence => Some(BARRIER),
        _ => None,
    }
}

/// Transfers of a thread that have not completed.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    next: u64,
    /// By window and peer.
    open: BTreeMap<(u32, i32), Vec<u64>>,
}

impl Transfers {
    /// Writes what is recorded when a call begins.
    pub(super) fn begin(
        &mut self,
        out: &mut Encoder,
        windows: &Windows,
        rank: Rank,
        call: &Call,
        details: &Details,
    ) {
        let Some(window) = window(windows, rank, details) else { return };
        if collective(call.function).is_some() {
            out.record(event::RMA_COLLECTIVE_BEGIN, Encoder::body());
        }
        if call.function.class() != Class::OneSided || call.peer < 0 {
            return;
        }
        let mut body = Encoder::body();
        body.u32(window);
        body.u32(call.peer as u32);
        let (id, atomic) = match call.function {
            Function::Put | Function::Rput => (event::RMA_PUT, None),
            Function::Get | Function::Rget => (event::RMA_GET, None),
            Function::Accumulate | Function::Raccumulate => (event::RMA_ATOMIC, Some(ACCUMULATE)),
            Function::Compare_and_swap => (event::RMA_ATOMIC, Some(COMPARE_AND_SWAP)),
            _ => (event::RMA_ATOMIC, Some(FETCH_AND_ACCUMULATE)),
        };
        match atomic {
            Some(kind) => {
                body.u8(kind);
                body.u64(call.sent);
                body.u64(call.received);
            }
            None => body.u64(if id == event::RMA_PUT { call.sent } else { call.received }),
        }
        body.u64(self.next);
        out.record(id, body);
        self.open.entry((window, call.peer)).or_default().push(self.next);
        self.next += 1;
    }

    /// Writes what is recorded when a call ends.
    pub(super) fn end(
        &mut self,
        out: &mut Encoder,
        windows: &Windows,
        rank: Rank,
        call: &Call,
        details: &Details,
    ) {
        let Some(window) = window(windows, rank, details) else { return };
        let record = |out: &mut Encoder, id: u8, fill: &dyn Fn(&mut Encoder)| {
            let mut body = Encoder::body();
            body.u32(window);
            fill(&mut body);
            out.record(id, body);
        };
        let over: Vec<(u32, i32)> = match completes(call.function) {
            Completes::Nothing => Vec::new(),
            Completes::All => {
                self.open.range((window, i32::MIN)..=(window, i32::MAX)).map(|(key, _)| *key).collect()
            }
            Completes::OfPeer => vec![(window, call.peer)],
        };
        let mut numbers: Vec<u64> = over.iter().filter_map(|key| self.open.remove(key)).flatten().collect();
        numbers.sort_unstable();
        for number in numbers {
            record(out, event::RMA_OP_COMPLETE_BLOCKING, &|body| body.u64(number));
        }
        if makes(call.function) {
            record(out, event::RMA_WIN_CREATE, &|_| {});
        }
        if let Some(operation) = collective(call.function) {
            let mut body = Encoder::body();
            body.u8(operation);
            [PROCESSES, window, root::NONE].into_iter().for_each(|value| body.u32(value));
            [0, 0].into_iter().for_each(|bytes| body.u64(bytes));
            out.record(event::RMA_COLLECTIVE_END, body);
        }
        if call.function == Function::Win_free {
            record(out, event::RMA_WIN_DESTROY, &|_| {});
        }
    }
}

/// The window of a call, in the archive.
fn window(windows: &Windows, rank: Rank, details: &Details) -> Option<u32> {
    windows.numbers.get(&(rank, details.window?)).copied()
}
