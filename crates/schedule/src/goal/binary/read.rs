//! Reads GOAL binary. Nothing the file states is believed: every offset and count is checked, and
//! memory stays in proportion to the file.

use std::ops::Range;

use rayon::prelude::*;
use straggler_model::Rank;

use super::{COUNTS, DESTROYED, EXTENT, HEADER, INDEX, MAGIC, NODE};
use crate::goal::error::{BinaryProblem, GoalError};
use crate::goal::rounding::LONGEST_NS;
use crate::graph::{ANY, Edge, MAX_DEPENDENCIES};
use crate::validate::cycle::find_cycle;
use crate::{Graph, GraphBuilder, Operation, OperationKind, RankBuilder};

/// What one thread reads at a time, in bytes.
const PIECE: usize = 256 << 10;
/// Pieces a thread in one batch.
const PIECES_A_THREAD: usize = 8;

/// Reads a schedule.
pub fn parse(bytes: &[u8]) -> Result<Graph, GoalError> {
    parse_with(bytes, &mut |_| ())
}

/// Like [`parse`]; calls `consumed` with ranges of the input that will not be read again.
pub fn parse_with(bytes: &[u8], consumed: &mut dyn FnMut(Range<usize>)) -> Result<Graph, GoalError> {
    let file = File::open(bytes)?;
    let mut graph = GraphBuilder::default();
    let mut next = 0;
    while next < file.ranks {
        let pieces = file.batch(next);
        let read = |ranks: &Range<Rank>| file.read_piece(ranks.clone());
        let graphs: Vec<Result<Graph, GoalError>> = pieces.par_iter().map(read).collect();
        let graphs = graphs.into_iter().collect::<Result<Vec<Graph>, GoalError>>()?;
        graph.append_all(&graphs);
        let (first, end) = (next, pieces.last().map_or(file.ranks, |ranks| ranks.end));
        consumed(file.extent_in_file(first, end));
        next = end;
    }
    Ok(graph.finish())
}

fn problem<T>(rank: Option<Rank>, field: &'static str, problem: BinaryProblem) -> Result<T, GoalError> {
    Err(GoalError::Binary { rank, field, problem })
}

#[inline(always)]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[inline(always)]
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// A file whose header and table of schedules are good.
struct File<'a> {
    /// Everything behind the magic, from which offsets count.
    body: &'a [u8],
    ranks: u32,
    largest_cpu: u8,
    largest_nic: u8,
}

impl<'a> File<'a> {
    fn open(bytes: &'a [u8]) -> Result<File<'a>, GoalError> {
        let Some((magic, body)) = bytes.split_first_chunk::<8>() else {
            return problem(
                None,
                "magic",
                BinaryProblem::Truncated { needed: 8, available: bytes.len() as u64 },
            );
        };
        match u64::from_le_bytes(*magic) {
            MAGIC => {}
            DESTROYED => return problem(None, "magic", BinaryProblem::Destroyed),
            found => return problem(None, "magic", BinaryProblem::WrongMagic { found }),
        }
        let available = body.len() as u64;
        if body.len() < HEADER {
            let needed = HEADER as u64;
            return problem(None, "header", BinaryProblem::Truncated { needed, available });
        }
        let file = File { body, ranks: u32_at(body, 0), largest_cpu: body[4], largest_nic: body[5] };
        let needed = HEADER as u64 + u64::from(file.ranks) * EXTENT as u64;
        if needed > available {
            return problem(None, "table of schedules", BinaryProblem::Truncated { needed, available });
        }
        file.check_ranks()?;
        Ok(file)
    }

    fn check_ranks(&self) -> Result<(), GoalError> {
        if self.ranks == 0 {
            return problem(None, "number of ranks", BinaryProblem::NoRanks);
        }
        let limit = self.body.len() as u64;
        let mut total = 0u64;
        for rank in 0..self.ranks {
            let (start, end) = self.extent(rank);
            if end > limit {
                return problem(
                    Some(rank),
                    "end of the schedule",
                    BinaryProblem::OutOfRange { found: end, limit },
                );
            }
            if start > end {
                let out_of_range = BinaryProblem::OutOfRange { found: start, limit: end };
                return problem(Some(rank), "start of the schedule", out_of_range);
            }
            // Schedules that overlap could make a small file a large graph.
            total = total.saturating_add(end - start);
            if total > limit {
                return problem(Some(rank), "end of the schedule", BinaryProblem::Overlap);
            }
        }
        Ok(())
    }

    fn extent(&self, rank: Rank) -> (u64, u64) {
        let at = HEADER + rank as usize * EXTENT;
        (u64_at(self.body, at), u64_at(self.body, at + 8))
    }

    fn schedule(&self, rank: Rank) -> &'a [u8] {
        let (start, end) = self.extent(rank);
        &self.body[start as usize..end as usize]
    }

    /// Where the schedules of some ranks are, if they stand in order; otherwise nothing.
    fn extent_in_file(&self, first: Rank, end: Rank) -> Range<usize> {
        let (start, stop) = (self.extent(first).0 as usize + 8, self.extent(end - 1).1 as usize + 8);
        if start <= stop { start..stop } else { start..start }
    }

    /// Ranks from `first` on that are read together, in pieces for one thread each.
    fn batch(&self, first: Rank) -> Vec<Range<Rank>> {
        let full = PIECES_A_THREAD * rayon::current_num_threads();
        let mut pieces = Vec::new();
        let mut begin = first;
        while begin < self.ranks && pieces.len() < full {
            let mut end = begin;
            let mut bytes = 0;
            while end < self.ranks && bytes < PIECE {
                bytes += EXTENT + self.schedule(end).len();
                end += 1;
            }
            pieces.push(begin..end);
            begin = end;
        }
        pieces
    }

    fn read_piece(&self, ranks: Range<Rank>) -> Result<Graph, GoalError> {
        let mut graph = GraphBuilder::default();
        let mut builder = RankBuilder::default();
        let mut counted = Vec::new();
        for rank in ranks {
            builder.clear();
            let schedule = Schedule::open(self, rank)?;
            schedule.read_nodes(&mut builder)?;
            schedule.read_edges(&mut builder, &mut counted)?;
            schedule.check_roots(&counted)?;
            graph.push_rank(&builder);
            schedule.refuse_cycle(&graph)?;
        }
        Ok(graph.finish_loose())
    }
}

/// The schedule of one rank, cut into its parts.
struct Schedule<'a> {
    file: &'a File<'a>,
    rank: Rank,
    roots: &'a [u8],
    nodes: &'a [u8],
    appendix: &'a [u8],
}

impl<'a> Schedule<'a> {
    fn open(file: &'a File<'a>, rank: Rank) -> Result<Schedule<'a>, GoalError> {
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
        if appendix.len() % INDEX != 0 {
            return truncated("appendix", available.next_multiple_of(INDEX as u64));
        }
        let (roots, nodes) = rest[COUNTS..].split_at(nodes_at as usize - COUNTS);
        Ok(Schedule { file, rank, roots, nodes, appendix })
    }

    fn fail<T>(&self, field: &'static str, what: BinaryProblem) -> Result<T, GoalError> {
        problem(Some(self.rank), field, what)
    }

    fn read_nodes(&self, builder: &mut RankBuilder) -> Result<(), GoalError> {
        for (node, bytes) in (0..).zip(self.nodes.chunks_exact(NODE)) {
            builder.push(self.operation(node, bytes)?);
        }
        Ok(())
    }

    fn operation(&self, node: u32, bytes: &[u8]) -> Result<Operation, GoalError> {
        let (peer, amount, tag) = (u32_at(bytes, 5), u64_at(bytes, 9), u32_at(bytes, 17));
        let (cpu, nic) = (bytes[21], bytes[22]);
        self.check_lane("CPU", node, cpu, self.file.largest_cpu)?;
        self.check_lane("NIC", node, nic, self.file.largest_nic)?;
        let kind = match bytes[4] {
            1 => OperationKind::Send,
            2 => OperationKind::Recv,
            3 if amount > LONGEST_NS => {
                return self.fail("size", BinaryProblem::TooLong { node, found: amount, limit: LONGEST_NS });
            }
            3 => {
                return Ok(Operation {
                    kind: OperationKind::Calc,
                    amount: amount * 1_000,
                    peer: 0,
                    tag: 0,
                    cpu,
                    nic,
                });
            }
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

    /// Adds the edges and counts the dependencies of every node.
    fn read_edges(&self, builder: &mut RankBuilder, counted: &mut Vec<u32>) -> Result<(), GoalError> {
        counted.clear();
        counted.resize(builder.len(), 0);
        let entries = (self.appendix.len() / INDEX).min(MAX_DEPENDENCIES) as u64;
        let mut total = 0;
        for (node, bytes) in (0..).zip(self.nodes.chunks_exact(NODE)) {
            let places = [(23, "requires"), (31, "irequires")];
            for (at, field) in places {
                let (count, start) = (u64::from(u32_at(bytes, at)), u64::from(u32_at(bytes, at + 4)));
                // Lists that share entries could make a small file a large graph.
                total += count;
                if (count > 0 && start + count > entries) || total > entries {
                    let found = (start + count).max(total);
                    return self.fail(field, BinaryProblem::NodeOutOfRange { node, found, limit: entries });
                }
                if count > 0 {
                    let list = &self.appendix[start as usize * INDEX..(start + count) as usize * INDEX];
                    self.add_edges(node, list, field == "irequires", builder, counted)?;
                }
            }
        }
        self.check_dependency_counts(counted)
    }

    fn add_edges(
        &self,
        before: u32,
        list: &[u8],
        on_start: bool,
        builder: &mut RankBuilder,
        counted: &mut [u32],
    ) -> Result<(), GoalError> {
        for entry in list.chunks_exact(INDEX) {
            let dependent = u32_at(entry, 0);
            let Some(count) = counted.get_mut(dependent as usize) else {
                let (found, limit) = (u64::from(dependent), counted.len() as u64 - 1);
                return self.fail("appendix", BinaryProblem::NodeOutOfRange { node: before, found, limit });
            };
            *count += 1;
            if dependent == before {
                return self.fail("appendix", BinaryProblem::SelfDependency { node: before });
            }
            if on_start {
                builder.irequires(dependent, before);
            } else {
                builder.requires(dependent, before);
            }
        }
        Ok(())
    }

    fn check_dependency_counts(&self, counted: &[u32]) -> Result<(), GoalError> {
        for (node, (bytes, &right)) in (0..).zip(self.nodes.chunks_exact(NODE).zip(counted)) {
            let stated = u32_at(bytes, 0);
            if stated != right {
                let (found, counted) = (u64::from(stated), u64::from(right));
                return self.fail("dependency count", BinaryProblem::NodeMismatch { node, found, counted });
            }
        }
        Ok(())
    }

    /// The roots are exactly the nodes without dependencies.
    fn check_roots(&self, counted: &[u32]) -> Result<(), GoalError> {
        let found = (self.roots.len() / INDEX) as u64;
        let right = counted.iter().filter(|&&count| count == 0).count() as u64;
        if found != right {
            return self.fail("number of roots", BinaryProblem::Mismatch { found, counted: right });
        }
        for root in self.roots.chunks_exact(INDEX).map(|entry| u32_at(entry, 0)) {
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

    fn refuse_cycle(&self, graph: &GraphBuilder) -> Result<(), GoalError> {
        match find_cycle(&graph.last_rank()) {
            None => Ok(()),
            Some(cycle) => {
                let nodes = cycle.iter().map(|node| format!("operation {node}")).collect();
                self.fail("appendix", BinaryProblem::Cycle { nodes })
            }
        }
    }
}
