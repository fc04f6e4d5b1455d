//! Requests that nobody made, and those that nobody completed.

use super::{counted, named};
use crate::call::RequestId;
use crate::format::assemble::Finding;
use crate::messages::Place;
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
        let name = |call: u32| named(trace, Place { rank, call });
        // They may have been made in the part that is missing.
        if !incomplete.contains(&rank) {
            for (call, request) in unknown(of_rank) {
                let what = format!("{} names request {request}, which no call has made", name(call));
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

/// Requests given to a call although nobody had made them: the call's number and the request's.
fn unknown(of_rank: &Operations<'_>) -> Vec<(u32, RequestId)> {
    let mut found = Vec::new();
    for acted in of_rank.walk() {
        let named = acted.details.requests.iter().zip(acted.given());
        let unknown = named.filter(|(_, given)| *given == Given::Unknown);
        found.extend(unknown.map(|(&request, _)| (acted.number, request)));
    }
    found
}

/// The calls that began what nothing has found completed and nobody gave up, in order.
fn open(of_rank: &Operations<'_>) -> impl Iterator<Item = u32> {
    let rows = of_rank.rows().iter();
    let open = rows.filter(|row| row.fate == Fate::Open && row.has_request() && !row.failed);
    open.map(|row| row.begun)
}
