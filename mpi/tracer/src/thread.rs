//! The state of a thread, and which threads may access it.
//!
//! ```text
//! Entered ─ with_state ─► Guard ─┬─ scratch(): details of the call that is being recorded; the thread's alone
//!                                └─ record(), poll(): a turn at Calls, the block and the counted polls, which the
//!                                   library's own thread also writes (turns.rs)
//! ```
//! [`Thread`] is only ever shared. A guard is the one way to its scratch, and there is one guard a thread at a time.

mod calls;
mod watch;

pub use calls::Seen;
pub use watch::{watch, write_all};

use crate::abi::Handle;
use crate::clock;
use crate::completion::Given;
use crate::pausing;
use crate::process::{self, Comm};
use crate::turns::{Turn, Turns};
use calls::Calls;
use libc::c_void;
use std::cell::{Cell, UnsafeCell};
use std::ptr::null;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use straggler_trace::RequestId;
use straggler_trace::format::write::Attributes;

/// The state of one thread.
#[derive(Debug)]
pub struct Thread {
    /// What is recorded and not written yet.
    calls: Turns<Calls>,
    /// When it has to be written at the latest, in ticks; 0 while there is nothing.
    deadline: AtomicU64,
    /// Only the guard of the thread that has this state opens it.
    scratch: UnsafeCell<Scratch>,
}

// SAFETY: `scratch` is reached through a guard only, which stays on the thread that has the state; everything else is made
// to be shared. A state changes hands when its thread has ended, by the lock of `FREE`.
unsafe impl Sync for Thread {}

/// What is collected for the call that is being recorded, and lists that are kept to spare allocations.
#[derive(Debug, Default)]
pub struct Scratch {
    pub attributes: Attributes,
    /// The requests given to the call.
    pub requests: Vec<RequestId>,
    pub given: Vec<Given>,
    pub statuses: Vec<u64>,
    /// Whether the call is recorded, where that does not follow from whether recording is paused.
    pub recorded: Option<bool>,
    /// The communicator last used, valid in a generation of the table.
    last_comm: Option<(Handle, u32, Comm)>,
}

impl Scratch {
    /// The communicator behind a handle.
    #[inline]
    pub fn comm(&mut self, handle: Handle) -> Comm {
        let generation = process::generation();
        if let Some((known, at, comm)) = self.last_comm
            && known == handle
            && at == generation
        {
            return comm;
        }
        let comm = process::comm(handle, &mut self.attributes);
        self.last_comm = Some((handle, process::generation(), comm));
        comm
    }

    /// The call is recorded.
    #[inline(always)]
    fn clear(&mut self) {
        if !self.attributes.is_empty() {
            self.attributes.clear();
        }
        self.requests.clear();
        self.recorded = None;
    }

    /// Whether a call is in the trace: all of them, or what the rest refers to.
    #[inline(always)]
    fn records(&self, seen: &Seen) -> bool {
        let refers = || !self.requests.is_empty() || self.attributes.describes_communicator();
        match self.recorded {
            Some(recorded) => recorded,
            None => !pausing::is_paused() || pausing::is_kept(seen.function) || refers(),
        }
    }
}

/// What lies in the thread's own memory; together, since finding it costs more than reading it.
struct Own {
    thread: Cell<*const Thread>,
    /// Where on the stack a recorded call was entered; 0 outside. What lies deeper is called by the library itself, not by
    /// the program. What lies higher is a new call: the old one was left by an exception or a jump.
    inside: Cell<usize>,
}

thread_local! {
    static OWN: Own = const { Own { thread: Cell::new(null()), inside: Cell::new(0) } };
}

/// Says that the thread is inside of a call until it is dropped.
#[derive(Debug)]
pub struct Entered(*const Own);

/// The same, with the state of the thread.
#[derive(Debug)]
pub struct Guard {
    thread: &'static Thread,
    _entered: Entered,
}

impl Drop for Entered {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: it holds a raw pointer, so it stays on its thread, whose memory outlives the call.
        unsafe { (*self.0).inside.set(0) };
    }
}

/// Enters a call; none if this is a call inside of a call.
#[inline(always)]
pub fn enter() -> Option<Entered> {
    let here = 0u8;
    let place = &raw const here as usize;
    OWN.with(|own| {
        if place < own.inside.get() {
            return None;
        }
        own.inside.set(place);
        Some(Entered(own))
    })
}

impl Entered {
    /// Sees to it that the thread has its state before the call begins: it may be that of a thread that has ended, whose
    /// calls then lie before this one.
    #[inline(always)]
    pub fn with_state(self) -> Guard {
        // SAFETY: as in `drop`; a thread's state is never freed.
        let thread = unsafe {
            let own = &*self.0;
            own.thread.get().as_ref().unwrap_or_else(|| first(own))
        };
        Guard { thread, _entered: self }
    }
}

impl Guard {
    /// What is collected for the call.
    #[inline(always)]
    pub fn scratch(&mut self) -> &mut Scratch {
        // SAFETY: there is one guard a thread at a time, since a thread enters a call once, and it is borrowed for as long
        // as what is given here. Nobody else opens the cell.
        unsafe { &mut *self.thread.scratch.get() }
    }

    #[inline(always)]
    fn turn(&self) -> Turn<'static, Calls> {
        // SAFETY: only the thread that has the state has a guard of it, and each turn ends in the function that began it.
        unsafe { self.thread.calls.begin() }
    }

    /// Writes a call down, with the attributes and requests collected for it.
    #[inline]
    pub fn record(&mut self, seen: &Seen) {
        if !self.scratch().records(seen) {
            return self.scratch().clear();
        }
        let (thread, mut calls) = (self.thread, self.turn());
        let scratch = self.scratch();
        calls.record(seen, &scratch.requests, &scratch.attributes, &thread.deadline);
        drop(calls);
        scratch.clear();
    }

    /// Counts a call that found nothing.
    #[inline]
    pub fn poll(&mut self, seen: &Seen) {
        if pausing::is_paused() {
            return self.scratch().clear();
        }
        let (thread, mut calls) = (self.thread, self.turn());
        let scratch = self.scratch();
        calls.poll(seen, &scratch.requests, &thread.deadline);
        drop(calls);
        scratch.clear();
    }
}

/// All threads there ever were. They are never freed: their calls may not be written yet.
static THREADS: Mutex<Vec<&'static Thread>> = Mutex::new(Vec::new());

/// The number of the next thread.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// States of threads that have ended, for others.
static FREE: Mutex<Vec<&'static Thread>> = Mutex::new(Vec::new());

/// The thread ends: what it recorded is written, and its state is for the next one.
unsafe extern "C" fn thread_ends(state: *mut c_void) {
    // SAFETY: the state that `first` has set for this thread; it is never freed.
    let thread: &'static Thread = unsafe { &*state.cast::<Thread>() };
    // SAFETY: the thread is inside of no call, and no other has its state yet.
    let mut calls = unsafe { thread.calls.begin() };
    calls.write_out();
    drop(calls);
    OWN.with(|own| own.thread.set(null()));
    FREE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(thread);
}

/// Asks to be told when the thread ends.
fn tell_when_it_ends(state: &'static Thread) {
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    let key = KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: the key is ours to fill.
        (unsafe { libc::pthread_key_create(&raw mut key, Some(thread_ends)) } == 0).then_some(key)
    });
    if let Some(key) = key {
        // SAFETY: the key is valid; the state is never freed.
        unsafe { libc::pthread_setspecific(*key, (&raw const *state).cast()) };
    }
}

#[cold]
fn first(own: &Own) -> &'static Thread {
    let ended = FREE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
    let thread = ended.unwrap_or_else(made);
    // SAFETY: no other thread has this state, and this one is at its first call.
    unsafe { thread.calls.begin() }.belong_to(NEXT.fetch_add(1, Ordering::Relaxed));
    own.thread.set(thread);
    tell_when_it_ends(thread);
    thread
}

fn made() -> &'static Thread {
    let thread: &'static Thread = Box::leak(Box::new(Thread {
        calls: Turns::new(Calls::new(clock::ticks())),
        deadline: AtomicU64::new(0),
        scratch: UnsafeCell::new(Scratch::default()),
    }));
    THREADS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(thread);
    thread
}

/// Whether more than one thread has called.
fn are_several() -> bool {
    NEXT.load(Ordering::Relaxed) > 1
}
