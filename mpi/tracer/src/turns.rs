//! Mutual exclusion for the state of a thread, which the thread itself accesses at every call, and
//! other threads now and then.
//!
//! The thread itself must not pay for others that come every tenth of a second, so it only writes
//! one flag and reads another, without a fence. A thread from outside instead has the kernel run a
//! fence on all processors (membarrier, Linux 4.14): after that, either it sees the thread's flag,
//! or the thread sees its own.
//!
//! The state is private: only a [`Turn`] gives a reference to it, and a turn ends when it is
//! dropped. The folder `loom` next to this one builds this file with loom's atomics, which tries
//! all orders in which two threads can interleave.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::compiler_fence;
use sync::{AtomicBool, Cell, Open, Ordering, fence, spin, yield_now};

/// What the model checker replaces.
#[cfg(not(loom))]
mod sync {
    pub use std::hint::spin_loop as spin;
    pub use std::sync::atomic::{AtomicBool, Ordering, fence};
    pub use std::thread::yield_now;

    pub struct Cell<T>(std::cell::UnsafeCell<T>);

    /// A pointer to the contents of a cell.
    pub struct Open<T>(*mut T);

    impl<T> Cell<T> {
        pub const fn new(value: T) -> Cell<T> {
            Cell(std::cell::UnsafeCell::new(value))
        }

        #[inline(always)]
        pub fn open(&self) -> Open<T> {
            Open(self.0.get())
        }
    }

    impl<T> Open<T> {
        #[inline(always)]
        pub fn at(&self) -> *mut T {
            self.0
        }
    }
}

#[cfg(loom)]
mod sync {
    pub use loom::hint::spin_loop as spin;
    pub use loom::sync::atomic::{AtomicBool, Ordering, fence};
    pub use loom::thread::yield_now;

    pub struct Cell<T>(loom::cell::UnsafeCell<T>);

    /// While it exists, the checker reports any other access as an error.
    pub struct Open<T>(loom::cell::MutPtr<T>);

    impl<T> Cell<T> {
        pub fn new(value: T) -> Cell<T> {
            Cell(loom::cell::UnsafeCell::new(value))
        }

        pub fn open(&self) -> Open<T> {
            Open(self.0.get_mut())
        }
    }

    impl<T> Open<T> {
        pub fn at(&self) -> *mut T {
            self.0.with(|at| at)
        }
    }
}

/// Whether the kernel runs fences for us. Otherwise every turn begins with one.
static FENCED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// From `linux/membarrier.h`.
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call does not access memory of the process.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Registers with the kernel; must be called before any thread is recorded.
#[cfg_attr(loom, allow(dead_code))]
pub fn prepare() {
    FENCED.store(membarrier(REGISTER_PRIVATE_EXPEDITED), Ordering::SeqCst);
}

/// The state of one thread, accessed by turns.
pub struct Turns<T> {
    /// Whether the thread is accessing its state.
    busy: AtomicBool,
    /// Whether another thread is accessing it, or wants to.
    wanted: AtomicBool,
    state: Cell<T>,
}

// SAFETY: the state is reached only through a turn. There is one at a time: the thread's own waits
// while `wanted` is set, and one from outside is granted only if `busy` was seen unset after
// `wanted` was set. So threads hand the state to each other.
unsafe impl<T: Send> Sync for Turns<T> {}

impl<T> fmt::Debug for Turns<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turns").finish_non_exhaustive()
    }
}

/// Access to the state until it is dropped.
pub struct Turn<'a, T> {
    state: ManuallyDrop<Open<T>>,
    /// The flag that marks the state as taken.
    flag: &'a AtomicBool,
}

impl<T> fmt::Debug for Turn<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").finish_non_exhaustive()
    }
}

impl<T> Deref for Turn<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: only this turn accesses the state until it is dropped, see `Turns`.
        unsafe { &*self.state.at() }
    }
}

impl<T> DerefMut for Turn<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: only this turn accesses the state, see `Turns`, and it is borrowed for as long as
        // the returned reference.
        unsafe { &mut *self.state.at() }
    }
}

impl<T> Drop for Turn<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: dropped only here; it must be gone before the flag lets others in.
        unsafe { ManuallyDrop::drop(&mut self.state) };
        self.flag.store(false, Ordering::Release);
    }
}

impl<T> Turns<T> {
    pub fn new(state: T) -> Turns<T> {
        Turns { busy: AtomicBool::new(false), wanted: AtomicBool::new(false), state: Cell::new(state) }
    }

    /// The thread's own turn.
    ///
    /// # Safety
    /// The thread is the only one that calls this, and has no turn already.
    #[inline(always)]
    pub unsafe fn begin(&self) -> Turn<'_, T> {
        self.announce();
        if self.wanted.load(Ordering::Acquire) {
            self.wait();
        }
        Turn { state: ManuallyDrop::new(self.state.open()), flag: &self.busy }
    }

    #[inline(always)]
    fn announce(&self) {
        self.busy.store(true, Ordering::Relaxed);
        if FENCED.load(Ordering::Relaxed) {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    /// Waits until the other thread is done, which is soon: it writes a block.
    #[cold]
    fn wait(&self) {
        let mut yields = 0;
        while self.wanted.load(Ordering::Acquire) {
            self.busy.store(false, Ordering::Release);
            // By yielding alone, a thread of high priority could keep the other one from running.
            if yields < 100 || cfg!(loom) {
                yield_now();
            } else {
                std::thread::sleep(std::time::Duration::from_micros(50));
            }
            yields += 1;
            self.announce();
        }
    }

    /// Takes a turn from outside, if no other thread wants one and the thread leaves its state
    /// within `looks` checks.
    pub fn take(&self, looks: u32) -> Option<Turn<'_, T>> {
        self.wanted.compare_exchange(false, true, Ordering::SeqCst, Ordering::Relaxed).ok()?;
        let fenced = if FENCED.load(Ordering::Relaxed) {
            membarrier(PRIVATE_EXPEDITED)
        } else {
            fence(Ordering::SeqCst);
            true
        };
        let free = fenced
            && (0..looks).any(|_| {
                spin();
                !self.busy.load(Ordering::Acquire)
            });
        if !free {
            self.wanted.store(false, Ordering::Release);
            return None;
        }
        Some(Turn { state: ManuallyDrop::new(self.state.open()), flag: &self.wanted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two values that are equal whenever no thread is changing them.
    type Both = [u64; 2];

    fn touch(both: &mut Both) {
        assert_eq!(both[0], both[1]);
        both[0] += 1;
        std::hint::black_box(&mut *both);
        both[1] += 1;
    }

    /// With the kernel's fences and with our own.
    #[cfg(not(loom))]
    #[test]
    fn nobody_comes_in_between() {
        for own_fences in [false, true] {
            if !own_fences {
                prepare();
            }
            FENCED.fetch_and(!own_fences, Ordering::SeqCst);
            let turns = Turns::new([0; 2]);
            let taken = std::thread::scope(|scope| {
                let own = scope.spawn(|| {
                    for _ in 0..30_000 {
                        // SAFETY: only this thread begins turns, and each ends here.
                        touch(&mut *unsafe { turns.begin() });
                    }
                });
                let mut taken = 0;
                while !own.is_finished() {
                    if let Some(mut turn) = turns.take(10) {
                        touch(&mut turn);
                        taken += 1;
                    }
                }
                taken
            });
            assert_eq!(*turns.take(1).unwrap(), [30_000 + taken; 2]);
        }
    }

    #[cfg(not(loom))]
    #[test]
    fn a_turn_is_not_given_twice() {
        let turns = Turns::new([0; 2]);
        let first = turns.take(1).unwrap();
        assert!(turns.take(1).is_none());
        drop(first);
        assert!(turns.take(1).is_some());
    }

    /// All interleavings of a thread with two calls and another that comes once, up to four preemptions.
    /// The checker detects overlapping turns, and writes of one turn that the next does not see.
    #[cfg(loom)]
    #[test]
    fn turns_exclude_each_other() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(4);
        model.check(|| {
            let turns = loom::sync::Arc::new(Turns::new([0; 2]));
            let other = turns.clone();
            let other = loom::thread::spawn(move || match other.take(1) {
                Some(mut turn) => {
                    touch(&mut turn);
                    1
                }
                None => 0,
            });
            for _ in 0..2 {
                // SAFETY: only this thread begins turns, and each ends here.
                touch(&mut *unsafe { turns.begin() });
            }
            let taken: u64 = other.join().unwrap();
            assert_eq!(*turns.take(1).unwrap(), [2 + taken; 2]);
        });
    }
}
