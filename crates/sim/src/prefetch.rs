//! Prefetching: tells the processor which memory is needed soon. Only a hint; nothing is read.
//!
//! Measured with an allreduce of 2^20 processes under 100 µs of noise every millisecond, where a window
//! touches scattered processes: 3.8 million messages per second without prefetching, 6.8 with it.

/// Prefetches the cache line of the item at `index`, if there is one.
#[inline(always)]
pub(crate) fn prefetch_at<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start: *const i8 = items.as_ptr().wrapping_add(index).cast();
        // SAFETY: a prefetch accesses no memory and cannot fault, whatever the address.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(start);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}

/// Prefetches the cache lines of `item`.
#[inline(always)]
pub(crate) fn prefetch<T>(item: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start: *const i8 = std::ptr::from_ref(item).cast();
        for line in (0..size_of::<T>()).step_by(64) {
            // SAFETY: a prefetch accesses no memory and cannot fault; the address is inside `item`.
            #[allow(unsafe_code)]
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(start.add(line));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = item;
}
