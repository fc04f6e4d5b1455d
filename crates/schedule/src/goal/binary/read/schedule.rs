//! The schedule of one rank.

use straggler_model::{Rank, Time};

use super::{File, problem, u32_at};
use crate::goal::binary::{COUNTS, INDEX, NODE};
use crate::goal::error::{BinaryProblem, GoalError};
use crate::goal::rounding::LONGEST_NS;
use crate::graph::{ANY, Edge, MAX_DEPENDENCIES, RankFilling};
use crate::validate::cycle::find_cycle;
use crate::{Operation, OperationKind, RankView};

/// What is needed while a rank is read.
#[derive(Default)]
pub(super) struct Scratch {
    /// For each node, how many dependencies on others were found.
    counted: Vec<u32>,
    /// Who waits for one node.
    dependents: Vec<Edge>,
}

/// The schedule of one rank, cut into its parts.
pub(super) struct Schedule<'a> {
    file: &'a File<'a>,
    rank: Rank,
    roots: &'a [[u8; INDEX]],
    nodes: &'a [[u8; NODE]],
    appendix: &'a [[u8; INDEX]],
}

impl<'a> Schedule<'a> {
    pub fn open(file: &'a File<'a>, rank: Rank) -> Result<Schedule<'a>, GoalError> {
        let bytes = file.schedule(rank);
        let available = bytes.len() as u64;
        let truncated =
            |field, needed| problem(Some(rank), field, BinaryProblem::Truncated { needed, available });
        if bytes.len() < COUNTS {
            return truncated("numbers of nodes and roots", COUNTS as u64);
        }
        let (nodes, roots) = (u32_at(bytes, 0), u32_at(bytes, 4));
        let nodes_at = COUNTS as u64 + u64::from(roots) * INDEX as u64;
        let appendix_at = nodes_at + u64::from(nodes) * NODE as u64;
        if nodes_at > available {
            return truncated("roots", nodes_at);
        }
        if appendix_at > available {
            return truncated("nodes", appendix_at);
        }
        if nodes > Edge::MAX_OPERATIONS {
            let limit = u64::from(Edge::MAX_OPERATIONS);
            return problem(
                Some(rank),
                "number of nodes",
                BinaryProblem::OutOfRange { found: u64::from(nodes), limit },
            );
        }
        let (rest, appendix) = bytes.split_at(appendix_at as usize);
        let (appendix, odd) = appendix.as_chunks::<INDEX>();
        if !odd.is_empty() {
            return truncated("appendix", available.next_multiple_of(INDEX as u64));
        }
        let (roots, nodes) = rest[COUNTS..].split_at(nodes_at as usize - COUNTS);
        let (roots, nodes) = (roots.as_chunks::<INDEX>().0, nodes.as_chunks::<NODE>().0);
        Ok(Schedule { file, rank, roots, nodes, appendix })
    }

    fn fail<T>(&self, field: &'static str, what: BinaryProblem) -> Result<T, GoalError> {
        problem(Some(self.rank), field, what)
    }

    pub fn operations(&self) -> usize {
        self.nodes.len()
    }

    /// Reads the nodes with their edges into `target`.
    pub fn read(&self, mut target: RankFilling<'_, '_>, scratch: &mut Scratch) -> Result<(), GoalError> {
        let Scratch { counted, dependents } = scratch;
        counted.clear();
        counted.resize(self.nodes.len(), 0);
        let mut edges = Edges::new(self, counted);
        // Where all dependencies go forward, a node's count is complete when the node is reached.
        let mut seems_wrong = 0;
        for (node, bytes) in (0..).zip(self.nodes) {
            let operation = self.operation(node, bytes)?;
            seems_wrong |= number::<0>(bytes) ^ edges.counted[node as usize];
            edges.read(node, bytes, dependents)?;
            target.push(&operation, dependents);
            dependents.clear();
        }
        let Edges { total, forward, irequires, .. } = edges;
        let view = target.end(total, irequires);
        if seems_wrong != 0 || !forward {
            self.check_dependency_counts(counted)?;
        }
        self.check_roots(counted)?;
        if forward { Ok(()) } else { self.refuse_cycle(&view) }
    }

    /// Nearly all nodes are messages with nothing odd about them.
    #[inline(always)]
    fn operation(&self, node: u32, bytes: &[u8; NODE]) -> Result<Operation, GoalError> {
        let operation = message(bytes);
        let Operation { peer, tag, cpu, nic, .. } = operation;
        let is_message = bytes[TYPE] == OperationKind::Recv as u8
            || bytes[TYPE] == OperationKind::Send as u8 && tag != ANY;
        let File { ranks, largest_cpu, largest_nic, .. } = *self.file;
        if is_message && peer < ranks && cpu <= largest_cpu && nic <= largest_nic {
            return Ok(operation);
        }
        self.other_operation(node, bytes)
    }

    #[inline(never)]
    fn other_operation(&self, node: u32, bytes: &[u8; NODE]) -> Result<Operation, GoalError> {
        let Operation { amount, peer, tag, cpu, nic, .. } = message(bytes);
        self.check_lane("CPU", node, cpu, self.file.largest_cpu)?;
        self.check_lane("NIC", node, nic, self.file.largest_nic)?;
        let kind = match bytes[TYPE] {
            1 => OperationKind::Send,
            2 => OperationKind::Recv,
            3 if amount > LONGEST_NS => {
                return self.fail("size", BinaryProblem::TooLong { node, found: amount, limit: LONGEST_NS });
            }
            3 => return Ok(Operation { cpu, nic, ..Operation::calc(Time::from_ns(amount)) }),
            found => return self.fail("type", BinaryProblem::UnknownType { node, found }),
        };
        if kind == OperationKind::Send && (peer == ANY || tag == ANY) {
            let field = if peer == ANY { "peer" } else { "tag" };
            return self.fail(field, BinaryProblem::WildcardSend { node });
        }
        if peer >= self.file.ranks && peer != ANY {
            let (found, limit) = (u64::from(peer), u64::from(self.file.ranks - 1));
            return self.fail("peer", BinaryProblem::NodeOutOfRange { node, found, limit });
        }
        Ok(Operation { kind, amount, peer, tag, cpu, nic })
    }

    fn check_lane(&self, field: &'static str, node: u32, found: u8, largest: u8) -> Result<(), GoalError> {
        if found <= largest {
            return Ok(());
        }
        let (found, limit) = (u64::from(found), u64::from(largest));
        self.fail(field, BinaryProblem::NodeOutOfRange { node, found, limit })
    }

    fn check_dependency_counts(&self, counted: &[u32]) -> Result<(), GoalError> {
        for (node, (bytes, &right)) in (0..).zip(self.nodes.iter().zip(counted)) {
            let stated = number::<0>(bytes);
            if stated != right {
                let (found, counted) = (u64::from(stated), u64::from(right));
                return self.fail("dependency count", BinaryProblem::NodeMismatch { node, found, counted });
            }
        }
        Ok(())
    }

    /// The roots are exactly the nodes without dependencies.
    fn check_roots(&self, counted: &[u32]) -> Result<(), GoalError> {
        let found = self.roots.len() as u64;
        let right = counted.iter().filter(|&&count| count == 0).count() as u64;
        if found != right {
            return self.fail("number of roots", BinaryProblem::Mismatch { found, counted: right });
        }
        for root in self.roots.iter().map(|&entry| u32::from_le_bytes(entry)) {
            match counted.get(root as usize) {
                Some(0) => {}
                Some(&count) => {
                    let (found, counted) = (0, u64::from(count));
                    return self.fail("roots", BinaryProblem::NodeMismatch { node: root, found, counted });
                }
                None => {
                    let (found, limit) = (u64::from(root), (counted.len() as u64).saturating_sub(1));
                    return self.fail("roots", BinaryProblem::OutOfRange { found, limit });
                }
            }
        }
        Ok(())
    }

    fn refuse_cycle(&self, rank: &RankView<'_>) -> Result<(), GoalError> {
        match find_cycle(rank) {
            None => Ok(()),
            Some(cycle) => {
                let nodes = cycle.iter().map(|node| format!("operation {node}")).collect();
                self.fail("appendix", BinaryProblem::Cycle { nodes })
            }
        }
    }
}

/// Where a node's type is.
const TYPE: usize = 4;

/// A node as a message, whatever its type.
#[inline(always)]
fn message(bytes: &[u8; NODE]) -> Operation {
    let kind = if bytes[TYPE] == OperationKind::Send as u8 { OperationKind::Send } else { OperationKind::Recv };
    let amount = u64::from(number::<9>(bytes)) | u64::from(number::<13>(bytes)) << 32;
    let (peer, tag) = (number::<5>(bytes), number::<17>(bytes));
    Operation { kind, amount, peer, tag, cpu: bytes[21], nic: bytes[22] }
}

/// The number at a place that is known to be inside a node.
#[inline(always)]
fn number<const AT: usize>(bytes: &[u8; NODE]) -> u32 {
    u32::from_le_bytes([bytes[AT], bytes[AT + 1], bytes[AT + 2], bytes[AT + 3]])
}

/// The edges of a rank while they are read.
struct Edges<'a> {
    schedule: &'a Schedule<'a>,
    /// For each node, how many dependencies on others were found so far.
    counted: &'a mut [u32],
    total: u64,
    /// Whether every dependency so far goes from an earlier node to a later one.
    forward: bool,
    irequires: bool,
}

impl<'a> Edges<'a> {
    fn new(schedule: &'a Schedule<'a>, counted: &'a mut [u32]) -> Edges<'a> {
        Edges { schedule, counted, total: 0, forward: true, irequires: false }
    }

    /// Reads who waits for `node`.
    #[inline]
    fn read(
        &mut self,
        node: u32,
        bytes: &[u8; NODE],
        dependents: &mut Vec<Edge>,
    ) -> Result<(), GoalError> {
        let (requires, irequires) = (number::<23>(bytes), number::<31>(bytes));
        if requires != 0 {
            let list = self.list("requires", node, requires, number::<27>(bytes))?;
            self.add(node, list, Edge::requires, dependents)?;
        }
        if irequires != 0 {
            self.irequires = true;
            let list = self.list("irequires", node, irequires, number::<35>(bytes))?;
            self.add(node, list, Edge::irequires, dependents)?;
        }
        Ok(())
    }

    /// A part of the appendix.
    #[inline]
    fn list(
        &mut self,
        field: &'static str,
        node: u32,
        count: u32,
        start: u32,
    ) -> Result<&'a [[u8; INDEX]], GoalError> {
        let (count, start) = (u64::from(count), u64::from(start));
        let limit = self.schedule.appendix.len().min(MAX_DEPENDENCIES) as u64;
        // Lists that share entries could make a small file a large graph.
        self.total += count;
        if start + count > limit || self.total > limit {
            let found = (start + count).max(self.total);
            return self.schedule.fail(field, BinaryProblem::NodeOutOfRange { node, found, limit });
        }
        Ok(&self.schedule.appendix[start as usize..(start + count) as usize])
    }

    #[inline]
    fn add(
        &mut self,
        before: u32,
        list: &[[u8; INDEX]],
        edge: impl Fn(u32) -> Edge,
        dependents: &mut Vec<Edge>,
    ) -> Result<(), GoalError> {
        for &entry in list {
            let dependent = u32::from_le_bytes(entry);
            let limit = self.counted.len() as u64 - 1;
            let Some(count) = self.counted.get_mut(dependent as usize) else {
                let problem =
                    BinaryProblem::NodeOutOfRange { node: before, found: u64::from(dependent), limit };
                return self.schedule.fail("appendix", problem);
            };
            *count += 1;
            if dependent <= before {
                if dependent == before {
                    let problem = BinaryProblem::SelfDependency { node: before };
                    return self.schedule.fail("appendix", problem);
                }
                self.forward = false;
            }
            dependents.push(edge(dependent));
        }
        Ok(())
    }
}
