//! The counter that times calls, and its relation to the operating system's clock.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the processor's counter runs at a constant rate and can be used.
static COUNTER: AtomicBool = AtomicBool::new(false);

/// Determines whether the processor's counter can be used.
pub fn choose() {
    COUNTER.store(invariant(), Ordering::Relaxed);
}

#[cfg(target_arch = "x86_64")]
fn invariant() -> bool {
    use std::arch::x86_64::__cpuid;
    // Leaf 0x80000007: bit 8 of EDX means that the counter has a constant rate.
    __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx >> 8 & 1 == 1
}

#[cfg(target_arch = "aarch64")]
fn invariant() -> bool {
    true
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn invariant() -> bool {
    false
}

/// The counter, in ticks of unknown length; nanoseconds if there is no usable counter.
#[inline(always)]
pub fn ticks() -> u64 {
    if !COUNTER.load(Ordering::Relaxed) {
        return nanoseconds();
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reading the counter has no preconditions on x86-64.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    {
        let value: u64;
        // SAFETY: the virtual counter is readable by programs on Linux.
        unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) value, options(nomem, nostack)) };
        value
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    nanoseconds()
}

/// The operating system's monotonic clock.
pub fn nanoseconds() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// The system's real-time clock, since 1970.
pub fn wall_nanoseconds() -> u64 {
    clock(libc::CLOCK_REALTIME)
}

fn clock(which: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours.
    unsafe { libc::clock_gettime(which, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The counter and the clock at the same moment: the closest of a few readings.
pub fn anchor() -> (u64, u64) {
    let reading = |_| {
        let before = ticks();
        let clock = nanoseconds();
        let after = ticks();
        (after.wrapping_sub(before), before.wrapping_add(after.wrapping_sub(before) / 2), clock)
    };
    let best = (0..4).map(reading).min();
    best.map_or((0, 0), |(_, ticks, clock)| (ticks, clock))
}

/// How long a tick is, in picoseconds, measured over about a millisecond.
pub fn tick_ps() -> f64 {
    let first = anchor();
    while nanoseconds() < first.1 + 1_000_000 {
        std::hint::spin_loop();
    }
    let last = anchor();
    let ticks = last.0.wrapping_sub(first.0) as f64;
    if ticks > 0.0 { (last.1 - first.1) as f64 * 1000.0 / ticks } else { 1000.0 }
}
