//! The tables of the process: communicators, requests, windows, messages, and whether it is being recorded.

use crate::abi::{Handle, UNDEFINED, abi};
use crate::requests::{ByHandle, Requests};
use crate::site::pmpi;
use crate::topology;
use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use straggler_trace::format::local_comm;
use straggler_trace::format::write::{Attributes, NewComm};

/// A communicator as this rank knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comm {
    /// Its number on this rank.
    pub local: u32,
    pub rank: u32,
    /// The size of the group in which peers are counted: on an intercommunicator, the other one.
    pub size: u32,
    pub own_size: u32,
    /// Whether it is an intercommunicator.
    pub between: bool,
}

impl Comm {
    pub const NONE: Comm = Comm { local: local_comm::NONE, rank: 0, size: 0, own_size: 0, between: false };
}

/// A window and the communicator it was created on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    pub number: u32,
    pub comm: Comm,
}

/// A message that a probe keeps for a receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept {
    pub number: u32,
    /// Whether the probe is in the trace.
    pub recorded: bool,
}

/// Tables of the process.
#[derive(Debug, Default)]
pub struct Process {
    pub requests: Requests,
    pub windows: ByHandle<Window>,
    pub next_window: u32,
    pub messages: ByHandle<Kept>,
    pub next_message: u32,
    comms: ByHandle<Comm>,
    next_comm: u32,
    /// Calls that were seen but not understood.
    pub unknown: BTreeMap<String, u64>,
}

/// The tables and their lock, which is only taken if threads may call concurrently.
struct Tables {
    lock: Mutex<()>,
    process: UnsafeCell<Option<Process>>,
}

// SAFETY: the tables are reached only through `with` and `take_unknown`. There, either the lock is held, or
// MPI was initialised below MPI_THREAD_MULTIPLE, where the program promises that its calls do not overlap.
unsafe impl Sync for Tables {}

static TABLES: Tables = Tables { lock: Mutex::new(()), process: UnsafeCell::new(None) };

static CONCURRENT: AtomicBool = AtomicBool::new(true);

/// Stops taking the lock: the program has promised that its threads do not call concurrently.
pub fn calls_come_one_by_one() {
    CONCURRENT.store(false, Ordering::Release);
}

/// Whether threads may call concurrently.
#[inline(always)]
fn is_concurrent() -> bool {
    CONCURRENT.load(Ordering::Relaxed)
}

/// Incremented whenever a communicator is made or freed, which invalidates what threads have cached.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Ticks per second.
static RATE: AtomicU64 = AtomicU64::new(1_000_000_000);

/// The state of the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Phase {
    /// MPI is not initialised yet.
    Before = 0,
    Recording = 1,
    /// The trace is closed, or none was requested.
    Over = 2,
}

static PHASE: AtomicU8 = AtomicU8::new(0);

#[inline(always)]
pub fn phase() -> Phase {
    match PHASE.load(Ordering::Relaxed) {
        0 => Phase::Before,
        1 => Phase::Recording,
        _ => Phase::Over,
    }
}

pub fn set_phase(phase: Phase) {
    PHASE.store(phase as u8, Ordering::Release);
}

pub fn set_tick_ps(tick_ps: f64) {
    RATE.store((1e12 / tick_ps) as u64, Ordering::Relaxed);
}

pub fn ticks_in(nanoseconds: u64) -> u64 {
    (u128::from(nanoseconds) * u128::from(RATE.load(Ordering::Relaxed)) / 1_000_000_000) as u64
}

#[inline(always)]
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Acquire)
}

/// Accesses the tables of the process.
#[inline]
pub fn with<R>(work: impl FnOnce(&mut Process) -> R) -> R {
    let _lock = is_concurrent().then(|| TABLES.lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
    // SAFETY: there is no other access, see `Tables`; `work` never calls this function.
    let process = unsafe { &mut *TABLES.process.get() };
    work(process.get_or_insert_with(Process::default))
}

/// Counts something that was not understood.
#[cold]
pub fn not_understood(what: String) {
    with(|process| *process.unknown.entry(what).or_default() += 1);
}

/// Takes what was not understood; empty if the tables are in use, as they may be when a signal ends the process.
pub fn take_unknown() -> BTreeMap<String, u64> {
    let Ok(_lock) = TABLES.lock.try_lock() else { return BTreeMap::new() };
    // SAFETY: the recording is over, so only an interrupted call could be using the tables; it uses
    // another part of them, since what is not understood is noted in one step.
    let process = unsafe { &mut *TABLES.process.get() };
    process.as_mut().map(|process| std::mem::take(&mut process.unknown)).unwrap_or_default()
}

/// Registers the communicators that every process has.
pub fn know_world(rank: u32, size: u32) {
    with(|process| {
        let known = |local, rank, size| Comm { local, rank, size, own_size: size, between: false };
        process.comms.insert(abi().comm_world, known(local_comm::WORLD, rank, size));
        process.comms.insert(abi().comm_self, known(local_comm::SELF, 0, 1));
        process.next_comm = local_comm::FIRST;
    });
}

/// The communicator of a handle. One that was never seen is described with the call that uses it first.
pub fn comm(handle: Handle, attributes: &mut Attributes) -> Comm {
    if handle == abi().comm_null {
        return Comm::NONE;
    }
    let known = with(|process| process.comms.get(&handle).copied());
    known.unwrap_or_else(|| know(handle, attributes))
}

/// Assigns a number to a new communicator and describes it with the current call.
pub fn know(handle: Handle, attributes: &mut Attributes) -> Comm {
    know_like(handle, handle, attributes)
}

/// Like [`know`], for a communicator that is like `model` and must not be queried itself.
pub fn know_like(model: Handle, handle: Handle, attributes: &mut Attributes) -> Comm {
    let (members, remote, rank) = groups(model);
    let neighbors = if remote.is_empty() { topology::neighbors(model) } else { None };
    let between = !remote.is_empty();
    let size = if between { remote.len() } else { members.len() } as u32;
    let local = with(|process| {
        process.next_comm += 1;
        process.next_comm - 1
    });
    let comm = Comm { local, rank, size, own_size: members.len() as u32, between };
    remember(handle, comm);
    let described =
        NewComm { local: comm.local, members: &members, remote: &remote, neighbors: neighbors.as_ref() };
    attributes.new_comm(&described);
    comm
}

pub fn remember(handle: Handle, comm: Comm) {
    with(|process| process.comms.insert(handle, comm));
    GENERATION.fetch_add(1, Ordering::Release);
}

/// Forgets a communicator: its handle may be reused.
pub fn forget(handle: Handle) -> Option<Comm> {
    let known = with(|process| process.comms.remove(&handle));
    GENERATION.fetch_add(1, Ordering::Release);
    known
}

/// World ranks of the members and of the remote group, if there is one, and this process's rank.
fn groups(handle: Handle) -> (Vec<u32>, Vec<u32>, u32) {
    let (mut rank, mut between) = (0i32, 0i32);
    pmpi!(Comm_rank(handle, &raw mut rank));
    pmpi!(Comm_test_inter(handle, &raw mut between));
    let mut group: Handle = 0;
    pmpi!(Comm_group(handle, &raw mut group));
    let members = world_ranks_of_own(group);
    let mut remote = Vec::new();
    if between != 0 {
        pmpi!(Comm_remote_group(handle, &raw mut group));
        remote = world_ranks_of_own(group);
    }
    (members, remote, rank.max(0) as u32)
}

/// The world ranks of a group that this library made and frees.
fn world_ranks_of_own(group: Handle) -> Vec<u32> {
    let mut group = abi().handle(group);
    let ranks = world_ranks(group);
    pmpi!(Group_free(&raw mut group));
    ranks
}

/// The world ranks of a group.
pub fn world_ranks(group: Handle) -> Vec<u32> {
    let mut size = 0i32;
    pmpi!(Group_size(group, &raw mut size));
    let ranks: Vec<i32> = (0..size.max(0)).collect();
    let mut world = vec![UNDEFINED; ranks.len()];
    let mut world_group: Handle = 0;
    pmpi!(Comm_group(abi().comm_world, &raw mut world_group));
    pmpi!(Group_translate_ranks(group, size, ranks.as_ptr(), abi().handle(world_group), world.as_mut_ptr()));
    pmpi!(Group_free(&raw mut world_group));
    world.into_iter().map(|rank| u32::try_from(rank).unwrap_or(u32::MAX)).collect()
}
