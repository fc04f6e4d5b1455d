//! The kernel's own clock, for calibration and for processors without a usable counter.

use super::Clock;
use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC_RAW, which is not adjusted by time services.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicRaw;

/// Reads the clock in nanoseconds.
#[inline]
pub fn raw_ns() -> u64 {
    let now = clock_gettime(ClockId::MonotonicRaw);
    // Both are positive: the clock counts from boot.
    (now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64)
}

impl Clock for MonotonicRaw {
    const NAME: &'static str = "CLOCK_MONOTONIC_RAW";

    #[inline]
    fn now(&mut self) -> u64 {
        raw_ns()
    }
}
