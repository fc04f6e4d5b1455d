//! How the C library's allocator asks the system for memory.

/// Makes every thread's heap grow in large steps. Threads that simulate side by side take gigabytes in small pieces; with
/// the usual steps of 128 KiB they wait for one another in the kernel at every step: a run of 2^24 processes on 16
/// threads spent 3 of 20 CPU seconds there. Memory that nobody touches costs nothing.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn grow_in_large_steps() {
    const STEP: libc::c_int = 64 << 20;
    /// Blocks from this size on come from the system one by one, zeroed. The allocator would find such a size by itself,
    /// but not once another setting is given.
    const LARGE: libc::c_int = 4 << 20;
    // SAFETY: the allocator takes its own lock for this, and the settings only say it talks to the system.
    #[allow(unsafe_code)]
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, STEP);
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 2 * STEP);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn grow_in_large_steps() {}
