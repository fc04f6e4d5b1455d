//! The GPU engine's kernel compiled for the CPU: tests run the very same source on machines without a GPU. It is compiled twice:
//! as plain C++ with a loop instead of the grid, and as a GPU takes it, with a thread of the CPU for each of a warp, which is slow.
//!
//! All functions take a `Plan` of the kernel whose addresses are those of arrays as long as it says. `begin` makes all replicas
//! ready to start, `advance` runs a round, `conclude` finds when each replica has finished; they are called in this order.

#![allow(unsafe_code)]

use std::ffi::c_void;

unsafe extern "C" {
    pub fn straggler_begin(plan: *const c_void);
    pub fn straggler_advance(plan: *const c_void, round: u32);
    pub fn straggler_conclude(plan: *const c_void);

    pub fn straggler_warps_begin(plan: *const c_void);
    pub fn straggler_warps_advance(plan: *const c_void, round: u32);
    pub fn straggler_warps_conclude(plan: *const c_void);
}
