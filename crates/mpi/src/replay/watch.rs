//! Ends a job in which a call waits forever.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Interval between two checks.
const LOOK: Duration = Duration::from_millis(100);

/// The instruction that a process is in. A separate thread, which never calls MPI, checks it.
#[derive(Debug)]
pub struct Watch {
    /// The number of the instruction plus 1, or 0 outside of any.
    place: Arc<AtomicU64>,
}

impl Watch {
    /// Calls `give_up` with the instruction in which the process has been for longer than `patience`.
    pub fn begin(patience: Duration, give_up: impl FnOnce(u32) + Send + 'static) -> Watch {
        let place = Arc::new(AtomicU64::new(0));
        let seen = Arc::downgrade(&place);
        std::thread::spawn(move || {
            let (mut last, mut since) = (0, Instant::now());
            // The run is over when the watch has been dropped.
            while let Some(place) = seen.upgrade() {
                let now = place.load(Ordering::Relaxed);
                drop(place);
                if now != last || now == 0 {
                    (last, since) = (now, Instant::now());
                } else if since.elapsed() > patience {
                    return give_up((now - 1) as u32);
                }
                std::thread::sleep(LOOK);
            }
        });
        Watch { place }
    }

    #[inline]
    pub fn enter(&self, instruction: u32) {
        self.place.store(u64::from(instruction) + 1, Ordering::Relaxed);
    }

    #[inline]
    pub fn leave(&self) {
        self.place.store(0, Ordering::Relaxed);
    }
}
