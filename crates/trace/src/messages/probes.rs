//! Which receive takes the message that a probe has found.

use crate::call::{Call, Details, Matched};
use crate::operations::resolved;
use crate::trace::RankTrace;
use crate::{Class, Start};

/// Whether a blocking receive takes what a successful probe of the same rank has found, if no other receive of that rank
/// came in between.
pub fn takes_probed(rank: &RankTrace, probe: &Call, receive: &Call) -> bool {
    let nothing = Details::default();
    let asked = rank.details(probe).unwrap_or(&nothing);
    let got = rank.details(receive).unwrap_or(&nothing);
    if asked.error.is_some() || got.error.is_some() {
        return false;
    }
    match (probe.function.class(), receive.function.class()) {
        (Class::Probe { keeps: true, .. }, Class::MatchedRecv(Start::Blocking)) => {
            got.message.is_some() && got.message == asked.message
        }
        (Class::Probe { keeps: false, .. }, Class::Recv(Start::Blocking)) => {
            probe.comm == receive.comm && whom(probe, asked) == whom(receive, got)
        }
        _ => false,
    }
}

/// Whom a call found or received from.
fn whom(call: &Call, details: &Details) -> Matched {
    resolved(Matched { peer: call.peer, tag: call.tag }, details.matched)
}
