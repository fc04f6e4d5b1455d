//! Where the time of a traced run goes: by rank, by function, by communicator, between whom data moves, and when.
//!
//! As in mpiP, the run of a rank lies between its MPI_Init and its MPI_Finalize, and these two do not
//! count as time in MPI. Nor does what a pause leaves out (`pauses.rs`). A call inside another call
//! counts, but its time belongs to the outer one. Bytes are those the calls name: for a collective,
//! what the rank gives and gets according to its arguments, not what an algorithm moves. A persistent
//! operation counts where it is started. Messages to and from MPI_PROC_NULL move nothing.

mod pattern;
mod regions;
mod sites;
mod sizes;

pub use pattern::{Dot, Pattern};
pub use regions::{Region, RegionCounts, RegionName};
pub use sites::SiteProfile;
pub use sizes::{POINT_TO_POINT, SizeClass};

use crate::call::{Call, CommId, special};
use crate::messages::Ends;
use crate::operations::{Acted, Operation, Operations};
use crate::pauses::Pauses;
use crate::sites::SiteId;
use crate::trace::{RankTrace, Trace};
use crate::{Class, Function, Start};
use regions::Marks;
use serde::Serialize;
use std::collections::BTreeMap;
use straggler_model::time::in_seconds;
use straggler_model::{Rank, Time};

/// A traced run in numbers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Profile {
    pub ranks: Vec<RankProfile>,
    /// Over all ranks, most time first.
    pub functions: Vec<(Function, Counts)>,
    /// By communicator, most time first; calls without one are left out.
    pub communicators: Vec<(CommId, Counts)>,
    /// Regions that the program marked, most time first.
    pub regions: Vec<Region>,
    /// Call sites, most time first; empty if they were not recorded.
    pub sites: Vec<SiteProfile>,
    /// How long messages are, by kind and length.
    pub sizes: Vec<SizeClass>,
    /// Messages between pairs of ranks, by sender and receiver.
    pub matrix: Vec<Pair>,
    pub pattern: Pattern,
}

/// One rank of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RankProfile {
    /// From the end of its MPI_Init to the beginning of its MPI_Finalize.
    pub start: Time,
    pub end: Time,
    /// How long recording was paused in between.
    pub paused: Time,
    /// Time in MPI, summed over all threads.
    pub mpi: Time,
    pub threads: u32,
    pub calls: u64,
    pub functions: BTreeMap<Function, Counts>,
    pub sites: BTreeMap<(SiteId, Function), Counts>,
    pub regions: BTreeMap<RegionName, RegionCounts>,
}

/// Totals over many calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    pub calls: u64,
    #[serde(rename = "seconds", serialize_with = "in_seconds")]
    pub time: Time,
    /// The longest single call. Polls that were only counted enter with their mean.
    #[serde(rename = "longest_seconds", serialize_with = "in_seconds")]
    pub longest: Time,
    #[serde(rename = "bytes_sent")]
    pub sent: u64,
    #[serde(rename = "bytes_received")]
    pub received: u64,
}

/// The messages one rank sent to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Pair {
    pub from: Rank,
    pub to: Rank,
    pub messages: u64,
    pub bytes: u64,
}

impl RankProfile {
    /// The time of the run without pauses, summed over all threads.
    pub fn application(&self) -> Time {
        Time(
            self.end.since(self.start).since(self.paused).ps().saturating_mul(u64::from(self.threads.max(1))),
        )
    }

    /// The share of [`RankProfile::application`] spent in MPI.
    pub fn mpi_share(&self) -> f64 {
        share(self.mpi, self.application())
    }
}

/// The share of `whole` that `part` makes up; 0 if `whole` is 0.
pub fn share(part: Time, whole: Time) -> f64 {
    if whole == Time::ZERO { 0.0 } else { part.ps() as f64 / whole.ps() as f64 }
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.calls = self.calls.saturating_add(other.calls);
        self.time += other.time;
        self.longest = self.longest.max(other.longest);
        self.sent = self.sent.saturating_add(other.sent);
        self.received = self.received.saturating_add(other.received);
    }

    /// The average time of a call.
    pub fn mean(&self) -> Time {
        Time(self.time.ps() / self.calls.max(1))
    }
}

impl Profile {
    pub fn new(trace: &Trace) -> Profile {
        let operations = Operations::of_trace(trace);
        let ends = Ends::of_ranks(trace, &operations);
        let mut functions: BTreeMap<Function, Counts> = BTreeMap::new();
        let mut communicators: BTreeMap<CommId, Counts> = BTreeMap::new();
        let mut ranks = Vec::with_capacity(trace.ranks.len());
        for of_rank in &operations {
            let profile = rank_profile(of_rank, &mut communicators);
            for (&function, counts) in &profile.functions {
                functions.entry(function).or_default().add(counts);
            }
            ranks.push(profile);
        }
        let pattern = Pattern::new(trace, &ranks, &ends);
        communicators.retain(|&comm, _| comm.index() < trace.communicators.len());
        Profile {
            functions: by_time(functions),
            communicators: by_time(communicators),
            regions: Region::of_ranks(ranks.iter().map(|rank| &rank.regions)),
            sites: SiteProfile::new(&ranks),
            sizes: SizeClass::new(&operations, &ends),
            matrix: matrix(&ends),
            ranks,
            pattern,
        }
    }

    /// Time in MPI over all ranks, and the time of their runs.
    pub fn totals(&self) -> (Time, Time) {
        let add = |sum: Time, time: Time| sum + time;
        let mpi = self.ranks.iter().map(|rank| rank.mpi).fold(Time::ZERO, add);
        (mpi, self.ranks.iter().map(RankProfile::application).fold(Time::ZERO, add))
    }
}

/// Whether the time of a function counts as time in MPI.
pub fn is_counted(function: Function) -> bool {
    !matches!(function.class(), Class::Init | Class::Finalize | Class::Mark)
}

fn by_time<K: Ord + Copy>(map: BTreeMap<K, Counts>) -> Vec<(K, Counts)> {
    let mut list: Vec<(K, Counts)> = map.into_iter().collect();
    list.sort_by_key(|&(_, counts)| std::cmp::Reverse(counts.time));
    list
}

fn rank_profile(operations: &Operations<'_>, communicators: &mut BTreeMap<CommId, Counts>) -> RankProfile {
    let of_rank = operations.traced();
    let (start, end, pauses) = (start(of_rank), end(of_rank), Pauses::new(of_rank));
    let paused = pauses.within(start, end);
    let mut profile = RankProfile { start, end, paused, ..RankProfile::default() };
    // For each thread, the time until which it is inside a call.
    let mut busy: BTreeMap<u16, Time> = BTreeMap::new();
    let mut marks = Marks::default();
    for acted in operations.walk() {
        let call = acted.call;
        let until = busy.entry(call.thread).or_default();
        // Calls recorded during a pause are there only for others to refer to.
        let counts = match pauses.contain(call.enter) && call.function.class() != Class::Mark {
            true => Counts::default(),
            false => counts(operations, &acted, *until),
        };
        *until = (*until).max(call.exit);
        marks.see(of_rank, call, &counts);
        if counts.calls == 0 {
            continue;
        }
        if let Some(site) = of_rank.site(acted.number as usize) {
            profile.sites.entry((site, call.function)).or_default().add(&counts);
        }
        profile.calls = profile.calls.saturating_add(counts.calls);
        if is_counted(call.function) {
            profile.mpi += counts.time;
        }
        profile.functions.entry(call.function).or_default().add(&counts);
        communicators.entry(call.comm).or_default().add(&counts);
    }
    profile.threads = busy.len() as u32;
    profile.regions = marks.finish(profile.end);
    profile
}

fn start(of_rank: &RankTrace) -> Time {
    let init = of_rank.calls.iter().find(|call| call.function.class() == Class::Init);
    init.map(|call| call.exit).or(of_rank.calls.first().map(|call| call.enter)).unwrap_or_default()
}

fn end(of_rank: &RankTrace) -> Time {
    let finalize = of_rank.calls.iter().rfind(|call| call.function.class() == Class::Finalize);
    let last = of_rank.calls.iter().map(|call| call.exit).max();
    finalize.map(|call| call.enter).or(last).unwrap_or_default()
}

fn counts(operations: &Operations<'_>, acted: &Acted<'_, '_>, busy_until: Time) -> Counts {
    let call = acted.call;
    let outside = call.exit.since(call.enter.max(busy_until));
    let (calls, time) = match acted.details.repeated {
        // Counted polls carry the time spent inside them; the interval also covers what lies between them.
        Some(repeated) => (repeated.calls, repeated.inside),
        None => (1, outside),
    };
    let (sent, received) = bytes(operations, acted);
    Counts { calls, time, longest: Time(time.ps() / calls.max(1)), sent, received }
}

/// The bytes a call moves. A call that only prepares moves nothing; the call that starts the
/// operation moves its bytes.
fn bytes(operations: &Operations<'_>, acted: &Acted<'_, '_>) -> (u64, u64) {
    let of_rank = operations.traced();
    match acted.call.function.class() {
        Class::Send(_, Start::Persistent)
        | Class::Recv(Start::Persistent)
        | Class::Collective(_, Start::Persistent)
        | Class::Neighbor(_, Start::Persistent)
        | Class::Partitioned { .. } => (0, 0),
        Class::Begin | Class::Ready => {
            let prepared = acted.rows().filter(|(_, row)| row.described != acted.number);
            let prepared = prepared.filter_map(|row| Some((operations.call(row.1.described)?, row)));
            let moved = prepared.map(|(prepared, row)| moved(of_rank, prepared, received(operations, row)));
            moved.fold((0, 0), |sums: (u64, u64), more| {
                (sums.0.saturating_add(more.0), sums.1.saturating_add(more.1))
            })
        }
        _ => {
            let begun = acted.rows().next().and_then(|row| received(operations, row));
            moved(of_rank, acted.call, begun)
        }
    }
}

/// What an operation received, if it is a receive.
fn received(operations: &Operations<'_>, (row, operation): (u32, &Operation)) -> Option<u64> {
    operation.receives().then(|| operations.received(row, operation))
}

/// The bytes a call names, without those to and from MPI_PROC_NULL. The two halves of a sendrecv
/// each have a peer. `received` is the number of bytes that arrived, where known.
fn moved(of_rank: &RankTrace, call: &Call, received: Option<u64>) -> (u64, u64) {
    let source = match call.function.class() {
        Class::Sendrecv(_) => {
            of_rank.details(call).and_then(|details| details.receive).map_or(call.peer, |half| half.peer)
        }
        _ => call.peer,
    };
    let unless_nobody = |peer: i32, bytes: u64| if peer == special::NOBODY { 0 } else { bytes };
    (unless_nobody(call.peer, call.sent), unless_nobody(source, received.unwrap_or(call.received)))
}

fn matrix(ends: &[Ends]) -> Vec<Pair> {
    let mut pairs: BTreeMap<(Rank, Rank), (u64, u64)> = BTreeMap::new();
    for sent in ends.iter().flat_map(|rank| &rank.sends) {
        let (messages, bytes) = pairs.entry((sent.place.rank, sent.to)).or_default();
        *messages += 1;
        *bytes = bytes.saturating_add(sent.bytes);
    }
    pairs.into_iter().map(|((from, to), (messages, bytes))| Pair { from, to, messages, bytes }).collect()
}
