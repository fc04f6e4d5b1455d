//! Requests that no call created, and requests that were never completed.

use super::{counted, named};
use crate::call::RequestId;
use crate::format::assemble::Finding;
use crate::messages::CallPlace;
use crate::operations::{Fate, Given, Operations};
use crate::trace::Trace;
use std::collections::BTreeSet;
use straggler_model::Rank;

pub(super) fn check(
    trace: &Trace,
    operations: &[Operations<'_>],
    incomplete: &BTreeSet<Rank>,
    findings: &mut Vec<Finding>,
) {
    for (rank, of_rank) in (0..).zip(operations) {
        let name = |call: u32| named(trace, CallPlace { rank, call });
        // The calls that made them may be in the missing part.
        if !incomplete.contains(&rank) {
            for (call, request) in unknown(of_rank) {
                let what = format!("{} names request {request}, which no call created", name(call));
                findings.push(Finding::error(rank, what));
            }
        }
        let open: Vec<u32> = open(of_rank).collect();
        if let Some(&first) = open.first() {
            let count = counted(open.len(), "request was", "requests were");
            let what = format!("{count} never completed, first that of {}", name(first));
            findings.push(Finding::warning(rank, what));
        }
    }
}

/// Requests passed to a call although no call created them: the numbers of the call and the request.
fn unknown(of_rank: &Operations<'_>) -> Vec<(u32, RequestId)> {
    let mut found = Vec::new();
    for acted in of_rank.walk() {
        let named = acted.details.requests.iter().zip(acted.given());
        let unknown = named.filter(|(_, given)| *given == Given::Unknown);
        found.extend(unknown.map(|(&request, _)| (acted.number, request)));
    }
    found
}

/// The calls whose requests were never completed nor freed, in order.
fn open(of_rank: &Operations<'_>) -> impl Iterator<Item = u32> {
    let rows = of_rank.rows().iter();
    let open = rows.filter(|row| row.fate == Fate::Open && row.has_request() && !row.failed);
    open.map(|row| row.begun)
}
