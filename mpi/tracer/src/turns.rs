//! Whose turn it is to touch the state of a thread: its own, at every call, or somebody else's, now and then.
//!
//! The thread itself must not pay for others who come every tenth of a second, so it only writes one flag and reads another,
//! without a fence. Who comes from outside has the kernel run a fence on all processors instead (membarrier, Linux 4.14):
//! after that, either the thread's flag is seen here, or the thread sees ours.

use std::sync::atomic::{AtomicBool, Ordering, compiler_fence, fence};

/// Whether the kernel runs fences for us. Without that every turn begins with one.
static FENCED: AtomicBool = AtomicBool::new(false);

/// Of `linux/membarrier.h`.
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call touches no memory of the process.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Asks the kernel for its help; before any thread is recorded.
pub fn prepare() {
    FENCED.store(membarrier(REGISTER_PRIVATE_EXPEDITED), Ordering::SeqCst);
}

/// The turns of one thread.
#[derive(Debug)]
pub struct Turns {
    /// The thread is at its state.
    busy: AtomicBool,
    /// Somebody else is, or wants to be.
    wanted: AtomicBool,
}

impl Turns {
    pub const fn new() -> Turns {
        Turns { busy: AtomicBool::new(false), wanted: AtomicBool::new(false) }
    }

    /// The thread's own turn begins.
    #[inline(always)]
    pub fn begin(&self) {
        self.announce();
        if self.wanted.load(Ordering::Acquire) {
            self.wait();
        }
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

    /// Steps back until the other one is done, which is soon: it writes a block.
    #[cold]
    fn wait(&self) {
        let mut yields = 0;
        while self.wanted.load(Ordering::Acquire) {
            self.busy.store(false, Ordering::Release);
            // A thread of high priority would keep the other one from its core by yielding alone.
            if yields < 100 {
                std::thread::yield_now();
            } else {
                std::thread::sleep(std::time::Duration::from_micros(50));
            }
            yields += 1;
            self.announce();
        }
    }

    #[inline(always)]
    pub fn end(&self) {
        self.busy.store(false, Ordering::Release);
    }

    /// Takes the turn from outside, if the thread is not at its state for `looks` looks; one at a time may try.
    pub fn take(&self, looks: u32) -> bool {
        self.wanted.store(true, Ordering::SeqCst);
        let fenced = if FENCED.load(Ordering::Relaxed) {
            membarrier(PRIVATE_EXPEDITED)
        } else {
            fence(Ordering::SeqCst);
            true
        };
        let free = fenced
            && (0..looks).any(|_| {
                std::hint::spin_loop();
                !self.busy.load(Ordering::Acquire)
            });
        if !free {
            self.give_back();
        }
        free
    }

    /// The turn from outside is over.
    pub fn give_back(&self) {
        self.wanted.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::UnsafeCell;

    struct Shared {
        turns: Turns,
        /// Two that are always equal when nobody is at them.
        both: UnsafeCell<[u64; 2]>,
    }

    // SAFETY: `both` is only touched by who has the turn.
    unsafe impl Sync for Shared {}

    impl Shared {
        /// Only for who has the turn.
        fn touch(&self) {
            // SAFETY: the caller has the turn.
            let both = unsafe { &mut *self.both.get() };
            assert_eq!(both[0], both[1]);
            both[0] += 1;
            std::hint::black_box(&mut *both);
            both[1] += 1;
        }
    }

    /// With the kernel's fences and with our own.
    #[test]
    fn nobody_comes_in_between() {
        for own_fences in [false, true] {
            if !own_fences {
                prepare();
            }
            FENCED.fetch_and(!own_fences, Ordering::SeqCst);
            let shared = Shared { turns: Turns::new(), both: UnsafeCell::new([0; 2]) };
            let taken = std::thread::scope(|scope| {
                let own = scope.spawn(|| {
                    for _ in 0..30_000 {
                        shared.turns.begin();
                        shared.touch();
                        shared.turns.end();
                    }
                });
                let mut taken = 0;
                while !own.is_finished() {
                    if shared.turns.take(10) {
                        shared.touch();
                        shared.turns.give_back();
                        taken += 1;
                    }
                }
                taken
            });
            let both = shared.both.into_inner();
            assert_eq!(both, [30_000 + taken; 2]);
        }
    }
}
