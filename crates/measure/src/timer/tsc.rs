//! The time stamp counter of x86-64.

use super::Clock;
use std::arch::x86_64::{_mm_lfence, _rdtsc};

/// RDTSC. [`super::invariance`] checks whether it is usable as a clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tsc;

impl Clock for Tsc {
    const NAME: &'static str = "TSC";

    #[inline(always)]
    fn now(&mut self) -> u64 {
        // SAFETY: RDTSC touches no memory; every x86-64 processor has it, and where the kernel forbids it
        // (PR_SET_TSC) the process gets a signal, never a wrong value.
        #[allow(unsafe_code)]
        unsafe {
            _rdtsc()
        }
    }

    /// LFENCE waits for all instructions before it and holds back those after it.
    #[inline(always)]
    fn fenced(&mut self) -> u64 {
        fence();
        let now = self.now();
        fence();
        now
    }
}

#[inline(always)]
fn fence() {
    // SAFETY: LFENCE touches no memory and belongs to SSE2, which every x86-64 processor has.
    #[allow(unsafe_code, unused_unsafe)]
    unsafe {
        _mm_lfence();
    }
}
