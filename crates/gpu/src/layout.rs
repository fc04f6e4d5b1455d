//! The structures that the kernel reads, field by field as `kernel/engine.cu` has them.

use bytemuck::{Pod, Zeroable};

/// No partner, no slot.
pub const NONE: u32 = u32::MAX;
/// The finish time of a process that did not end.
pub const UNKNOWN: u64 = u64::MAX;
/// The kernel leaves simulated time beyond this to the engines of the CPU, and needs every length below it.
pub const END_OF_TIME: u64 = 1 << 62;

/// The costs of a message of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct MessageCost {
    pub send_overhead: u64,
    pub send_cpu: u64,
    pub recv_overhead: u64,
    pub message_cpu: u64,
    pub nic: u64,
}

/// What a process does in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Entry {
    pub to: u32,
    pub send_slot: u32,
    pub recv_slot: u32,
    /// Indices into the tables of tariffs and durations, eight bits each: the send's tariff, the computation, the
    /// computation afterwards; and [`GOES_ON`].
    pub packed: u32,
}

/// Flag: the next stage begins as soon as the operations of this one have started.
pub const GOES_ON: u32 = 1 << 24;

/// A noise source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Source {
    pub detours: u64,
    pub slots: u64,
    pub length: u64,
    pub count: u32,
    pub shift: u32,
    pub who: u32,
    pub first: u32,
    pub second: u32,
    pub once: u32,
    pub at: u64,
    pub duration: u64,
}

/// Size of `State` in the kernel.
pub const STATE_BYTES: u64 = 64;
/// Slots whose messages share a word of the inbox.
pub const SLOTS_OF_GROUP: u64 = 32;
/// Marks that are read at once.
pub const MARKS_OF_WORD: u64 = 8;

/// The start of a detour of a trace, and the sum of the durations of all before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Detour {
    pub start: u64,
    pub before: u64,
}

/// The kernel's argument; `kernel/plan.h` documents the fields.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Plan {
    pub entries: u64,
    pub stages_of: u64,
    pub slot_from: u64,
    pub slot_tariff: u64,
    pub tariffs: u64,
    pub durations: u64,
    pub sources: u64,
    pub offsets: u64,
    pub arrivals: u64,
    pub inbox: u64,
    pub tops: u64,
    pub states: u64,
    pub marks: u64,
    pub goes_on: u64,
    pub soonest: u64,
    pub latest: u64,
    pub status: u64,

    pub seed: u64,
    pub flight: u64,
    pub threads: u64,
    pub room: u64,
    pub by_process: u32,
    pub by_replica: u32,
    pub processes: u32,
    pub replicas: u32,
    pub first_replica: u32,
    pub cycles: u32,
    pub stages: u32,
    pub slots: u32,
    pub way: u32,
    pub tariffs_differ: u32,
    pub shift: u32,
    pub source_count: u32,
    pub phases: u32,
    pub given: u32,
    pub wallclock: u32,
    pub computation_only: u32,
    pub groups: u32,
    /// Whether the plan is of the usual kind, for which the kernel has a specialised version.
    pub plain: u32,
    pub tariff: MessageCost,
    pub source: Source,
}

const _: () = assert!(size_of::<Plan>() == 344 && size_of::<Source>() == 64 && size_of::<Entry>() == 16);
