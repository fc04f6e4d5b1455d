//! Turns a trace into a recording, rank by rank.

use super::collective::Collectives;
use super::error::TraceError;
use super::matching;
use super::notes::{Notes, Reason};
use super::options::{Decisions, Options};
use super::reading::{ReadRank, Shared, init_exit};
use super::recording::TracedRun;
use super::transfers::Transfers;
use super::translate::RankReader;
use super::wildcards;
use std::collections::HashMap;
use straggler_model::{Rank, Time};
use straggler_trace::collectives;
use straggler_trace::operations::Operations;
use straggler_trace::{Call, Class, CommId, Communicator, RankTrace, Trace};

impl TracedRun {
    /// Reads a trace into a recording.
    pub fn from_trace(trace: &Trace, options: &Options) -> Result<TracedRun, TraceError> {
        if trace.ranks.is_empty() {
            return Err(TraceError::Empty);
        }
        check_members(trace)?;
        let one_side = collectives::sides(&trace.communicators);
        let side = |comm: CommId| one_side.get(comm.index()).copied().unwrap_or(comm);
        let transfers = Transfers::new(trace, side);
        let mut shared = Shared {
            trace,
            options: *options,
            origin: origin(trace),
            collectives: Collectives::default(),
            notes: Notes::default(),
            complete: complete(trace),
            one_side,
            reaches_out: trace.communicators.iter().map(reaches_out).collect(),
            tags: HashMap::new(),
            transfers,
        };
        let mut ranks = Vec::with_capacity(trace.ranks.len());
        for (rank, traced) in (0..).zip(&trace.ranks) {
            let operations = Operations::new(traced);
            ranks.push(RankReader::new(&mut shared, rank, &operations).read()?);
        }
        let mut tags = shared.tags.len() as u32;
        let stand_for = matching::distinguish(&mut ranks, &mut tags)?;
        let lone = matching::pair(&mut ranks, &shared.collectives);
        if lone.iter().any(|lone| !lone.is_empty()) {
            shared.leave_out(&mut ranks, &lone)?;
        }
        let decides = options.decisions == Decisions::Redecide;
        if decides {
            let bound = wildcards::open(&mut ranks, &shared.tags, &stand_for, &mut tags)?;
            shared.notes.count_calls(Reason::BoundWildcard, "receives", bound);
        }
        let threaded =
            trace.ranks.iter().filter(|rank| rank.calls.iter().any(|call| call.thread > 0)).count();
        let threads = (threaded > 0).then(|| {
            format!("{threaded} ranks call from several threads; time in which one waits for another counts as computation")
        });
        for (rank, traced) in (0..).zip(&trace.ranks) {
            let time = beside_calls(traced);
            if time > Time::ZERO {
                shared.notes.count_unmodelled(Reason::Threads, "several threads", time, rank);
            }
        }
        let lanes = shared.collectives.lanes;
        let (groups, calls, sizes) = shared.collectives.finish();
        Ok(TracedRun {
            ranks: ranks.into_iter().map(|read| read.recorded).collect(),
            groups,
            calls,
            sizes,
            tags,
            lanes,
            origin: shared.origin,
            decides,
            progress: options.progress,
            unmodelled: shared.notes.unmodelled(),
            notes: trace.notes.iter().cloned().chain(shared.notes.texts()).chain(threads).collect(),
        })
    }
}

impl Shared<'_> {
    /// Rejects calls without a counterpart, or removes them.
    fn leave_out(&mut self, ranks: &mut [ReadRank], lone: &[Vec<u32>]) -> Result<(), TraceError> {
        let unmatched = matching::describe(self.trace, ranks, &self.collectives, lone);
        if !self.options.drop_unmatched {
            return Err(TraceError::Unmatched(unmatched));
        }
        unmatched.iter().for_each(|one| self.notes.count(Reason::Unmatched, one.function));
        ranks.iter_mut().zip(lone).for_each(|(read, lone)| matching::remove(read, lone));
        Ok(())
    }
}

/// Whether processes that are not in the trace take part, such as spawned ones.
fn reaches_out(comm: &Communicator) -> bool {
    comm.members.iter().chain(&comm.remote).any(|&member| member == Rank::MAX)
}

/// Checks that communicators consist of traced ranks, each at most once.
fn check_members(trace: &Trace) -> Result<(), TraceError> {
    let processes = trace.processes();
    // For each rank, the communicator and side in which it was seen last.
    let mut seen = vec![None; processes as usize];
    for (comm, communicator) in (0..).map(CommId).zip(&trace.communicators) {
        for (side, members) in [&communicator.members, &communicator.remote].into_iter().enumerate() {
            // A process of another MPI_COMM_WORLD is not a rank of this trace.
            for &member in members.iter().filter(|&&member| member != Rank::MAX) {
                let fault = TraceError::Member { comm, member, processes };
                let last = seen.get_mut(member as usize).ok_or(fault.clone())?;
                if last.replace((comm, side)) == Some((comm, side)) {
                    return Err(fault);
                }
            }
        }
    }
    Ok(())
}

/// For blocking calls that create communicators, by rank and call: the time they took after the
/// last member had entered.
pub fn alone(trace: &Trace) -> impl Iterator<Item = ((Rank, u32), Time)> + '_ {
    complete(trace).into_iter().filter_map(|(place, last)| {
        let call = trace.ranks.get(place.0 as usize)?.calls.get(place.1 as usize)?;
        (call.request == Call::NO_REQUEST).then(|| (place, call.exit.since(call.enter.max(last))))
    })
}

/// When the last member entered each call that creates a communicator, by rank and call.
fn complete(trace: &Trace) -> HashMap<(Rank, u32), Time> {
    let mut found = HashMap::new();
    for (comm, sequence) in collectives::sequences(trace) {
        let members = trace.communicators.get(comm.index()).map_or(0, |comm| comm.members.len());
        let common = sequence.values().map(Vec::len).min().unwrap_or(0);
        if sequence.len() != members {
            continue;
        }
        for nth in 0..common {
            let places = sequence.iter().filter_map(|(&rank, calls)| Some((rank, *calls.get(nth)?)));
            let creating: Vec<_> =
                places.filter(|&place| makes_communicator(trace, place).is_some()).collect();
            let entered = creating.iter().filter_map(|&place| makes_communicator(trace, place)).max();
            if let Some(last) = entered.filter(|_| creating.len() == members) {
                found.extend(creating.into_iter().map(|place| (place, last)));
            }
        }
    }
    found
}

/// When a call was entered, if it creates a communicator.
fn makes_communicator(trace: &Trace, (rank, call): (Rank, u32)) -> Option<Time> {
    let call = trace.ranks.get(rank as usize)?.calls.get(call as usize)?;
    matches!(call.function.class(), Class::NewComm { collective: true }).then_some(call.enter)
}

/// The longest time that a thread of a rank is outside of calls while another one is in a call, from its first call to
/// its last: it may be waiting for the other.
fn beside_calls(traced: &RankTrace) -> Time {
    let threads = traced.calls.iter().map(|call| usize::from(call.thread) + 1).max().unwrap_or(0);
    if threads < 2 {
        return Time::ZERO;
    }
    let is_call =
        |call: &&Call| !matches!(call.function.class(), Class::Init | Class::Finalize | Class::Mark);
    let calls = || traced.calls.iter().filter(is_call);
    let mut ends = vec![None; threads];
    calls().for_each(|call| ends[usize::from(call.thread)] = Some(call.exit));
    // Whether each thread is in a call, starts and ends of calls in order, and the time of each thread beside calls.
    let mut inside: Vec<Option<bool>> = vec![None; threads];
    let starts = calls().map(|call| (call.enter, true, usize::from(call.thread)));
    let mut moments: Vec<(Time, bool, usize)> =
        starts.chain(calls().map(|call| (call.exit, false, usize::from(call.thread)))).collect();
    moments.sort_unstable();
    let (mut beside, mut last) = (vec![Time::ZERO; threads], Time::ZERO);
    for (now, enters, thread) in moments {
        if inside.contains(&Some(true)) {
            let idle = inside.iter().zip(&mut beside).filter(|(inside, _)| **inside == Some(false));
            idle.for_each(|(_, time)| *time += now.since(last));
        }
        let over = ends[thread].is_some_and(|end| now >= end);
        inside[thread] = (enters || !over).then_some(enters);
        last = now;
    }
    beside.into_iter().max().unwrap_or_default()
}

/// When the first rank leaves MPI_Init; without MPI_Init, when the first call starts.
fn origin(trace: &Trace) -> Time {
    let inits = trace.ranks.iter().filter_map(init_exit).min();
    let enters = trace.ranks.iter().filter_map(|rank| rank.calls.first().map(|call| call.enter));
    inits.or(enters.min()).unwrap_or_default()
}
