//! The virtual counter of AArch64.

use super::Clock;
use std::arch::asm;

/// CNTVCT_EL0: by architecture the same rate on all cores, but often slow: 25 MHz to 1 GHz.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cntvct;

impl Clock for Cntvct {
    const NAME: &'static str = "CNTVCT";

    #[inline(always)]
    fn now(&mut self) -> u64 {
        let ticks: u64;
        // SAFETY: reads a counter that Linux lets user space read; no memory, no flags, no stack.
        #[allow(unsafe_code)]
        unsafe {
            asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags));
        }
        ticks
    }

    /// ISB keeps the read from moving before earlier instructions, and later ones from moving before the
    /// read.
    #[inline(always)]
    fn fenced(&mut self) -> u64 {
        let ticks: u64;
        // SAFETY: as above; ISB only drains the pipeline. Without `nomem` the compiler moves no access past it.
        #[allow(unsafe_code)]
        unsafe {
            asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) ticks, options(nostack, preserves_flags));
        }
        ticks
    }
}
