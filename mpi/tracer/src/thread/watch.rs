//! Writes the recordings of threads that are busy otherwise, stuck in a call, or ending.

use super::THREADS;
use super::calls::LONGEST_NS;
use crate::clock;
use crate::process::{self, Phase};
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

/// Starts a thread that regularly writes what other threads have recorded, so that a program that
/// hangs leaves a trace of how it got there.
pub fn watch() {
    let block_signals = |how, set: *const libc::sigset_t, old: *mut libc::sigset_t| {
        // SAFETY: both sets are valid or null.
        unsafe { libc::pthread_sigmask(how, set, old) };
    };
    // SAFETY: a set is plain memory, filled right away. The program's signal handlers must not run
    // in this library's thread, which inherits the mask set now.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: `all` is a set for the C library to fill.
    unsafe { libc::sigfillset(&raw mut all) };
    block_signals(libc::SIG_SETMASK, &raw const all, &raw mut before);
    let watching = std::thread::Builder::new().name("straggler".into()).stack_size(1 << 16).spawn(|| {
        while process::phase() == Phase::Recording {
            std::thread::sleep(std::time::Duration::from_nanos(LONGEST_NS));
            write_overdue(clock::ticks());
        }
    });
    block_signals(libc::SIG_SETMASK, &raw const before, null_mut());
    // If the thread cannot be started, blocks are written when threads make calls.
    drop(watching);
}

/// Writes blocks that have waited for long.
fn write_overdue(now: u64) {
    let Ok(threads) = THREADS.try_lock() else { return };
    for thread in threads.iter() {
        // Without a deadline there is nothing to write.
        if (1..now).contains(&thread.deadline.load(Ordering::Relaxed))
            && let Some(mut calls) = thread.calls.take(1)
        {
            calls.write_block();
            thread.deadline.store(0, Ordering::Relaxed);
        }
    }
}

/// How often to check whether a record that is being written is finished. A signal may have ended
/// the process in the middle of one: then the thread never finishes it.
const PATIENCE: u32 = 1_000_000;

/// Writes what all threads have recorded, since the process ends.
pub fn write_all() {
    let threads = THREADS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for thread in threads.iter() {
        if let Some(mut calls) = thread.calls.take(PATIENCE) {
            calls.write_out();
        }
    }
}
