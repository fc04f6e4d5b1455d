//! How ranks spent their run.

use super::Wait;
use straggler_model::{Time, parallel};
use straggler_trace::profile::is_counted;
use straggler_trace::{Call, Class, RankTrace, Trace};

/// How a rank spent its run: computing, waiting, and otherwise in MPI.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RankTimes {
    pub run: Time,
    pub computation: Time,
    pub waiting: Time,
    pub communication: Time,
}

/// `waits` are those of all ranks, by rank.
pub(super) fn of_ranks(trace: &Trace, waits: &[Wait]) -> Vec<RankTimes> {
    let mut waiting = vec![Time::ZERO; trace.ranks.len()];
    for wait in waits {
        if let Some(sum) = waiting.get_mut(wait.place.rank as usize) {
            *sum += wait.time;
        }
    }
    parallel::map(trace.ranks.len(), |rank| of_rank(&trace.ranks[rank], waiting[rank]))
}

/// The run lasts from the end of MPI_Init to the start of MPI_Finalize, summed over threads; these two calls do not
/// count as time in MPI. Neither does a call inside another.
fn of_rank(rank: &RankTrace, waiting: Time) -> RankTimes {
    let mut mpi = Time::ZERO;
    let mut threads: u32 = 0;
    // Until when each thread is in a call; none before its first call.
    let mut busy: Vec<Option<Time>> = Vec::new();
    for call in &rank.calls {
        let thread = usize::from(call.thread);
        if thread >= busy.len() {
            busy.resize(thread + 1, None);
        }
        threads += u32::from(busy[thread].is_none());
        let until = busy[thread].unwrap_or_default();
        busy[thread] = Some(until.max(call.exit));
        if is_counted(call.function) {
            mpi += inside(rank, call, until);
        }
    }
    let run = Time(end(rank).since(start(rank)).ps().saturating_mul(u64::from(threads.max(1))));
    RankTimes { run, computation: run.since(mpi), waiting, communication: mpi.since(waiting) }
}

/// The time of a call; for a record of several polls, the time inside them.
pub(super) fn inside(rank: &RankTrace, call: &Call, busy_until: Time) -> Time {
    polls(rank, call).unwrap_or_else(|| call.exit.since(call.enter.max(busy_until)))
}

/// The time inside the polls of one record; none for other calls. Only tests and probes are looked up.
pub(super) fn polls(rank: &RankTrace, call: &Call) -> Option<Time> {
    let is_poll = matches!(call.function.class(), Class::Test(_) | Class::Probe { .. });
    let repeated = is_poll.then(|| rank.details(call)?.repeated).flatten()?;
    Some(repeated.inside)
}

fn start(rank: &RankTrace) -> Time {
    let init = rank.calls.iter().find(|call| call.function.class() == Class::Init);
    init.map(|call| call.exit).or(rank.calls.first().map(|call| call.enter)).unwrap_or_default()
}

fn end(rank: &RankTrace) -> Time {
    let finalize = rank.calls.iter().rfind(|call| call.function.class() == Class::Finalize);
    let last = || rank.calls.iter().map(|call| call.exit).max();
    finalize.map(|call| call.enter).or_else(last).unwrap_or_default()
}
