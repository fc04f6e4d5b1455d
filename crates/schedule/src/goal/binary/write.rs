//! Writes GOAL binary, byte for byte like the reference.

use std::io::{self, Write};

use super::{COUNTS, EXTENT, HEADER, INDEX, MAGIC, NODE};
use crate::goal::Written;
use crate::goal::rounding::nearest_ns;
use crate::{Graph, OperationKind, RankView};
use straggler_model::{Rank, parallel};

/// Writes a whole schedule.
pub fn write<W: Write>(graph: &Graph, mut out: W) -> io::Result<Written> {
    const FULL: usize = 64 << 10;
    let mut buffer = Vec::with_capacity(2 * FULL);
    let mut written = Written::default();
    write_header(graph, &mut buffer);
    for rank in 0..graph.processes() {
        written.rounded += write_schedule(&graph.rank(rank), &mut buffer);
        if buffer.len() >= FULL {
            out.write_all(&buffer)?;
            buffer.clear();
        }
    }
    out.write_all(&buffer)?;
    out.flush()?;
    Ok(written)
}

fn write_header(graph: &Graph, buffer: &mut Vec<u8>) {
    write_magic(graph.processes(), graph.lanes(), buffer);
    let lengths = parallel::map(graph.processes() as usize, |rank| length(&graph.rank(rank as Rank)));
    let mut start = first_start(graph.processes());
    for length in lengths {
        start = write_extent(start, length, buffer);
    }
}

/// Writes the magic number and the header.
pub(in crate::goal) fn write_magic(processes: u32, (cpus, nics): (usize, usize), buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(&MAGIC.to_le_bytes());
    buffer.extend_from_slice(&processes.to_le_bytes());
    buffer.extend_from_slice(&[(cpus - 1) as u8, (nics - 1) as u8]);
}

/// Offset of the first rank's schedule.
pub(in crate::goal) fn first_start(processes: u32) -> u64 {
    HEADER as u64 + EXTENT as u64 * u64::from(processes)
}

/// Writes where a rank's schedule begins and ends. Returns the end.
pub(in crate::goal) fn write_extent(start: u64, length: u64, buffer: &mut Vec<u8>) -> u64 {
    let end = start + length;
    buffer.extend_from_slice(&start.to_le_bytes());
    buffer.extend_from_slice(&end.to_le_bytes());
    end
}

/// Size in bytes of a rank's schedule.
fn length(rank: &RankView<'_>) -> u64 {
    let roots = rank.dependency_counts().iter().filter(|&&count| count == 0).count();
    length_of(u64::from(rank.len()), roots as u64, rank.all_edges().count() as u64)
}

/// Size in bytes of a schedule with this many operations, operations without dependencies, and dependencies.
pub(in crate::goal) fn length_of(operations: u64, roots: u64, edges: u64) -> u64 {
    COUNTS as u64 + (roots + edges) * INDEX as u64 + operations * NODE as u64
}

/// Writes the schedule of a rank. Returns how many computations were rounded.
pub(in crate::goal) fn write_schedule(rank: &RankView<'_>, buffer: &mut Vec<u8>) -> u64 {
    let counts = rank.dependency_counts();
    let roots = (0u32..).zip(&counts).filter(|(_, count)| **count == 0).map(|(node, _)| node);
    buffer.extend_from_slice(&rank.len().to_le_bytes());
    buffer.extend_from_slice(&(roots.clone().count() as u32).to_le_bytes());
    roots.for_each(|node| buffer.extend_from_slice(&node.to_le_bytes()));
    let mut place = 0;
    let mut rounded = 0;
    for (node, &dependencies) in (0..).zip(&counts) {
        rounded += u64::from(write_node(rank, node, dependencies, &mut place, buffer));
    }
    for node in 0..rank.len() {
        for on_start in [false, true] {
            let edges = rank.dependents(node).filter(|edge| edge.on_start() == on_start);
            edges.for_each(|edge| buffer.extend_from_slice(&edge.dependent().to_le_bytes()));
        }
    }
    rounded
}

/// Writes a node. `place` is where its edges begin in the appendix, and is advanced to their end.
fn write_node(
    rank: &RankView<'_>,
    node: u32,
    dependencies: u32,
    place: &mut u32,
    buffer: &mut Vec<u8>,
) -> bool {
    let operation = rank.operation(node);
    let (amount, rounded) = match operation.kind {
        OperationKind::Calc => nearest_ns(operation.amount),
        OperationKind::Send | OperationKind::Recv => (operation.amount, false),
    };
    buffer.extend_from_slice(&dependencies.to_le_bytes());
    buffer.push(operation.kind as u8);
    buffer.extend_from_slice(&operation.peer.to_le_bytes());
    buffer.extend_from_slice(&amount.to_le_bytes());
    buffer.extend_from_slice(&operation.tag.to_le_bytes());
    buffer.extend_from_slice(&[operation.cpu, operation.nic]);
    let edges = rank.dependents(node);
    let on_start = edges.clone().filter(|edge| edge.on_start()).count() as u32;
    for count in [edges.count() as u32 - on_start, on_start] {
        buffer.extend_from_slice(&count.to_le_bytes());
        buffer.extend_from_slice(&place.to_le_bytes());
        *place += count;
    }
    rounded
}
