//! A barrier for threads that meet many thousand times per second. It spins a little before it sleeps.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// How often a thread spins before it sleeps, if every thread has a core of its own: some tens of microseconds. Ten
/// times as many made a run on two threads beside two other programs four times as long: while one thread spins, the
/// other waits for that core.
const LOOKS: u32 = 2_000;
/// The same if threads share cores.
const FEW_LOOKS: u32 = 100;

#[derive(Debug)]
pub(super) struct Barrier {
    parties: usize,
    looks: u32,
    arrived: AtomicUsize,
    /// How often all threads have met.
    met: AtomicUsize,
    broken: AtomicBool,
    /// Number of sleeping threads; the thread that wakes them holds the lock.
    sleepers: Mutex<usize>,
    wake: Condvar,
}

impl Barrier {
    pub fn new(parties: usize) -> Barrier {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Barrier {
            parties,
            looks: if parties <= cores { LOOKS } else { FEW_LOOKS },
            arrived: AtomicUsize::new(0),
            met: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            sleepers: Mutex::new(0),
            wake: Condvar::new(),
        }
    }

    /// Waits for all others. Returns false if the barrier was broken up. What a thread did before is visible to all
    /// after.
    pub fn wait(&self) -> bool {
        let met = self.met.load(Ordering::Relaxed);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            self.arrived.store(0, Ordering::Relaxed);
            self.let_go(|| self.met.store(met.wrapping_add(1), Ordering::Release));
            return !self.broken.load(Ordering::Relaxed);
        }
        let waits = || self.met.load(Ordering::Acquire) == met && !self.broken.load(Ordering::Acquire);
        for _ in 0..self.looks {
            if !waits() {
                return !self.broken.load(Ordering::Relaxed);
            }
            std::hint::spin_loop();
        }
        let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        *sleepers += 1;
        while waits() {
            sleepers = self.wake.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
        }
        *sleepers -= 1;
        !self.broken.load(Ordering::Relaxed)
    }

    /// Releases all threads at once, permanently.
    pub fn break_up(&self) {
        self.let_go(|| self.broken.store(true, Ordering::Release));
    }

    fn let_go(&self, change: impl FnOnce()) {
        let sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        change();
        if *sleepers > 0 {
            self.wake.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn nobody_is_a_round_ahead() {
        let (parties, rounds) = (4, 2_000);
        let barrier = Barrier::new(parties);
        let counts: Vec<AtomicU64> = (0..parties).map(|_| AtomicU64::new(0)).collect();
        std::thread::scope(|scope| {
            for own in &counts {
                scope.spawn(|| {
                    for round in 1..=rounds {
                        own.store(round, Ordering::Relaxed);
                        assert!(barrier.wait());
                        for other in &counts {
                            let seen = other.load(Ordering::Relaxed);
                            assert!(seen == round || seen == round + 1, "{seen} in round {round}");
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn a_broken_barrier_holds_nobody() {
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| barrier.wait());
            barrier.break_up();
            assert!(!waiting.join().unwrap());
        });
        assert!(!barrier.wait());
    }
}
