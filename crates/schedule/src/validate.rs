//! Finds errors in a schedule without running it.
//!
//! All findings are reported, not only the first, and each is certain. A schedule without findings
//! can still deadlock, which only an engine detects.

pub(crate) mod cycle;
mod finding;
mod matching;
#[cfg(test)]
mod tests;

use straggler_model::{Rank, parallel};

pub use finding::{Finding, Severity, SizeMismatch};

use crate::graph::ANY;
use crate::{Graph, OperationKind, RankView};

/// Returns all findings: first those within a rank, then those between ranks, each in the order of ranks.
pub fn validate(graph: &Graph) -> Vec<Finding> {
    let mut findings =
        parallel::flat_map(graph.processes() as usize, |rank| inside_rank(graph, rank as Rank));
    findings.extend(matching::unmatched(graph));
    findings
}

fn inside_rank(graph: &Graph, rank: Rank) -> Vec<Finding> {
    let view = graph.rank(rank);
    let mut findings = Vec::new();
    peers(graph, rank, &view, &mut findings);
    for operation in 0..view.len() {
        if view.dependents(operation).any(|edge| edge.dependent() == operation) {
            findings.push(Finding::SelfDependency { rank, operation });
        }
    }
    if let Some(operations) = cycle::find_cycle(&view) {
        findings.push(Finding::Cycle { rank, operations });
    }
    findings
}

fn peers(graph: &Graph, rank: Rank, view: &RankView<'_>, findings: &mut Vec<Finding>) {
    for (index, operation) in (0..).zip(view.operations()) {
        let wildcard = operation.kind == OperationKind::Recv && operation.peer == ANY;
        if operation.kind == OperationKind::Calc || wildcard {
            continue;
        }
        if operation.peer >= graph.processes() {
            let (peer, processes) = (operation.peer, graph.processes());
            findings.push(Finding::PeerOutOfRange { rank, operation: index, peer, processes });
        } else if operation.peer == rank && operation.kind == OperationKind::Send {
            findings.push(Finding::SendToSelf { rank, operation: index });
        }
    }
}
