//! The state of a thread, and which threads may access it.
//!
//! ```text
//! Entered ─ with_state ─► Guard ─┬─ scratch(): details of the call that is being recorded; the thread's alone
//!                                └─ record(), poll(): a turn at Calls, the block and the counted polls, which the
//!                                   library's own thread also writes (turns.rs)
//! ```
//! A [`Thread`] is only ever shared. A guard is the only way to its scratch, and a thread has one guard at a time.

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
    /// Calls that are recorded but not written yet.
    calls: Turns<Calls>,
    /// When they must be written at the latest, in ticks; 0 if there are none.
    deadline: AtomicU64,
    /// Accessed only through the guard of the thread that owns this state.
    scratch: UnsafeCell<Scratch>,
}

// SAFETY: `scratch` is reached only through a guard, which stays on the thread that owns the state;
// everything else is made for sharing. A state changes its owner only after the owner's thread has
// ended, under the lock of `FREE`.
unsafe impl Sync for Thread {}

/// What is collected for the current call, and lists that are reused to avoid allocations.
#[derive(Debug, Default)]
pub struct Scratch {
    pub attributes: Attributes,
    /// The requests passed to the call.
    pub requests: Vec<RequestId>,
    pub given: Vec<Given>,
    pub statuses: Vec<u64>,
    /// Whether the call is recorded, if that does not depend on whether recording is paused.
    pub recorded: Option<bool>,
    /// The communicator used last, with the generation of the table in which it is valid.
    last_comm: Option<(Handle, u32, Comm)>,
}

impl Scratch {
    /// The communicator of a handle.
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

    /// Clears the scratch after the call has been recorded.
    #[inline(always)]
    fn clear(&mut self) {
        if !self.attributes.is_empty() {
            self.attributes.clear();
        }
        self.requests.clear();
        self.recorded = None;
    }

    /// Whether a call goes into the trace: always, or during a pause if the rest refers to it.
    #[inline(always)]
    fn records(&self, seen: &Seen) -> bool {
        let refers = || !self.requests.is_empty() || self.attributes.describes_communicator();
        match self.recorded {
            Some(recorded) => recorded,
            None => !pausing::is_paused() || pausing::is_kept(seen.function) || refers(),
        }
    }
}

/// Thread-local data, in one place since finding it costs more than reading it.
struct Own {
    thread: Cell<*const Thread>,
    /// The stack address at which a recorded call was entered; 0 outside of calls. A deeper call is
    /// made by the library itself, not by the program. A higher one is a new call: the old one was
    /// left by an exception or a jump.
    inside: Cell<usize>,
}

thread_local! {
    static OWN: Own = const { Own { thread: Cell::new(null()), inside: Cell::new(0) } };
}

/// Marks the thread as inside a call until it is dropped.
#[derive(Debug)]
pub struct Entered(*const Own);

/// Like [`Entered`], with the state of the thread.
#[derive(Debug)]
pub struct Guard {
    thread: &'static Thread,
    _entered: Entered,
}

impl Drop for Entered {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: it contains a raw pointer, so it stays on its thread, whose memory outlives the call.
        unsafe { (*self.0).inside.set(0) };
    }
}

/// Enters a call; `None` if the thread is already inside one.
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
    /// Makes sure that the thread has a state before the call begins. It may be that of a thread
    /// that has ended, whose calls then precede this one.
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
    /// The scratch of the current call.
    #[inline(always)]
    pub fn scratch(&mut self) -> &mut Scratch {
        // SAFETY: a thread has one guard at a time, since it enters a call once, and the guard is
        // borrowed for as long as the returned reference. Nothing else opens the cell.
        unsafe { &mut *self.thread.scratch.get() }
    }

    #[inline(always)]
    fn turn(&self) -> Turn<'static, Calls> {
        // SAFETY: only the thread that owns the state has a guard for it, and each turn ends in the
        // function that began it.
        unsafe { self.thread.calls.begin() }
    }

    /// Records a call, with the attributes and requests collected for it.
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

    /// Counts an unsuccessful poll.
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

/// All threads that ever existed. They are never freed, since their calls may not be written yet.
static THREADS: Mutex<Vec<&'static Thread>> = Mutex::new(Vec::new());

/// The number of the next thread.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// States of threads that have ended, to be reused.
static FREE: Mutex<Vec<&'static Thread>> = Mutex::new(Vec::new());

/// Called when a thread ends: writes what it recorded and releases its state for reuse.
unsafe extern "C" fn thread_ends(state: *mut c_void) {
    // SAFETY: this is the state that `first` has set for this thread; it is never freed.
    let thread: &'static Thread = unsafe { &*state.cast::<Thread>() };
    // SAFETY: the thread is not inside a call, and no other thread has its state yet.
    let mut calls = unsafe { thread.calls.begin() };
    calls.write_out();
    drop(calls);
    OWN.with(|own| own.thread.set(null()));
    FREE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(thread);
}

/// Registers a callback for the end of the thread.
fn register_end(state: &'static Thread) {
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    let key = KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: the key is our own variable.
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
    // SAFETY: no other thread has this state, and this one is in its first call.
    unsafe { thread.calls.begin() }.belong_to(NEXT.fetch_add(1, Ordering::Relaxed));
    own.thread.set(thread);
    register_end(thread);
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

/// Whether more than one thread has made calls.
fn are_several() -> bool {
    NEXT.load(Ordering::Relaxed) > 1
}
