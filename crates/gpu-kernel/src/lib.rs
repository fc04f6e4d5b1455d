//! The GPU engine's kernel compiled for the CPU: tests run the very same source on machines without a GPU. It is compiled twice,
//! as plain C++ and, in [`warps`], as a GPU takes it.

#![allow(unsafe_code)]

use std::ffi::c_void;

unsafe extern "C" {
    fn straggler_begin(plan: *const c_void);
    fn straggler_advance(plan: *const c_void, round: u32);
    fn straggler_conclude(plan: *const c_void);
}

/// Makes all replicas ready to start.
///
/// # Safety
/// `plan` is a `Plan` of the kernel whose addresses are those of arrays as long as it says.
pub unsafe fn begin(plan: *const c_void) {
    // SAFETY: the caller vouches for the plan.
    unsafe { straggler_begin(plan) }
}

/// One round of all processes.
///
/// # Safety
/// As for [`begin`], which was called before.
pub unsafe fn advance(plan: *const c_void, round: u32) {
    // SAFETY: the caller vouches for the plan.
    unsafe { straggler_advance(plan, round) }
}

/// Finds when each replica has finished.
///
/// # Safety
/// As for [`begin`], which was called before.
pub unsafe fn conclude(plan: *const c_void) {
    // SAFETY: the caller vouches for the plan.
    unsafe { straggler_conclude(plan) }
}

/// The side of the source that a GPU takes. Each thread of a warp is a thread of the CPU, so it is slow.
pub mod warps {
    use std::ffi::c_void;

    unsafe extern "C" {
        fn straggler_warps_begin(plan: *const c_void);
        fn straggler_warps_advance(plan: *const c_void, round: u32);
        fn straggler_warps_conclude(plan: *const c_void);
    }

    /// Makes all replicas ready to start.
    ///
    /// # Safety
    /// As for [`super::begin`].
    pub unsafe fn begin(plan: *const c_void) {
        // SAFETY: the caller vouches for the plan.
        unsafe { straggler_warps_begin(plan) }
    }

    /// One round of all processes.
    ///
    /// # Safety
    /// As for [`super::begin`], and [`begin`] was called before.
    pub unsafe fn advance(plan: *const c_void, round: u32) {
        // SAFETY: the caller vouches for the plan.
        unsafe { straggler_warps_advance(plan, round) }
    }

    /// Finds when each replica has finished.
    ///
    /// # Safety
    /// As for [`advance`].
    pub unsafe fn conclude(plan: *const c_void) {
        // SAFETY: the caller vouches for the plan.
        unsafe { straggler_warps_conclude(plan) }
    }
}
