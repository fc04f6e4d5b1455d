//! Requests that nobody made, and those that nobody completed.

use super::{counted, named};
use crate::format::assemble::Finding;
use crate::messages::{Operations, Place};
use crate::trace::Trace;
use std::collections::BTreeSet;
use straggler_model::Rank;

pub(super) fn check(
    trace: &Trace,
    operations: &[Operations],
    incomplete: &BTreeSet<Rank>,
    findings: &mut Vec<Finding>,
) {
    for of_rank in operations {
        let rank = of_rank.rank;
        let name = |call: u32| named(trace, Place { rank, call });
        // They may have been made in the part that is missing.
        if !incomplete.contains(&rank) {
            for &(call, request) in &of_rank.unknown {
                let what = format!("{} names request {request}, which no call has made", name(call));
                findings.push(Finding::error(rank, what));
            }
        }
        let mut open: Vec<u32> =
            of_rank.requests.values().filter(|made| made.open).map(|made| made.by).collect();
        open.sort_unstable();
        if let Some(&first) = open.first() {
            let count = counted(open.len(), "request was", "requests were");
            let what = format!("{count} never completed, first that of {}", name(first));
            findings.push(Finding::warning(rank, what));
        }
    }
}
