//! How the C library's allocator asks the system for memory.

/// Makes every thread's heap grow in large steps. Threads that simulate in parallel allocate gigabytes in small pieces.
/// With the default step of 128 KiB they contend in the kernel at every step: a run of 2^24 processes on 16 threads
/// spent 3 of 20 CPU seconds there. Untouched memory costs nothing.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn grow_in_large_steps() {
    const STEP: libc::c_int = 64 << 20;
    /// Blocks of at least this size get a mapping of their own, already zeroed. By default the allocator adapts this
    /// threshold itself, but it stops once any of these settings is changed.
    const LARGE: libc::c_int = 4 << 20;
    // SAFETY: the allocator takes its own lock for this; the settings only change how it gets memory.
    #[allow(unsafe_code)]
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, STEP);
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 2 * STEP);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn grow_in_large_steps() {}
