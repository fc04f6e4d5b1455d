//! Checks whether a program can have done what a trace says: every message has its partner, collectives
//! agree, requests are made before they are waited for, and time goes forward on all ranks.
//!
//! Findings name the rank and the number of the call on that rank, counted from 0. If a rank's
//! stream is incomplete, calls of other ranks lack their partners: one warning sums these up
//! instead of one finding per message.

mod collectives;
mod messages;
mod requests;
mod times;

use crate::disturbance::Disturbance;
use crate::format::assemble::Finding;
use crate::messages::{CallPlace, Ends, Messages};
use crate::operations::Operations;
use crate::pauses::Pauses;
use crate::trace::Trace;
use std::collections::BTreeSet;
use straggler_model::Rank;

/// Returns everything that is wrong with a trace. Some calls of the ranks in `incomplete` are missing.
pub fn check(trace: &Trace, incomplete: &BTreeSet<Rank>) -> Vec<Finding> {
    let operations = Operations::of_trace(trace);
    let ends = Ends::of_ranks(trace, &operations);
    let found = Messages::new(&ends);
    let mut findings = Vec::new();
    let paused: BTreeSet<Rank> = (0..)
        .zip(&trace.ranks)
        .filter(|(_, rank)| !Pauses::new(rank).is_empty())
        .map(|(rank, _)| rank)
        .collect();
    messages::check(trace, &ends, &found, &Missing { incomplete, paused: &paused }, &mut findings);
    collectives::check(trace, incomplete, &paused, &mut findings);
    requests::check(trace, &operations, incomplete, &mut findings);
    times::check(trace, &found, &mut findings);
    findings.extend(Disturbance::new(trace).map(|found| Finding::warning(None, found.sentence())));
    findings
}

/// Ranks with missing calls.
struct Missing<'a> {
    incomplete: &'a BTreeSet<Rank>,
    /// Ranks on which the program paused the recording.
    paused: &'a BTreeSet<Rank>,
}

/// Names a call: "call 12, MPI_Send".
fn named(trace: &Trace, place: CallPlace) -> String {
    let call = trace.ranks.get(place.rank as usize).and_then(|rank| rank.calls.get(place.call as usize));
    let function = call.map_or("?", |call| call.function.name());
    format!("call {}, {function}", place.call)
}

/// "3 calls" or "1 call".
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
