//! The regions that a program marks, and what happens in them.
//!
//! A region lies on one thread of one rank, from the mark that enters it to the one that leaves it under
//! the same name, and includes everything nested in it. A region entered again inside itself counts as
//! two entries, but its time runs once. Regions need not nest cleanly: each is tracked by its name alone.
//!
//! MPI leaves the meaning of MPI_Pcontrol's levels to the tool, except that 0 turns profiling off
//! (MPI 4.1, section 15.2.4). Here a positive level begins a region that lasts until the next
//! MPI_Pcontrol of the thread, or to the end of the run; 0 and negative levels begin none. So the 1
//! and 0 of mpiP, and the 1 and −1 of IPM, delimit the same region.
//!
//! Each call is visited once: every thread keeps running sums over its calls, and a region is the
//! difference of two sums. So deep nesting costs nothing extra.

use super::{Counts, is_counted};
use crate::Function;
use crate::call::Call;
use crate::trace::RankTrace;
use std::collections::BTreeMap;
use std::fmt;
use straggler_model::time::in_seconds;
use straggler_model::{Rank, Time};

/// The name of a region.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RegionName {
    /// A name given by the program.
    Named(String),
    /// The level of an MPI_Pcontrol, or `?` if the trace does not tell.
    Level(String),
}

/// Totals over all entries of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct RegionCounts {
    pub entries: u64,
    /// From entering to leaving, summed over all threads.
    #[serde(rename = "seconds", serialize_with = "in_seconds")]
    pub time: Time,
    /// The part of it spent in MPI.
    #[serde(rename = "mpi_seconds", serialize_with = "in_seconds")]
    pub mpi: Time,
    /// MPI calls, without MPI_Init, MPI_Finalize and marks.
    pub calls: u64,
    #[serde(rename = "bytes_sent")]
    pub sent: u64,
    #[serde(rename = "bytes_received")]
    pub received: u64,
    /// Entries that were never left; they last to the end of the run.
    pub unclosed: u64,
    /// Leaves without an entry; they count for nothing else.
    pub unopened: u64,
}

/// A region on all ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    pub name: RegionName,
    pub total: RegionCounts,
    /// Ranks that enter it, in order.
    pub ranks: Vec<(Rank, RegionCounts)>,
}

impl fmt::Display for RegionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegionName::Named(name) if name.is_empty() => f.write_str("(no name)"),
            RegionName::Named(name) => f.write_str(name),
            RegionName::Level(level) => write!(f, "pcontrol {level}"),
        }
    }
}

impl RegionCounts {
    fn add(&mut self, other: &RegionCounts) {
        self.time += other.time;
        self.mpi += other.mpi;
        let pairs = [
            (&mut self.entries, other.entries),
            (&mut self.calls, other.calls),
            (&mut self.sent, other.sent),
            (&mut self.received, other.received),
            (&mut self.unclosed, other.unclosed),
            (&mut self.unopened, other.unopened),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
    }
}

impl Region {
    /// The rank that spends most time in it; the lowest in a tie.
    pub fn slowest(&self) -> Option<(Rank, Time)> {
        let times = self.ranks.iter().map(|(rank, counts)| (*rank, counts.time));
        times.max_by_key(|&(rank, time)| (time, std::cmp::Reverse(rank)))
    }

    /// The regions of all ranks, most time first.
    pub(super) fn of_ranks<'a>(
        ranks: impl IntoIterator<Item = &'a BTreeMap<RegionName, RegionCounts>>,
    ) -> Vec<Region> {
        let mut all: BTreeMap<&RegionName, Vec<(Rank, RegionCounts)>> = BTreeMap::new();
        for (rank, regions) in (0..).zip(ranks) {
            for (name, counts) in regions {
                all.entry(name).or_default().push((rank, *counts));
            }
        }
        let mut list: Vec<Region> = all.into_iter().map(|(name, ranks)| Region::new(name, ranks)).collect();
        list.sort_by_key(|region| std::cmp::Reverse(region.total.time));
        list
    }

    fn new(name: &RegionName, ranks: Vec<(Rank, RegionCounts)>) -> Region {
        let mut total = RegionCounts::default();
        ranks.iter().for_each(|(_, counts)| total.add(counts));
        Region { name: name.clone(), total, ranks }
    }
}

/// Tracks the marks of one rank.
#[derive(Default)]
pub(super) struct Marks {
    threads: BTreeMap<u16, Thread>,
    found: BTreeMap<RegionName, RegionCounts>,
}

#[derive(Default)]
struct Thread {
    /// Over all calls so far.
    sums: Sums,
    open: BTreeMap<RegionName, Open>,
    /// The region of the last MPI_Pcontrol.
    level: Option<RegionName>,
}

/// A region that was entered.
struct Open {
    /// How many entries are open, one inside the other.
    depth: u64,
    since: Time,
    before: Sums,
}

/// Running sums, wide enough not to overflow, so that differences are exact.
#[derive(Clone, Copy, Default)]
struct Sums {
    time: u128,
    calls: u128,
    sent: u128,
    received: u128,
}

impl Marks {
    /// Adds the next call of the rank with its counts.
    pub(super) fn see(&mut self, of_rank: &RankTrace, call: &Call, counts: &Counts) {
        let thread = self.threads.entry(call.thread).or_default();
        let text = || of_rank.details(call).and_then(|details| details.text.clone());
        match call.function {
            Function::RegionEnter => {
                let name = RegionName::Named(text().unwrap_or_default());
                enter(thread, &mut self.found, name, call.exit);
            }
            Function::RegionLeave => {
                let name = RegionName::Named(text().unwrap_or_default());
                leave(thread, &mut self.found, &name, call.enter);
            }
            Function::Pcontrol => level(thread, &mut self.found, text(), call),
            function if is_counted(function) => thread.sums.add(counts),
            _ => {}
        }
    }

    /// Closes the regions still open at the end of the run.
    pub(super) fn finish(mut self, end: Time) -> BTreeMap<RegionName, RegionCounts> {
        for thread in self.threads.into_values() {
            for (name, open) in thread.open {
                let unclosed = if matches!(name, RegionName::Named(_)) { open.depth } else { 0 };
                let counts = self.found.entry(name).or_default();
                counts.unclosed = counts.unclosed.saturating_add(unclosed);
                counts.add(&open.until(end, &thread.sums));
            }
        }
        self.found
    }
}

type Found = BTreeMap<RegionName, RegionCounts>;

fn enter(thread: &mut Thread, found: &mut Found, name: RegionName, at: Time) {
    let counts = found.entry(name.clone()).or_default();
    counts.entries = counts.entries.saturating_add(1);
    let before = thread.sums;
    let open = thread.open.entry(name).or_insert(Open { depth: 0, since: at, before });
    open.depth = open.depth.saturating_add(1);
}

fn leave(thread: &mut Thread, found: &mut Found, name: &RegionName, at: Time) {
    let counts = found.entry(name.clone()).or_default();
    let Some(open) = thread.open.get_mut(name) else {
        counts.unopened = counts.unopened.saturating_add(1);
        return;
    };
    open.depth = open.depth.saturating_sub(1);
    if open.depth == 0 {
        counts.add(&open.until(at, &thread.sums));
        thread.open.remove(name);
    }
}

fn level(thread: &mut Thread, found: &mut Found, text: Option<String>, call: &Call) {
    if let Some(last) = thread.level.take() {
        leave(thread, found, &last, call.enter);
    }
    let text = text.unwrap_or_else(|| "?".into());
    if text.parse::<i64>().is_ok_and(|level| level <= 0) {
        return;
    }
    let name = RegionName::Level(text);
    thread.level = Some(name.clone());
    enter(thread, found, name, call.exit);
}

impl Open {
    /// The totals since it was entered.
    fn until(&self, end: Time, now: &Sums) -> RegionCounts {
        let narrow = |now: u128, before: u128| u64::try_from(now.saturating_sub(before)).unwrap_or(u64::MAX);
        RegionCounts {
            time: end.since(self.since),
            mpi: Time(narrow(now.time, self.before.time)),
            calls: narrow(now.calls, self.before.calls),
            sent: narrow(now.sent, self.before.sent),
            received: narrow(now.received, self.before.received),
            ..RegionCounts::default()
        }
    }
}

impl Sums {
    fn add(&mut self, counts: &Counts) {
        self.time += u128::from(counts.time.ps());
        self.calls += u128::from(counts.calls);
        self.sent += u128::from(counts.sent);
        self.received += u128::from(counts.received);
    }
}

#[cfg(test)]
mod tests;
