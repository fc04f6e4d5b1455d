//! The calls of all members of each collective.

use straggler_model::{Rank, parallel};
use straggler_trace::call::CommId;
use straggler_trace::messages::CallPlace;
use straggler_trace::{Class, RankTrace, Trace};

/// The collectives on one communicator.
pub(super) struct Meetings<'a> {
    pub(super) members: &'a [Rank],
    /// One meeting after the other; for each, the call of every member.
    calls: Vec<u32>,
}

impl<'a> Meetings<'a> {
    /// For all communicators of a trace except intercommunicators, where the dependencies are unknown.
    pub(super) fn of(trace: &'a Trace) -> Vec<Meetings<'a>> {
        let ranks: Vec<Vec<(CommId, u32)>> = parallel::map_list(&trace.ranks, ordered);
        let within =
            (0..).map(CommId).zip(&trace.communicators).filter(|(_, comm)| !comm.is_between_groups());
        let all = within.map(|(comm, about)| Meetings::on(comm, &about.members, &ranks));
        all.filter(|meetings| !meetings.calls.is_empty()).collect()
    }

    fn on(comm: CommId, members: &'a [Rank], ranks: &[Vec<(CommId, u32)>]) -> Meetings<'a> {
        let of_member = |&rank: &Rank| ranks.get(rank as usize).map_or(&[][..], |calls| on_comm(calls, comm));
        let lists: Vec<&[(CommId, u32)]> = members.iter().map(of_member).collect();
        let common = lists.iter().map(|list| list.len()).min().unwrap_or(0);
        let calls = (0..common).flat_map(|nth| lists.iter().filter_map(move |list| Some(list.get(nth)?.1)));
        Meetings { members, calls: calls.collect() }
    }

    /// The number of collectives.
    pub(super) fn count(&self) -> usize {
        self.calls.len() / self.members.len().max(1)
    }

    /// The calls of one of the collectives, one per member.
    pub(super) fn nth(&self, number: usize) -> &[u32] {
        let each = self.members.len();
        &self.calls[number * each..(number + 1) * each]
    }

    /// The places of the calls of one collective.
    pub(super) fn places(&self, calls: &[u32]) -> impl Iterator<Item = CallPlace> {
        self.members.iter().zip(calls).map(|(&rank, &call)| CallPlace { rank, call })
    }
}

/// The collective calls of a rank, by communicator, in order, including calls that create communicators.
fn ordered(rank: &RankTrace) -> Vec<(CommId, u32)> {
    let calls = (0..).zip(&rank.calls).filter(|(_, call)| is_ordered(call.function.class()));
    let mut found: Vec<(CommId, u32)> = calls.map(|(number, call)| (call.comm, number)).collect();
    // Stable and nearly sorted: most programs use one communicator for long stretches.
    found.sort_by_key(|&(comm, _)| comm);
    found
}

/// Whether all members of a communicator make such calls in the same order.
pub(crate) fn is_ordered(class: Class) -> bool {
    matches!(class, Class::Collective(..) | Class::Neighbor(..) | Class::NewComm { collective: true })
}

fn on_comm(calls: &[(CommId, u32)], comm: CommId) -> &[(CommId, u32)] {
    let from = calls.partition_point(|&(other, _)| other < comm);
    let until = calls.partition_point(|&(other, _)| other <= comm);
    calls.get(from..until).unwrap_or_default()
}
