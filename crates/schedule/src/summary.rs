//! A schedule in a few numbers.

use straggler_model::stats::median_in_place;

use crate::graph::ANY;
use crate::{Graph, OperationKind};

/// The counts and sizes of a schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    pub processes: u32,
    pub sends: u64,
    pub receives: u64,
    pub computations: u64,
    /// Size of all messages together.
    pub message_bytes: u128,
    /// `None` if there are no messages.
    pub message_sizes: Option<Sizes>,
    /// Computation of all processes together, in picoseconds.
    pub computation_ps: u128,
    /// Dependencies on the completion of an operation.
    pub requires: u64,
    /// Dependencies on the start of an operation.
    pub irequires: u64,
    /// CPUs and NICs per process.
    pub cpus: usize,
    pub nics: usize,
    /// Receives from any source.
    pub any_source: u64,
    /// Receives of any tag.
    pub any_tag: u64,
    /// Number of operations of the process with the most.
    pub most_operations: u32,
    /// Memory that the schedule occupies, in bytes.
    pub memory_bytes: u64,
}

/// Message sizes in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    pub min: u64,
    pub median: u64,
    pub max: u64,
}

impl Summary {
    pub fn new(graph: &Graph) -> Summary {
        let (cpus, nics) = graph.lanes();
        let mut summary = Summary {
            processes: graph.processes(),
            cpus,
            nics,
            memory_bytes: graph.memory_bytes(),
            ..Summary::default()
        };
        let mut sizes = Vec::with_capacity(graph.messages() as usize);
        for rank in 0..graph.processes() {
            summary.add_rank(graph, rank, &mut sizes);
        }
        summary.message_sizes = Sizes::new(&mut sizes);
        summary
    }

    pub fn operations(&self) -> u64 {
        self.sends + self.receives + self.computations
    }

    fn add_rank(&mut self, graph: &Graph, rank: u32, sizes: &mut Vec<u64>) {
        let view = graph.rank(rank);
        self.most_operations = self.most_operations.max(view.len());
        for operation in view.operations() {
            match operation.kind {
                OperationKind::Send => {
                    self.sends += 1;
                    self.message_bytes += u128::from(operation.amount);
                    sizes.push(operation.amount);
                }
                OperationKind::Recv => {
                    self.receives += 1;
                    self.any_source += u64::from(operation.peer == ANY);
                    self.any_tag += u64::from(operation.tag == ANY);
                }
                OperationKind::Calc => {
                    self.computations += 1;
                    self.computation_ps += u128::from(operation.amount);
                }
            }
        }
        for edge in view.all_edges() {
            self.irequires += u64::from(edge.on_start());
            self.requires += u64::from(!edge.on_start());
        }
    }
}

impl Sizes {
    fn new(sizes: &mut [u64]) -> Option<Sizes> {
        let (min, max) = (*sizes.iter().min()?, *sizes.iter().max()?);
        Some(Sizes { min, median: median_in_place(sizes)?, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::text;

    #[test]
    fn counts_everything_once() {
        let goal = "num_ranks 3
            rank 0 { a: calc 5 cpu 2; b: send 8b to 1; c: send 2b to 1; d: send 100b to 2 nic 1
                     b requires a; c irequires b; d requires a }
            rank 1 { recv 8b from -1; recv 2b from -1 tag -1 }";
        let graph = text::parse(goal.as_bytes()).unwrap();
        let summary = Summary::new(&graph);
        let expected = Summary {
            processes: 3,
            sends: 3,
            receives: 2,
            computations: 1,
            message_bytes: 110,
            message_sizes: Some(Sizes { min: 2, median: 8, max: 100 }),
            computation_ps: 5_000,
            requires: 2,
            irequires: 1,
            cpus: 3,
            nics: 2,
            any_source: 2,
            any_tag: 1,
            most_operations: 4,
            memory_bytes: graph.memory_bytes(),
        };
        assert_eq!(summary, expected);
        assert_eq!(summary.operations(), 6);
        // 6 operations of 23 bytes, 3 edges of 4, and 4 pairs of 8-byte offsets.
        assert_eq!(summary.memory_bytes, 6 * 23 + 3 * 4 + 2 * 4 * 8);
    }

    #[test]
    fn nothing_has_no_sizes() {
        let graph = text::parse(b"num_ranks 2").unwrap();
        assert_eq!(Summary::new(&graph).message_sizes, None);
    }
}
