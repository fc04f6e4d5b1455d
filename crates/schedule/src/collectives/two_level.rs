//! Two levels: one algorithm inside the nodes, another between them.
//!
//! Nodes are runs of consecutive ranks, so the blocks of a node are contiguous. One rank of each
//! node is its leader: the root in its own node, the first rank in the others. Data moves inside
//! the nodes, between the leaders, or both in turn:
//!
//! | operation | inside the nodes | between leaders | inside the nodes |
//! |---|---|---|---|
//! | bcast, scatter | | the same | the same |
//! | reduce, gather | the same | the same | |
//! | allreduce, barrier | reduce | the same | bcast |
//! | allgather | gather | the same | bcast |

use super::groups::{Groups, Nodes};
use super::sequence::{Part, Sequence};
use super::sizes::Sizes;
use super::{Algorithm, Collective, CollectiveError, Data, Job, Name, Operation, at_most};

/// Keeps the total number of stages below the limit for a rank: a part has at most twice as many
/// stages as processes or segments, and the sizes of node and network multiply to this limit.
const MOST_PROCESSES: u32 = 1 << 27;

/// The operation inside the nodes; if there are two, the first.
pub(super) fn node_operation(operation: Operation) -> Operation {
    match operation {
        Operation::Allreduce | Operation::Barrier => Operation::Reduce,
        Operation::Allgather => Operation::Gather,
        Operation::Allgatherv => Operation::Gatherv,
        same => same,
    }
}

pub(super) fn build(
    operation: Operation,
    algorithm: &Algorithm,
    job: &Job,
) -> Result<Collective, CollectiveError> {
    if let Some(reason) = refusal(operation) {
        return Err(CollectiveError::NoLevels { operation: operation.name(), reason });
    }
    let per_node = algorithm.levels.per_node.filter(|&ranks| ranks > 0);
    let per_node = per_node.ok_or(CollectiveError::PerNodeMissing)?;
    at_most(Name::TwoLevel, job.processes, MOST_PROCESSES)?;
    let root = if operation.has_root() { job.root } else { 0 };
    let nodes = Nodes { processes: job.processes, per_node: per_node.min(job.processes), root };
    let plan = Plan {
        operation,
        node: part(&algorithm.levels.node, node_operation(operation))?,
        network: part(&algorithm.levels.network, operation)?,
        nodes,
        job,
    };
    Ok(Collective::other(Sequence::new(job.processes, plan.parts()?)))
}

/// Why an operation has no two-level algorithm.
fn refusal(operation: Operation) -> Option<&'static str> {
    match operation.uniform() {
        Operation::Alltoall => Some("each pair of ranks has its own data, which a leader would only delay"),
        Operation::Scan | Operation::Exscan => Some(
            "the first rank of a node needs the result of the previous node, so the levels do not separate",
        ),
        Operation::ReduceScatterBlock => Some("use reduce and scatter, each in two levels"),
        _ => None,
    }
}

/// The requested algorithm, or else the operation's first one.
fn part(given: &Option<Box<Algorithm>>, operation: Operation) -> Result<Algorithm, CollectiveError> {
    let first = || operation.algorithms().first().map(|&name| Algorithm::from(name));
    given.as_deref().cloned().or_else(first).ok_or(CollectiveError::NotAnAlgorithm {
        operation: operation.name(),
        algorithm: Name::TwoLevel.text(),
    })
}

/// Whether every contribution is counted once, see [`Algorithm::is_exact`]. Only the network
/// matters: trees inside nodes are exact.
pub(super) fn is_exact(algorithm: &Algorithm, operation: Operation, processes: u32) -> bool {
    let nodes = processes.div_ceil(algorithm.levels.per_node.unwrap_or(1).max(1));
    part(&algorithm.levels.network, operation).is_ok_and(|network| network.is_exact(operation, nodes))
}

/// The broadcast that goes with a reduction or gather: over the same tree, if bcast has it.
fn downward(algorithm: &Algorithm) -> Algorithm {
    let mut down = algorithm.clone();
    down.name = match algorithm.name {
        Name::Rabenseifner => Name::ScatterAllgather,
        name if Operation::Bcast.algorithms().contains(&name) => name,
        _ => Name::Binomial,
    };
    for level in [&mut down.levels.node, &mut down.levels.network].into_iter().flatten() {
        **level = downward(level);
    }
    down
}

struct Plan<'a> {
    operation: Operation,
    node: Algorithm,
    network: Algorithm,
    nodes: Nodes,
    job: &'a Job,
}

impl Plan<'_> {
    fn parts(&self) -> Result<Vec<Part>, CollectiveError> {
        let (operation, inside) = (self.operation, node_operation(self.operation));
        let whole = match operation.data() {
            Data::Vector => self.job.vector(),
            _ => self.job.sizes.start(u64::from(self.nodes.processes)),
        };
        Ok(match operation.uniform() {
            Operation::Bcast | Operation::Scatter => {
                vec![self.between_leaders()?, self.inside_nodes(inside)?]
            }
            Operation::Reduce | Operation::Gather => {
                vec![self.inside_nodes(inside)?, self.between_leaders()?]
            }
            _ => vec![self.inside_nodes(inside)?, self.between_leaders()?, self.release(whole)?],
        })
    }

    fn inside_nodes(&self, operation: Operation) -> Result<Part, CollectiveError> {
        if operation.data() == Data::Vector {
            return self.same_in_nodes(operation, &self.node, self.job.vector());
        }
        let (sizes, per_node) = (&self.job.sizes, u64::from(self.nodes.per_node));
        let blocks = |node: u32| sizes.from(u64::from(node) * per_node);
        self.in_nodes(operation, &self.node, sizes.period_of_runs(per_node), Some(self.node_sizes()), blocks)
    }

    /// Broadcasts the leader's data inside each node.
    fn release(&self, bytes: u64) -> Result<Part, CollectiveError> {
        self.same_in_nodes(Operation::Bcast, &downward(&self.node), bytes)
    }

    /// Runs an operation in all nodes on a vector of the same size.
    fn same_in_nodes(
        &self,
        operation: Operation,
        algorithm: &Algorithm,
        bytes: u64,
    ) -> Result<Part, CollectiveError> {
        self.in_nodes(operation, algorithm, 1, None, |_| Sizes::uniform(bytes))
    }

    /// Builds an operation for all nodes. Complete nodes led by their first rank repeat after
    /// `period` nodes; the last node may be smaller, and the root's node may have another leader.
    fn in_nodes(
        &self,
        operation: Operation,
        algorithm: &Algorithm,
        period: u64,
        data: Option<Sizes>,
        sizes: impl Fn(u32) -> Sizes,
    ) -> Result<Part, CollectiveError> {
        let nodes = self.nodes;
        let build = |node: u32, processes: u32, root: u32| {
            let reduction = self.job.reduction;
            algorithm.build(operation, &Job { processes, root, sizes: sizes(node), reduction })
        };
        let kinds = period.min(u64::from(nodes.count())) as u32;
        let regular = (0..kinds).map(|node| build(node, nodes.per_node, 0)).collect::<Result<_, _>>()?;
        let is_special = |&node: &u32| nodes.leader_member(node) != 0 || nodes.size(node) < nodes.per_node;
        let (roots, last) = (nodes.node(nodes.root), nodes.count() - 1);
        let candidates = [Some(roots), (last != roots).then_some(last)];
        let special = candidates.into_iter().flatten().filter(is_special);
        let special = special
            .map(|node| Ok((node, build(node, nodes.size(node), nodes.leader_member(node))?)))
            .collect::<Result<_, _>>()?;
        Ok(Part { groups: Groups::Nodes(nodes), regular, special, data })
    }

    fn between_leaders(&self) -> Result<Part, CollectiveError> {
        let nodes = self.nodes;
        let (operation, sizes) = match self.operation.uniform() {
            Operation::Scatter => (Operation::Scatterv, self.node_sizes()),
            Operation::Gather => (Operation::Gatherv, self.node_sizes()),
            Operation::Allgather => (Operation::Allgatherv, self.node_sizes()),
            same => (same, Sizes::uniform(self.job.vector())),
        };
        let root = nodes.node(nodes.root);
        let job = Job { processes: nodes.count(), root, sizes, reduction: self.job.reduction };
        let collective = self.network.build(operation, &job)?;
        Ok(Part { groups: Groups::Leaders(nodes), ..Part::everyone(collective) })
    }

    /// Size in bytes of the blocks of each node. The sizes repeat, unless the last node is smaller.
    fn node_sizes(&self) -> Sizes {
        let (sizes, per_node) = (&self.job.sizes, u64::from(self.nodes.per_node));
        let all = u64::from(self.nodes.processes);
        let listed = match all % per_node {
            0 => sizes.period_of_runs(per_node).min(all / per_node),
            _ => u64::from(self.nodes.count()),
        };
        let bytes = (0..listed).map(|node| {
            let range = sizes.range(node * per_node..((node + 1) * per_node).min(all));
            range.end - range.start
        });
        Sizes::repeating(&bytes.collect::<Vec<u64>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(operation: Operation, algorithm: Algorithm) -> Result<Collective, CollectiveError> {
        algorithm.build(operation, &Job::new(12, 8))
    }

    #[test]
    fn what_is_missing_or_makes_no_sense_is_refused() {
        let two_level = || Algorithm::from(Name::TwoLevel);
        assert_eq!(build(Operation::Bcast, two_level()).unwrap_err(), CollectiveError::PerNodeMissing);
        let mut none = two_level();
        none.levels.per_node = Some(0);
        assert_eq!(build(Operation::Bcast, none).unwrap_err(), CollectiveError::PerNodeMissing);
        for operation in [Operation::Scan, Operation::Exscan, Operation::Alltoallv, Operation::ReduceScatter]
        {
            let refused = build(operation, two_level()).unwrap_err();
            assert!(matches!(refused, CollectiveError::NoLevels { .. }), "{refused}");
        }
    }

    #[test]
    fn levels_may_have_levels() {
        let text = "two-level,per-node=4,network=two-level/per-node=2/node=chain,node=rabenseifner";
        let algorithm = Algorithm::parse(Operation::Allreduce, text).unwrap();
        for processes in 1..40 {
            let job = Job::new(processes, 100);
            let collective = algorithm.build(Operation::Allreduce, &job).unwrap();
            super::super::check::check(Operation::Allreduce, &job, &collective).unwrap();
        }
    }
}
