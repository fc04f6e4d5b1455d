//! What a thread remembers: the block it fills, and unsuccessful tests that are only counted.

use crate::abi::Handle;
use crate::completion::Given;
use crate::process::{Comm, Phase};
use crate::turns::Turns;
use crate::{clock, output, process};
use libc::c_void;
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use straggler_trace::call::{NO_COMM, special};
use straggler_trace::format::write::{Attributes, CallBlock, Record};
use straggler_trace::{Class, Function};

/// What is known of a call when it is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    pub function: Function,
    pub enter: u64,
    pub exit: u64,
    pub comm: u32,
    pub peer: i32,
    pub tag: i32,
    pub sent: u64,
    pub received: u64,
    pub made: Option<(u32, u32)>,
    pub error: i32,
}

impl Seen {
    pub fn new(function: Function, enter: u64, exit: u64, error: i32) -> Seen {
        Seen {
            function,
            enter,
            exit,
            comm: NO_COMM,
            peer: special::NONE,
            tag: special::NONE,
            sent: 0,
            received: 0,
            made: None,
            error,
        }
    }
}

/// Unsuccessful calls with the same arguments.
#[derive(Debug)]
struct Poll {
    seen: Seen,
    requests: Vec<u32>,
    calls: u64,
    inside: u64,
}

/// So many different calls a polling loop may go through and still be counted.
const MOST_POLLS: usize = 16;

/// A block is written at the latest after this many nanoseconds, if there is a call then.
const LONGEST_NS: u64 = 100_000_000;

/// The state of one thread. Only its thread touches it, but for who has the turn of `turns`.
#[derive(Debug)]
pub struct Thread {
    number: u32,
    block: CallBlock,
    /// Details of the call that is being recorded.
    pub attributes: Attributes,
    /// The requests given to the call that is being recorded.
    pub requests: Vec<u32>,
    /// Requests and statuses of a call, kept to spare allocations.
    pub given: Vec<Given>,
    pub statuses: Vec<u64>,
    polls: Vec<Poll>,
    /// The communicator last used, valid in a generation of the table.
    last_comm: Option<(Handle, u32, Comm)>,
    /// When the block has to be written at the latest, in ticks; 0 while it is empty.
    deadline: AtomicU64,
    turns: Turns,
}

/// What lies in the thread's own memory; together, since finding it costs more than reading it.
struct Own {
    thread: Cell<*mut Thread>,
    /// Where on the stack a recorded call was entered; 0 outside. What lies deeper is called by the library itself, not by
    /// the program. What lies higher is a new call: the old one was left by an exception or a jump.
    inside: Cell<usize>,
}

thread_local! {
    static OWN: Own = const { Own { thread: Cell::new(null_mut()), inside: Cell::new(0) } };
}

/// All threads there ever were. They are never freed: their calls may not be written yet.
static THREADS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Says that the thread is inside of a call until it is dropped.
#[derive(Debug)]
pub struct Guard(*const Own);

impl Guard {
    /// Sees to it that the thread has its state before the call begins: it may be that of a thread that has ended, whose
    /// calls then lie before this one.
    #[inline(always)]
    pub fn with_state(self) -> Guard {
        Thread::of(&self);
        self
    }
}

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: a guard stays on its thread, whose memory outlives the call.
        unsafe { (*self.0).inside.set(0) };
    }
}

/// Enters a call; none if this is a call inside of a call.
#[inline(always)]
pub fn guard() -> Option<Guard> {
    let here = 0u8;
    let place = &raw const here as usize;
    OWN.with(|own| {
        if place < own.inside.get() {
            return None;
        }
        own.inside.set(place);
        Some(Guard(own))
    })
}

/// The number of the next thread.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// States of threads that have ended, for others.
static FREE: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// The thread ends: what it recorded is written, and its state is for the next one.
unsafe extern "C" fn thread_ends(state: *mut c_void) {
    // SAFETY: the state that `first` has set for this thread.
    let thread = unsafe { &mut *state.cast::<Thread>() };
    thread.turns.begin();
    thread.write_polls();
    output::write_calls(&mut thread.block, thread.number);
    thread.turns.end();
    OWN.with(|own| own.thread.set(null_mut()));
    FREE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(state as usize);
}

/// Asks to be told when the thread ends.
fn tell_when_it_ends(state: *mut Thread) {
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    let key = KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: the key is ours to fill.
        (unsafe { libc::pthread_key_create(&raw mut key, Some(thread_ends)) } == 0).then_some(key)
    });
    if let Some(key) = key {
        // SAFETY: the key is valid; the state is never freed.
        unsafe { libc::pthread_setspecific(*key, state.cast()) };
    }
}

#[cold]
fn first(own: &Own) -> *mut Thread {
    let ended = FREE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
    let address = ended.map_or_else(made, |address| address as *mut Thread);
    // SAFETY: a leaked box that no other thread has; its block is empty, and in our turn nobody looks at it.
    unsafe {
        (*address).turns.begin();
        (*address).number = NEXT.fetch_add(1, Ordering::Relaxed);
        (*address).turns.end();
    }
    own.thread.set(address);
    tell_when_it_ends(address);
    address
}

fn made() -> *mut Thread {
    let mut threads = THREADS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let thread = Box::leak(Box::new(Thread {
        number: 0,
        block: CallBlock::new(),
        attributes: Attributes::new(),
        requests: Vec::new(),
        given: Vec::new(),
        statuses: Vec::new(),
        polls: Vec::new(),
        last_comm: None,
        deadline: AtomicU64::new(0),
        turns: Turns::new(),
    }));
    let address: *mut Thread = thread;
    threads.push(address as usize);
    thread.block.begin(clock::ticks(), 0);
    address
}

impl Thread {
    /// The thread's state, for the caller who holds its guard.
    #[inline(always)]
    #[allow(
        clippy::mut_from_ref,
        reason = "there is one guard a thread at a time, and each call asks it once"
    )]
    pub fn of(guard: &Guard) -> &mut Thread {
        // SAFETY: the pointers are the thread's own; its state is a leaked box that only this thread uses while it is
        // inside of a call, which it enters once.
        unsafe {
            let thread = (*guard.0).thread.get();
            if thread.is_null() { &mut *first(&*guard.0) } else { &mut *thread }
        }
    }

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

    /// Writes a call down, with the attributes and requests collected for it.
    #[inline]
    pub fn record(&mut self, seen: &Seen) {
        self.turns.begin();
        if !self.polls.is_empty() {
            self.write_polls();
        }
        write(&mut self.block, seen, &self.requests, &self.attributes);
        if is_foundation(seen.function) {
            // Without these the rest means little.
            output::write_calls(&mut self.block, self.number);
        }
        self.after(seen.exit);
        self.turns.end();
        if !self.attributes.is_empty() {
            self.attributes.clear();
        }
        self.requests.clear();
    }

    /// Counts a call that found nothing.
    #[inline]
    pub fn poll(&mut self, seen: &Seen) {
        self.turns.begin();
        let same = |poll: &&mut Poll| {
            let known = &poll.seen;
            (known.function, known.comm, known.peer, known.tag)
                == (seen.function, seen.comm, seen.peer, seen.tag)
                && same_requests(&poll.requests, &self.requests)
        };
        let inside = seen.exit.saturating_sub(seen.enter);
        if let Some(poll) = self.polls.iter_mut().find(same) {
            poll.calls += 1;
            poll.inside += inside;
            poll.seen.exit = seen.exit;
        } else {
            if self.polls.len() == MOST_POLLS {
                let oldest = self.polls.remove(0);
                write_poll(&mut self.block, &oldest);
                self.after(seen.exit);
            }
            self.polls.push(Poll { seen: *seen, requests: self.requests.clone(), calls: 1, inside });
        }
        self.turns.end();
        if !self.attributes.is_empty() {
            self.attributes.clear();
        }
        self.requests.clear();
    }

    /// Writes down what was counted.
    fn write_polls(&mut self) {
        for poll in self.polls.drain(..) {
            write_poll(&mut self.block, &poll);
        }
    }

    /// Writes the block when it is full, or has waited for long.
    #[inline(always)]
    fn after(&mut self, now: u64) {
        if self.block.is_full() || now > self.deadline.load(Ordering::Relaxed) {
            self.flush(now);
        }
    }

    #[cold]
    fn flush(&mut self, now: u64) {
        if self.deadline.load(Ordering::Relaxed) != 0 {
            output::write_calls(&mut self.block, self.number);
        }
        self.deadline.store(now.saturating_add(process::ticks_in(LONGEST_NS)), Ordering::Relaxed);
    }
}

/// Calls that others refer to: the first one, and where several threads call, those that make the communicators which blocks of
/// other threads name.
#[inline]
fn is_foundation(function: Function) -> bool {
    match function.class() {
        Class::Init => true,
        Class::NewComm { .. } => NEXT.load(Ordering::Relaxed) > 1,
        _ => false,
    }
}

fn write_poll(block: &mut CallBlock, poll: &Poll) {
    let mut counted = Attributes::new();
    if poll.calls > 1 {
        counted.repeated(poll.calls, poll.inside);
    }
    write(block, &poll.seen, &poll.requests, &counted);
}

/// Lists are short: comparing them here is quicker than calling a function for it.
#[inline(always)]
fn same_requests(a: &[u32], b: &[u32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b)
}

#[inline(always)]
fn write(block: &mut CallBlock, seen: &Seen, requests: &[u32], attributes: &Attributes) {
    block.record(&Record {
        comm: seen.comm,
        peer: seen.peer,
        tag: seen.tag,
        sent: seen.sent,
        received: seen.received,
        made: seen.made,
        requests,
        error: seen.error,
        ..Record::new(seen.function, seen.enter, seen.exit, attributes)
    });
}

/// Writes, now and then, what threads have recorded that are busy with something else or stuck in a call: a program that
/// hangs shall leave a trace of how it got there.
pub fn watch() {
    let block_signals = |how, set: *const libc::sigset_t, old: *mut libc::sigset_t| {
        // SAFETY: both sets are valid or null.
        unsafe { libc::pthread_sigmask(how, set, old) };
    };
    // SAFETY: a set is plain memory, filled right away. The program's handlers must not run in this library's thread, which
    // inherits what is blocked now.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: as above.
    unsafe { libc::sigfillset(&raw mut all) };
    block_signals(libc::SIG_SETMASK, &raw const all, &raw mut before);
    let watching = std::thread::Builder::new().name("straggler".into()).stack_size(1 << 16).spawn(|| {
        while process::phase() == Phase::Recording {
            std::thread::sleep(std::time::Duration::from_nanos(LONGEST_NS));
            write_overdue(clock::ticks());
        }
    });
    block_signals(libc::SIG_SETMASK, &raw const before, null_mut());
    // Without it, blocks are written when threads call.
    drop(watching);
}

/// Writes blocks that have waited for long.
fn write_overdue(now: u64) {
    let Ok(threads) = THREADS.try_lock() else { return };
    for &address in threads.iter() {
        let thread = address as *mut Thread;
        // SAFETY: a box that is never freed; these two are made to be looked at by others.
        let (turns, deadline) = unsafe { (&(*thread).turns, &(*thread).deadline) };
        // Without a deadline nothing is waiting to be written.
        if (1..now).contains(&deadline.load(Ordering::Relaxed)) && turns.take(1) {
            // SAFETY: it is our turn, the thread stays out.
            let other = unsafe { &mut *thread };
            output::write_calls(&mut other.block, other.number);
            other.deadline.store(0, Ordering::Relaxed);
            other.turns.give_back();
        }
    }
}

/// As long as a record may take, in looks at whether it is over. A signal may have ended the process in the middle of one:
/// then the thread never lets go.
const PATIENCE: u32 = 1_000_000;

/// Writes what all threads have recorded: the process ends.
pub fn write_all() {
    let threads = THREADS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for &address in threads.iter() {
        let thread = address as *mut Thread;
        // SAFETY: a leaked box; turns are made to be looked at by others.
        if unsafe { (*thread).turns.take(PATIENCE) } {
            // SAFETY: it is our turn, the thread stays out.
            let thread = unsafe { &mut *thread };
            thread.write_polls();
            output::write_calls(&mut thread.block, thread.number);
            thread.turns.give_back();
        }
    }
}
