//! How memory is taken from the system, and what happens if there is none.

use crate::kernel::exit::Exit;
use std::alloc::{GlobalAlloc, Layout, System};

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

/// The system's allocator. Where it has no more memory, the program ends with a sentence; Rust would abort.
#[derive(Debug)]
pub struct Refusing;

/// Larger requests are passed on: they come from `try_reserve`, with a length that a file states.
const LARGEST: usize = 1 << 36;

// SAFETY: every call is passed on to the system's allocator, and what that returns is returned unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of this function.
        granted(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        granted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        granted(unsafe { System.realloc(place, layout, size) }, size)
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }
}

fn granted(place: *mut u8, size: usize) -> *mut u8 {
    if place.is_null() && size < LARGEST {
        end();
    }
    place
}

/// Ends the program. Nothing here allocates.
#[cold]
fn end() -> ! {
    let text =
        "error: out of memory: the system refused more; use a machine with more memory, or less input\n";
    let _ = rustix::io::write(std::io::stderr(), text.as_bytes());
    // SAFETY: ends the process at once, without the destructors of others.
    #[allow(unsafe_code)]
    unsafe {
        libc::_exit(Exit::BadInput as i32)
    }
}
