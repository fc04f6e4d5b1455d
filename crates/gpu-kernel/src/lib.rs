//! The GPU engine's kernel compiled as plain C++ for the CPU: tests run the very same source on machines without a GPU.

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
