//! The contents of one rank's file, independent of its format.

use crate::{Host, Kind, KindInfo, Role};
use std::collections::HashMap;
use std::path::PathBuf;

/// Where operations of several ranks meet: a process group, a communicator, or a pair of ranks.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Channel {
    /// The same on all ranks that take part.
    pub key: String,
    /// The name in messages.
    pub label: String,
    /// The number of ranks that take part, if known.
    pub size: Option<u32>,
    /// Whether its operations have no sequence number and were counted in order of start.
    pub by_order: bool,
    /// Whether numbers count through the whole job, so that equal numbers match whatever the step number.
    pub numbered: bool,
    /// Whether all end together, so that clocks can be compared.
    pub ends_together: bool,
    /// Whether the receiver waits for the sender, but not the other way round.
    pub one_way: bool,
}

/// Where an operation meets its partners: those on the same channel with the same number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meeting {
    /// The index in [`Recorded::channels`].
    pub channel: u32,
    pub number: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct RecordedOp {
    pub step: i64,
    /// The index in [`Recorded::kinds`].
    pub kind: u32,
    pub stream: u16,
    /// Since [`Recorded::origin_ps`].
    pub start_ps: i64,
    pub duration_ps: i64,
    pub meeting: Option<Meeting>,
}

/// An operation of a table; -1 for fields that do not apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableOp {
    pub step: i64,
    pub kind: Kind,
    /// Since [`Recorded::origin_ps`].
    pub start_ps: i64,
    pub end_ps: i64,
    pub chunk: i32,
    pub model_chunk: i32,
    pub microbatch: i32,
    /// The bytes that the rank contributes to a transfer, if recorded.
    pub bytes: Option<u64>,
}

/// Operations of one rank.
#[derive(Debug, Default)]
pub struct Recorded {
    pub path: PathBuf,
    pub rank: Option<u32>,
    /// Whether the file should contain its rank, but does not.
    pub rank_from_name: bool,
    pub world: Option<u32>,
    pub host: Option<String>,
    /// The index of its GPU in its node.
    pub gpu: Option<i64>,
    pub dp_rank: u32,
    pub stage: u32,
    /// Whether the format shows which ranks are data parallel. Otherwise each rank counts as a data-parallel rank.
    pub is_placed: bool,
    /// The number of data-parallel ranks and stages, if known.
    pub size: (u32, u32),
    /// The origin of its times, relative to an epoch that all files of the job share.
    pub origin_ps: i128,
    /// Whether ends were measured, so that clocks can be compared.
    pub has_clock: bool,
    /// Whether starts are unknown and must be derived from the dependencies.
    pub no_starts: bool,
    pub synthetic: bool,
    /// Completely recorded steps, in order.
    pub steps: Vec<i64>,
    /// Steps that were left out, and why.
    pub left_out: Vec<(i64, &'static str)>,
    /// Its communicators, if ranks are known only within them: id, rank and size.
    pub memberships: Vec<(String, u32, u32)>,
    pub kinds: Vec<KindInfo>,
    pub channels: Vec<Channel>,
    pub ops: Vec<RecordedOp>,
    /// `ops` as table operations, if the file allows it; in order of step, kind and start.
    pub table: Option<Vec<TableOp>>,
    /// By operation: how long the GPU was idle before and within it, because the host launched kernels too late. Empty if unknown.
    pub idle_ps: Vec<i64>,
    pub host_facts: Option<Host>,
    /// Kernels that belong to no step, because they were launched before the recording began.
    pub queued: usize,
    /// `(after, before)`: dependencies within the rank. None connects two steps.
    pub edges: Vec<(u32, u32)>,
    /// About this file, without its name.
    pub notes: Vec<String>,
    /// About the format or the whole job. Reported once for all files.
    pub common_notes: Vec<String>,
    /// Like `common_notes`, but not warnings.
    pub remarks: Vec<String>,
}

impl Recorded {
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }

    /// Adds a sentence about this file. The file name is prepended later.
    pub fn note(&mut self, what: &str) {
        self.notes.push(what.to_string());
    }
}

/// A list without duplicates.
#[derive(Debug)]
pub struct Distinct<T> {
    pub items: Vec<T>,
    places: HashMap<T, u32>,
}

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Distinct { items: Vec::new(), places: HashMap::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Distinct<T> {
    pub fn place(&mut self, item: T) -> u32 {
        if let Some(&place) = self.places.get(&item) {
            return place;
        }
        let place = self.items.len() as u32;
        self.items.push(item.clone());
        self.places.insert(item, place);
        place
    }
}

/// Counts the meetings of a channel without sequence numbers, from 0 in every step.
#[derive(Debug, Default)]
pub struct Counter {
    next: HashMap<(i64, u32), u64>,
}

impl Counter {
    pub fn next(&mut self, step: i64, channel: u32) -> u64 {
        let next = self.next.entry((step, channel)).or_default();
        *next += 1;
        *next - 1
    }
}

/// Returns a uniform name for a collective, whether it comes from a kernel
/// (`ncclDevKernel_AllReduce_Sum_f32_RING_LL`), from PyTorch (`allreduce`, `nccl:all_reduce`, `_allgather_base`) or
/// from NCCL (`AllReduce`).
pub fn collective_name(name: &str) -> &'static str {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    const NAMES: [(&str, &str); 13] = [
        ("allreduce", "all_reduce"),
        ("reducescatter", "reduce_scatter"),
        ("allgather", "all_gather"),
        ("alltoall", "all_to_all"),
        ("broadcast", "broadcast"),
        ("sendrecv", "send_recv"),
        ("barrier", "barrier"),
        ("gather", "gather"),
        ("scatter", "scatter"),
        ("reduce", "reduce"),
        ("send", "send"),
        ("recv", "recv"),
        ("receive", "recv"),
    ];
    NAMES.iter().find(|(part, _)| plain.contains(part)).map_or("collective", |&(_, name)| name)
}

/// Whether all ranks of a collective end together, because none has the result before all have sent.
pub fn ends_together(collective: &str) -> bool {
    matches!(collective, "all_reduce" | "reduce_scatter" | "all_gather" | "all_to_all" | "barrier")
}

pub fn communication(collective: &str, detail: &str, bytes: Option<u64>) -> KindInfo {
    let name = if detail.is_empty() { collective.into() } else { format!("{collective} {detail}") };
    KindInfo { bytes, ..KindInfo::launched(name, collective, Role::Communication) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_for_a_collective() {
        assert_eq!(collective_name("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)"), "all_reduce");
        assert_eq!(collective_name("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL"), "reduce_scatter");
        assert_eq!(collective_name("_allgather_base"), "all_gather");
        assert_eq!(collective_name("all_to_allv"), "all_to_all");
        assert_eq!(collective_name("nccl:recv 0<-1"), "recv");
    }
}
