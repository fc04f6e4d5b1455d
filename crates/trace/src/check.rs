//! Whether a trace can be what a program did: every message has its partner, collectives agree, requests are made
//! before they are waited for, and time goes forward on all ranks.
//!
//! What is told names the rank and the number of the call on this rank, counted from 0. Ranks whose streams are not
//! whole leave partners without their own: what is missing because of them is summed up in one warning, not told
//! message by message.

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

/// Everything that is wrong with a trace. Of the ranks in `incomplete` some calls are missing.
pub fn check(trace: &Trace, incomplete: &BTreeSet<Rank>) -> Vec<Finding> {
    let operations = Operations::of_trace(trace);
    let ends = Ends::of_ranks(trace, &operations);
    let found = Messages::of(&ends);
    let mut findings = Vec::new();
    let paused: BTreeSet<Rank> = (0..)
        .zip(&trace.ranks)
        .filter(|(_, rank)| !Pauses::of(rank).is_empty())
        .map(|(rank, _)| rank)
        .collect();
    messages::check(trace, &ends, &found, &Missing { incomplete, paused: &paused }, &mut findings);
    collectives::check(trace, incomplete, &paused, &mut findings);
    requests::check(trace, &operations, incomplete, &mut findings);
    times::check(trace, &found, &mut findings);
    findings.extend(Disturbance::of(trace).map(|found| Finding::warning(None, found.sentence())));
    findings
}

/// Ranks of which calls are missing.
struct Missing<'a> {
    incomplete: &'a BTreeSet<Rank>,
    /// The program has paused the recording there.
    paused: &'a BTreeSet<Rank>,
}

/// A call in words: "call 12, MPI_Send".
fn named(trace: &Trace, place: CallPlace) -> String {
    let call = trace.ranks.get(place.rank as usize).and_then(|rank| rank.calls.get(place.call as usize));
    let function = call.map_or("?", |call| call.function.name());
    format!("call {}, {function}", place.call)
}

/// "3 calls" or "1 call".
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
