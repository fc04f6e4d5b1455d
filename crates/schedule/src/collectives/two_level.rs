//! Two levels: one algorithm inside the nodes, another between them.

use super::{Algorithm, Collective, CollectiveError, Job, Operation};

/// The operation that is done inside a node.
pub(super) fn node_operation(operation: Operation) -> Operation {
    operation
}

pub(super) fn build(
    operation: Operation,
    algorithm: &Algorithm,
    _job: &Job,
) -> Result<Collective, CollectiveError> {
    Err(CollectiveError::NotAnAlgorithm { operation: operation.name(), algorithm: algorithm.name.text() })
}
