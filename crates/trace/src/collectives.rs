//! Collective operations across ranks: the n-th that one rank calls on a communicator is the n-th of all its members
//! (MPI 4.1, section 6.1).

use crate::call::{Call, CommId};
use crate::messages::CallPlace;
use crate::trace::{Communicator, Trace};
use crate::{Class, Start};
use std::collections::{BTreeMap, HashMap};
use straggler_model::Rank;

/// The collective calls on one communicator: for each rank that made any, the numbers of its calls, in order.
pub type Sequence = BTreeMap<Rank, Vec<u32>>;

/// The collective calls of a trace, by communicator. Calls that create communicators are included, since
/// they are collective too and have their place in the order; starts of persistent operations are not.
pub fn sequences(trace: &Trace) -> BTreeMap<CommId, Sequence> {
    let mut found: BTreeMap<CommId, Sequence> = BTreeMap::new();
    for (rank, of_rank) in (0..).zip(&trace.ranks) {
        for (number, call) in (0..).zip(&of_rank.calls) {
            if is_ordered(call) && call.comm.index() < trace.communicators.len() {
                found.entry(call.comm).or_default().entry(rank).or_default().push(number);
            }
        }
    }
    found
}

/// The calls of each collective, in the order of the members' ranks on the communicator. Collectives in
/// which some member does not take part are left out; those of one communicator come one after the other.
pub fn meetings(trace: &Trace) -> impl Iterator<Item = (CommId, Vec<CallPlace>)> + '_ {
    sequences(trace).into_iter().flat_map(move |(comm, sequence)| {
        let members = trace.communicators.get(comm.index()).map_or(&[][..], |comm| &comm.members);
        let all = members.len() == sequence.len();
        let common = sequence.values().map(Vec::len).min().filter(|_| all).unwrap_or(0);
        (0..common).filter_map(move |nth| {
            let place = |&rank: &Rank| Some(CallPlace { rank, call: *sequence.get(&rank)?.get(nth)? });
            Some((comm, members.iter().map(place).collect::<Option<_>>()?))
        })
    })
}

fn is_ordered(call: &Call) -> bool {
    matches!(
        call.function.class(),
        Class::Collective(..) | Class::Neighbor(..) | Class::NewComm { collective: true }
    )
}

/// Whether a call moves data or synchronises, rather than only preparing an operation or creating a communicator.
pub fn runs(call: &Call) -> bool {
    match call.function.class() {
        Class::Collective(_, start) | Class::Neighbor(_, start) => start != Start::Persistent,
        _ => false,
    }
}

/// For each intercommunicator, the smaller id of its two sides. If several connect the same groups,
/// they are paired in order.
pub fn sides(communicators: &[Communicator]) -> Vec<CommId> {
    let mut waiting: HashMap<(&[Rank], &[Rank]), Vec<CommId>> = HashMap::new();
    let mut sides: Vec<CommId> = (0..communicators.len() as u32).map(CommId).collect();
    for (comm, communicator) in (0..).map(CommId).zip(communicators) {
        let (members, remote) = (&communicator.members[..], &communicator.remote[..]);
        if remote.is_empty() {
            continue;
        }
        match waiting.get_mut(&(remote, members)).filter(|others| !others.is_empty()) {
            Some(others) => sides[comm.index()] = others.remove(0),
            None => waiting.entry((members, remote)).or_default().push(comm),
        }
    }
    sides
}
