//! The schedule of one rank.

use straggler_model::{Rank, Tag, Time};

use super::{File, problem, u32_at};
use crate::goal::binary::{COUNTS, INDEX, NODE};
use crate::goal::error::{BinaryProblem, GoalError};
use crate::goal::rounding::LONGEST_NS;
use crate::graph::{ANY, Columns, Edge, Facts, Link, MANY, MAX_DEPENDENCIES, Row, at_most_many};
use crate::validate::cycle::find_cycle;
use crate::{Operation, OperationKind, RankView};

/// Buffers that are reused for every rank.
#[derive(Default)]
pub(super) struct Scratch {
    /// For each node, the number of dependencies found.
    counted: Vec<u32>,
    /// The dependents of one node.
    dependents: Vec<Edge>,
}

/// The schedule of one rank, divided into its parts.
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

    /// Reads the nodes with their edges into `columns`.
    pub fn read(&self, mut columns: Columns<'_, '_>, scratch: &mut Scratch) -> Result<Facts, GoalError> {
        let Scratch { counted, dependents } = scratch;
        counted.clear();
        counted.resize(self.nodes.len(), 0);
        let Columns { rows, waits, base, edges, .. } = &mut columns;
        let counted = &mut counted[..self.nodes.len()];
        let mut edges = Edges {
            schedule: self,
            dependents,
            edges,
            base: *base,
            plain: 0,
            listed: 0,
            forward: true,
            irequires: false,
        };
        let mut facts = Facts::default();
        // If all dependencies go forward, a node's count is complete when the node is reached.
        let mut seems_wrong = false;
        // Node numbers are below the limit of operations per rank, so they fit in 32 bits.
        for (node, (bytes, row)) in self.nodes.iter().zip(rows.iter_mut()).enumerate() {
            if number::<0>(bytes) != counted[node] {
                seems_wrong = true;
            }
            let node = node as u32;
            let operation = match self.plain(bytes, &mut facts) {
                Some(operation) => operation,
                None => self.other_operation(node, bytes, &mut facts)?,
            };
            let link = match edges.plain(node, bytes, counted) {
                Some(link) => link,
                None => edges.any(node, bytes, counted)?,
            };
            *row = Row::new(&operation, link).0;
        }
        facts.edges = edges.plain + edges.listed;
        facts.irequires = edges.irequires;
        let forward = edges.forward;
        fill_waits(waits, counted);
        for (lane, bytes) in columns.lane.iter_mut().zip(self.nodes) {
            *lane = [bytes[21], bytes[22]];
            facts.note_lane(*lane);
        }
        if facts.edges > self.most_edges() {
            return self.refuse_shared_edges();
        }
        if seems_wrong || !forward {
            self.check_dependency_counts(counted)?;
        }
        self.check_roots(counted)?;
        if !forward {
            self.refuse_cycle(&columns.view())?;
        }
        Ok(facts)
    }

    /// Reads the most common nodes: plain messages that need no further checks.
    #[inline(always)]
    fn plain(&self, bytes: &[u8; NODE], facts: &mut Facts) -> Option<Operation> {
        let (amount, peer, tag, [cpu, nic]) = fields(bytes);
        let File { ranks, largest_cpu, largest_nic, .. } = *self.file;
        let on_lanes = cpu | nic == 0 || cpu <= largest_cpu && nic <= largest_nic;
        if peer >= ranks || !on_lanes {
            return None;
        }
        let kind = match bytes[TYPE] {
            1 if tag != ANY => {
                facts.note_message(amount);
                OperationKind::Send
            }
            2 => OperationKind::Recv,
            _ => return None,
        };
        Some(Operation { kind, amount, peer, tag, cpu, nic })
    }

    fn most_edges(&self) -> u64 {
        self.appendix.len().min(MAX_DEPENDENCIES) as u64
    }

    /// Lists that share entries could turn a small file into a large graph. Reports the first node
    /// with which the lists exceed the appendix.
    #[inline(never)]
    fn refuse_shared_edges<T>(&self) -> Result<T, GoalError> {
        let (limit, mut found) = (self.most_edges(), 0);
        for (node, bytes) in (0..).zip(self.nodes) {
            for (field, count) in [("requires", number::<23>(bytes)), ("irequires", number::<31>(bytes))] {
                found += u64::from(count);
                if found > limit {
                    return self.fail(field, BinaryProblem::NodeOutOfRange { node, found, limit });
                }
            }
        }
        self.fail("appendix", BinaryProblem::OutOfRange { found, limit })
    }

    #[inline(never)]
    fn other_operation(
        &self,
        node: u32,
        bytes: &[u8; NODE],
        facts: &mut Facts,
    ) -> Result<Operation, GoalError> {
        let (amount, peer, tag, [cpu, nic]) = fields(bytes);
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
        let operation = Operation { kind, amount, peer, tag, cpu, nic };
        facts.note(&operation);
        Ok(operation)
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

    /// Checks that the roots are exactly the nodes without dependencies.
    fn check_roots(&self, counted: &[u32]) -> Result<(), GoalError> {
        let found = self.roots.len() as u64;
        // The sum is below the limit of operations per rank, so 32 bits suffice, which vectorises better.
        let right = u64::from(counted.iter().map(|&count| u32::from(count == 0)).sum::<u32>());
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

/// Offset of the type in a node.
const TYPE: usize = 4;

/// Size, peer, tag, CPU and NIC of a node.
#[inline(always)]
fn fields(bytes: &[u8; NODE]) -> (u64, Rank, Tag, [u8; 2]) {
    let amount = u64::from(number::<9>(bytes)) | u64::from(number::<13>(bytes)) << 32;
    (amount, number::<5>(bytes), number::<17>(bytes), [bytes[21], bytes[22]])
}

/// Fills in how many others each node waits for, capped at [`MANY`].
#[inline(always)]
fn fill_waits(waits: &mut [u8], counted: &[u32]) {
    let mut seen = 0;
    for (waits, &count) in waits.iter_mut().zip(counted) {
        *waits = count as u8;
        seen |= count;
    }
    if seen >= u32::from(MANY) {
        waits.iter_mut().zip(counted).for_each(|(waits, &count)| *waits = at_most_many(count));
    }
}

/// The number at a fixed offset inside a node.
#[inline(always)]
fn number<const AT: usize>(bytes: &[u8; NODE]) -> u32 {
    u32::from_le_bytes([bytes[AT], bytes[AT + 1], bytes[AT + 2], bytes[AT + 3]])
}

/// The edges of a rank while they are read, with a count of the dependencies found for each node.
struct Edges<'a> {
    schedule: &'a Schedule<'a>,
    dependents: &'a mut Vec<Edge>,
    /// Where lists are appended; those of the rank begin at `base`.
    edges: &'a mut Vec<u32>,
    base: usize,
    /// Edges found by [`Edges::plain`] and by [`Edges::any`].
    plain: u64,
    listed: u64,
    /// Whether every dependency so far goes from an earlier node to a later one.
    forward: bool,
    irequires: bool,
}

impl<'a> Edges<'a> {
    /// Reads the dependents of `node` in the common case: none, or up to three consecutive later
    /// nodes that wait for its completion.
    #[inline(always)]
    fn plain(&mut self, node: u32, bytes: &[u8; NODE], counted: &mut [u32]) -> Option<Link> {
        let (requires, irequires) = (number::<23>(bytes), number::<31>(bytes));
        if irequires != 0 || requires > 3 {
            return None;
        }
        if requires == 0 {
            return Some(Link::NOBODY);
        }
        let (length, start) = (requires as usize, number::<27>(bytes) as usize);
        let list = self.schedule.appendix.get(start..start + length)?;
        let first = u32::from_le_bytes(list[0]);
        let follows = |place: usize| {
            list.get(place).is_none_or(|&entry| u32::from_le_bytes(entry).wrapping_sub(first) == place as u32)
        };
        if first <= node || !follows(1) || !follows(2) {
            return None;
        }
        let link = Link::run(first, requires)?;
        match counted.get_mut(first as usize..first as usize + length)? {
            [one] => *one += 1,
            [one, two] => (*one, *two) = (*one + 1, *two + 1),
            more => more.iter_mut().for_each(|count| *count += 1),
        }
        self.plain += length as u64;
        Some(link)
    }

    /// Reads the dependents of a node in the general case.
    #[inline(never)]
    fn any(&mut self, node: u32, bytes: &[u8; NODE], counted: &mut [u32]) -> Result<Link, GoalError> {
        let (requires, irequires) = (number::<23>(bytes), number::<31>(bytes));
        self.dependents.clear();
        self.irequires |= irequires != 0;
        let list = self.list("requires", node, requires, number::<27>(bytes))?;
        self.add(node, list, Edge::requires, counted)?;
        let list = self.list("irequires", node, irequires, number::<35>(bytes))?;
        self.add(node, list, Edge::irequires, counted)?;
        Ok(Link::new(self.dependents, self.edges, self.base))
    }

    /// A list in the appendix.
    fn list(
        &mut self,
        field: &'static str,
        node: u32,
        count: u32,
        start: u32,
    ) -> Result<&'a [[u8; INDEX]], GoalError> {
        let (count, start, limit) = (u64::from(count), u64::from(start), self.schedule.most_edges());
        if count == 0 {
            return Ok(&[]);
        }
        self.listed += count;
        if start + count > limit || self.listed > limit {
            let found = (start + count).max(self.listed);
            return self.schedule.fail(field, BinaryProblem::NodeOutOfRange { node, found, limit });
        }
        Ok(&self.schedule.appendix[start as usize..(start + count) as usize])
    }

    fn add(
        &mut self,
        before: u32,
        list: &[[u8; INDEX]],
        edge: impl Fn(u32) -> Edge,
        counted: &mut [u32],
    ) -> Result<(), GoalError> {
        for &entry in list {
            let dependent = u32::from_le_bytes(entry);
            let limit = counted.len() as u64 - 1;
            let Some(count) = counted.get_mut(dependent as usize) else {
                let found = u64::from(dependent);
                let problem = BinaryProblem::NodeOutOfRange { node: before, found, limit };
                return self.schedule.fail("appendix", problem);
            };
            *count += 1;
            if dependent == before {
                return self.schedule.fail("appendix", BinaryProblem::SelfDependency { node: before });
            }
            self.forward &= dependent > before;
            self.dependents.push(edge(dependent));
        }
        Ok(())
    }
}
