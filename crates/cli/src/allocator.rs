//! How the C library's allocator asks the system for memory.

/// Makes every thread's heap grow in large steps. Threads that simulate side by side take gigabytes in small pieces; with
/// the usual steps of 128 KiB they wait for one another in the kernel at every step: a run of 2^24 processes on 16
/// threads spent 3 of 20 CPU seconds there. Memory that nobody touches costs nothing.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn grow_in_large_steps() {
    const STEP: libc::c_int = 32 << 20;
    // SAFETY: no other thread runs yet, and the settings change only when the allocator talks to the system. Setting one
    // freezes the others, so that blocks which the allocator would learn to keep are named besides.
    #[allow(unsafe_code)]
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, STEP);
        libc::mallopt(libc::M_MMAP_THRESHOLD, STEP);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 2 * STEP);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn grow_in_large_steps() {}
