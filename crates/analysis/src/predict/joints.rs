//! Blocking collectives, with all their members together.

use straggler_model::Time;
use straggler_trace::collectives::sequences;
use straggler_trace::{Call, Class, Function, Start, Trace};

/// One collective of all members of a communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Joint {
    pub function: Function,
    pub members: u32,
    /// The most that one member sends and receives.
    pub sent: u64,
    pub received: u64,
    /// From the last to enter to the last to leave.
    pub span: Time,
}

/// The collectives of each communicator, in order.
pub(super) fn joints(trace: &Trace) -> impl Iterator<Item = Vec<Joint>> + '_ {
    sequences(trace).into_iter().filter_map(|(comm, sequence)| {
        let members = trace.communicators.get(comm as usize)?.members.len();
        let common = sequence.values().map(Vec::len).min().filter(|_| sequence.len() == members)?;
        let nth = |nth: usize| {
            let calls = sequence.iter().filter_map(|(&rank, calls)| {
                trace.ranks.get(rank as usize)?.calls.get(*calls.get(nth)? as usize)
            });
            joint(&calls.collect::<Vec<&Call>>())
        };
        Some((0..common).filter_map(nth).collect())
    })
}

fn joint(calls: &[&Call]) -> Option<Joint> {
    let function = calls.first()?.function;
    let blocks = matches!(function.class(), Class::Collective(_, Start::Blocking));
    let same = blocks && calls.iter().all(|call| call.function == function);
    let entered = calls.iter().map(|call| call.enter).max()?;
    let left = calls.iter().map(|call| call.exit).max()?;
    let joint = Joint {
        function,
        members: u32::try_from(calls.len()).ok()?,
        sent: calls.iter().map(|call| call.sent).max()?,
        received: calls.iter().map(|call| call.received).max()?,
        span: left.since(entered),
    };
    same.then_some(joint)
}
