//! The GPU engine's kernel compiled for the CPU: tests run the same source on machines without a GPU. It is compiled
//! twice: as plain C++ with a loop instead of the grid, and its CUDA side with a CPU thread for each thread of a
//! warp, which is slow.
//!
//! All functions take a `Plan` of the kernel, whose addresses must point to arrays of the lengths it states. Call
//! `begin` to prepare all replicas, `advance` for each round, and then `conclude` to compute finish times.

#![allow(unsafe_code)]

use std::ffi::c_void;

unsafe extern "C" {
    /// Prepares all replicas.
    pub fn straggler_begin(plan: *const c_void);
    /// Runs one round.
    pub fn straggler_advance(plan: *const c_void, round: u32);
    /// Computes the finish times.
    pub fn straggler_conclude(plan: *const c_void);

    /// As `straggler_begin`, with a CPU thread for each thread of a warp.
    pub fn straggler_warps_begin(plan: *const c_void);
    /// As `straggler_advance`, with a CPU thread for each thread of a warp.
    pub fn straggler_warps_advance(plan: *const c_void, round: u32);
    /// As `straggler_conclude`, with a CPU thread for each thread of a warp.
    pub fn straggler_warps_conclude(plan: *const c_void);
}
