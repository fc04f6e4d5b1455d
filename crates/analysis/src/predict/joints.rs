//! Blocking collectives, with the calls of all members together.

use std::collections::BTreeMap;
use straggler_model::Time;
use straggler_trace::call::CommId;
use straggler_trace::collectives::meetings;
use straggler_trace::{Call, Class, Function, Start, Trace};

/// One collective call of all members of a communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Joint {
    pub function: Function,
    pub members: u32,
    /// The most bytes that one member sends, and receives.
    pub sent: u64,
    pub received: u64,
    /// From the last to enter to the last to leave.
    pub span: Time,
}

/// The collectives of each communicator, in order.
pub(super) fn joints(trace: &Trace) -> Vec<Vec<Joint>> {
    let mut found: BTreeMap<CommId, Vec<Joint>> = BTreeMap::new();
    for (comm, places) in meetings(trace) {
        let calls: Option<Vec<&Call>> = places.iter().map(|&place| trace.call(place)).collect();
        found.entry(comm).or_default().extend(calls.and_then(|calls| joint(&calls)));
    }
    found.into_values().collect()
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
