//! Counts of what a recording leaves out or simplifies.

use std::collections::BTreeMap;
use straggler_model::{Rank, Time, units};
use straggler_trace::Function;

/// Why calls are not replayed as they were traced.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Reason {
    /// The model cannot explain the time of the call.
    TimeOnly,
    /// Modelled as a barrier on the communicator.
    AsBarrier,
    /// Modelled as a small allreduce: all members agree on something.
    AsAllreduce,
    /// Modelled as messages between the processes of an epoch.
    AsMessages,
    /// A transfer that the next fence completes.
    AtFence,
    Buffered,
    Synchronous,
    Probe,
    Cancelled,
    /// A collective on an intercommunicator.
    BetweenGroups,
    /// The topology is not in the trace.
    NoNeighbors,
    /// Requests that the trace does not know.
    UnknownRequest,
    /// Completes only operations that the trace does not describe or that have no model.
    NotReplayed,
    /// A wildcard receive whose sender is not recorded.
    NeverMatched,
    AfterFinalize,
    /// The counterpart is not in the trace.
    Unmatched,
    /// The call returned an error.
    Failed,
    /// The trace does not name the communicator.
    NoCommunicator,
    /// The call involves processes that are not in the trace.
    OtherWorld,
    /// A choice among requests, some of which are more than one message or collective.
    BoundChoice,
    /// A receive from any source whose messages other receives could take.
    BoundWildcard,
    /// The rank calls MPI from several threads.
    BoundThreads,
    /// An unsuccessful probe.
    BoundProbe,
    /// A thread outside of calls, while another one of its rank is in a call.
    Threads,
}

impl Reason {
    fn text(self) -> &'static str {
        match self {
            Reason::TimeOnly => "no model; the time of the calls counts as computation",
            Reason::AsBarrier => "modelled as a barrier of the communicator",
            Reason::AsAllreduce => {
                "modelled as an allreduce of 8 bytes on the given communicator; the time after the last member \
                 entered counts as computation"
            }
            Reason::AsMessages => "modelled as messages between the processes of the epoch",
            Reason::AtFence => "its bytes are sent by the fence that completes it",
            Reason::Buffered => "returns at once, whatever its size; no call waits for it",
            Reason::Synchronous => "completed by a reply of 0 bytes from the receiver",
            Reason::Probe => "modelled as the receive that follows",
            Reason::Cancelled => "cancelled; ignored",
            Reason::BetweenGroups => {
                "between two groups; modelled as a collective of the root and the other group, or of both groups"
            }
            Reason::NoNeighbors => "neighbours are unknown; the time of the calls counts as computation",
            Reason::NotReplayed => {
                "for operations without a model or description; the time of the calls counts as computation"
            }
            Reason::UnknownRequest => "for requests of no call in the trace; these are ignored",
            Reason::NeverMatched => "a receive from any source whose sender is not recorded; ignored",
            Reason::AfterFinalize => "after MPI_Finalize; ignored",
            Reason::Unmatched => "no counterpart in the trace; ignored",
            Reason::Failed => "failed; the time of the calls counts as computation",
            Reason::OtherWorld => {
                "with processes of another MPI_COMM_WORLD; the time of the calls counts as computation"
            }
            Reason::BoundChoice => {
                "decided as in the trace: some of the requests are more than one message or collective"
            }
            Reason::BoundWildcard => {
                "decided as in the trace: other receives of the rank could take the same messages from any source"
            }
            Reason::BoundThreads => "decided as in the trace: the rank calls MPI from several threads",
            Reason::BoundProbe => "unsuccessful in the trace, and assumed to be so again",
            Reason::Threads => {
                "the time of a thread beside calls of another one counts as computation, though it may wait for it"
            }
            Reason::NoCommunicator => {
                "the communicator is not recorded; the time of the calls counts as computation"
            }
        }
    }
}

/// Time in calls that have no model. It counts as computation, although part of it may be waiting.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Unmodelled {
    /// Functions with their calls and their time on all ranks, the longest first.
    pub functions: Vec<(String, u64, Time)>,
    /// The time of each rank; ranks after the last have none.
    pub ranks: Vec<Time>,
}

impl Unmodelled {
    /// The rank with the longest time; none if there is no such time.
    pub fn most(&self) -> Option<(Rank, Time)> {
        let ranks = (0..).zip(self.ranks.iter().copied()).filter(|&(_, time)| time > Time::ZERO);
        ranks.max_by_key(|&(rank, time)| (time, std::cmp::Reverse(rank)))
    }
}

/// Number of calls, and the time they took if that counts as computation.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    calls: u64,
    kept: Time,
}

#[derive(Debug, Default)]
pub(super) struct Notes {
    tallies: BTreeMap<(Reason, String), Tally>,
    unmodelled: Vec<Time>,
    /// Ranks that compute much between unsuccessful tests: the number of gaps and their time.
    between_polls: Vec<(Rank, u64, Time)>,
}

impl Notes {
    pub fn compute_between_polls(&mut self, rank: Rank, gaps: u64, time: Time) {
        self.between_polls.push((rank, gaps, time));
    }

    pub fn count(&mut self, reason: Reason, function: Function) {
        self.count_time(reason, function.name(), Time::ZERO);
    }

    /// Counts a call whose time counts as computation. Takes a name, as the function may be unknown.
    pub fn count_time(&mut self, reason: Reason, name: &str, kept: Time) {
        let tally = self.tallies.entry((reason, name.to_string())).or_default();
        tally.calls += 1;
        tally.kept += kept;
    }

    /// Counts a call without a model.
    pub fn count_unmodelled(&mut self, reason: Reason, name: &str, kept: Time, rank: Rank) {
        self.count_time(reason, name, kept);
        let ranks = self.unmodelled.len().max(rank as usize + 1);
        self.unmodelled.resize(ranks, Time::ZERO);
        self.unmodelled[rank as usize] += kept;
    }

    /// Counts several calls at once.
    pub fn count_calls(&mut self, reason: Reason, name: &str, calls: u64) {
        if calls > 0 {
            self.tallies.entry((reason, name.to_string())).or_default().calls += calls;
        }
    }

    pub fn texts(&self) -> Vec<String> {
        let text = |((reason, name), tally): (&(Reason, String), &Tally)| {
            let told = matches!(reason, Reason::NotReplayed | Reason::AsAllreduce | Reason::Threads)
                && tally.kept > Time::ZERO;
            let kept = if told { format!(", {} in all", tally.kept) } else { String::new() };
            format!("{} × {name}: {}{kept}", tally.calls, reason.text())
        };
        self.tallies.iter().map(text).chain(self.polling()).collect()
    }

    fn polling(&self) -> Option<String> {
        let &(rank, gaps, time) = self.between_polls.iter().max_by_key(|(_, _, time)| *time)?;
        let gap = Time(time.ps() / gaps.max(1));
        let others = match self.between_polls.len() {
            1 => String::new(),
            ranks => format!(" (and so do {} other ranks)", ranks - 1),
        };
        Some(format!(
            "rank {rank} spends {time} between unsuccessful tests or probes, {gap} at a time{others}: this counts as \
             computation; if it only waits there, use `whatif --spin {}`",
            units::write_time(Time::from_ns(2 * gap.ps().div_ceil(1000)))
        ))
    }

    /// What has no model.
    pub fn unmodelled(&self) -> Unmodelled {
        let kept = self
            .tallies
            .iter()
            .filter(|((reason, _), tally)| *reason != Reason::AsAllreduce && tally.kept > Time::ZERO);
        let mut functions: BTreeMap<&str, (u64, Time)> = BTreeMap::new();
        for ((_, name), tally) in kept {
            let sum = functions.entry(name).or_default();
            *sum = (sum.0 + tally.calls, sum.1 + tally.kept);
        }
        let functions = functions.into_iter().map(|(name, (calls, time))| (name.to_owned(), calls, time));
        let mut functions: Vec<(String, u64, Time)> = functions.collect();
        functions.sort_by_key(|&(.., time)| std::cmp::Reverse(time));
        Unmodelled { functions, ranks: self.unmodelled.clone() }
    }
}
