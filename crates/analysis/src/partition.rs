//! Divides communicating processes into parts of about the same work, so that few messages cross between parts.
//!
//! Recursive bisection, each by a multilevel scheme (G. Karypis, V. Kumar, "A fast and high quality multilevel scheme for
//! partitioning irregular graphs", SIAM J. Sci. Comput. 20(1), 1998):
//!
//! ```text
//! graph ─► coarser: neighbours merged ─► … ─► few vertices ─► halves grown from several vertices, the best of them
//!   ▲                                                                                    │
//!   └────── refined (C. M. Fiduccia, R. M. Mattheyses, DAC 1982) ◄── … ◄── finer ◄───────┘
//! ```
//! Ranges of neighbouring processes are refined as well, and taken where they are better. So the result is never worse than
//! plain ranges that are at least as balanced. It is a pure function of the traffic.

mod graph;
mod refine;

use graph::Graph;
use refine::{Balance, Limit, refine};
use std::collections::BTreeMap;

/// The work of blocks of processes, and the messages between them.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// The work of each block.
    pub work: Vec<u64>,
    /// Messages between two different blocks, by pair, the smaller index first.
    pub messages: BTreeMap<(u32, u32), u64>,
}

/// A part may have this much more work than the mean, or half a block more.
const SLACK: f64 = 0.03;

/// A graph this small is divided directly.
const FEW: usize = 48;

/// From so many vertices a half is grown.
const TRIALS: usize = 8;

/// Assigns every block to one of the given number of parts.
pub fn divide(traffic: &Traffic, parts: u32) -> Vec<u32> {
    let mut found = vec![0; traffic.work.len()];
    if parts > 1 {
        let graph = Graph::new(traffic);
        let all: Vec<u32> = (0..found.len() as u32).collect();
        split(&graph, &all, 0, parts, &Limit::new(&graph, parts, SLACK), &mut found);
        let ranges = ranges(found.len(), parts);
        if largest(traffic, &ranges, parts) <= largest(traffic, &found, parts)
            && cut(traffic, &ranges) < cut(traffic, &found)
        {
            return ranges;
        }
    }
    found
}

/// Neighbouring blocks, the same number in each part.
fn ranges(blocks: usize, parts: u32) -> Vec<u32> {
    (0..blocks).map(|block| (block as u64 * u64::from(parts) / blocks as u64) as u32).collect()
}

/// The work of the part that has most.
fn largest(traffic: &Traffic, found: &[u32], parts: u32) -> u64 {
    let mut work = vec![0u64; parts as usize];
    for (&part, &own) in found.iter().zip(&traffic.work) {
        work[part as usize] = work[part as usize].saturating_add(own);
    }
    work.into_iter().max().unwrap_or(0)
}

/// The messages between parts.
fn cut(traffic: &Traffic, found: &[u32]) -> u64 {
    let crossing = |&(&(one, other), _): &(&(u32, u32), &u64)| found[one as usize] != found[other as usize];
    traffic.messages.iter().filter(crossing).fold(0, |sum, (_, &count)| sum.saturating_add(count))
}

/// Divides a graph, whose vertices are `names` of the whole, into the parts from `first` on.
fn split(graph: &Graph, names: &[u32], first: u32, parts: u32, limit: &Limit, found: &mut [u32]) {
    if parts <= 1 {
        names.iter().for_each(|&name| found[name as usize] = first);
        return;
    }
    let left = parts / 2;
    let side = bisect(graph, &limit.balance(graph, left, parts));
    for (second, first, parts) in [(false, first, left), (true, first + left, parts - left)] {
        let own: Vec<u32> =
            (0..graph.len() as u32).filter(|&vertex| side[vertex as usize] == second).collect();
        let below: Vec<u32> = own.iter().map(|&vertex| names[vertex as usize]).collect();
        split(&graph.subgraph(&own), &below, first, parts, limit, found);
    }
}

/// Whether each vertex is in the second half.
fn bisect(graph: &Graph, balance: &Balance) -> Vec<bool> {
    let mut neighbours = in_order(graph, balance, 0..graph.len() as u32);
    let of_neighbours = refine(graph, &mut neighbours, balance);
    let (best, mut side) = halved(graph, balance);
    if of_neighbours <= best {
        side = neighbours;
    }
    side
}

/// Halves a graph by way of a coarser one. Returns how far the balance is off, what is cut, and the halves.
fn halved(graph: &Graph, balance: &Balance) -> ((u64, i64), Vec<bool>) {
    let coarser = (graph.len() > FEW).then(|| graph.coarser(balance.largest_vertex())).flatten();
    let Some((coarse, place)) = coarser else { return grown(graph, balance) };
    let (_, halves) = halved(&coarse, balance);
    let mut side: Vec<bool> = place.iter().map(|&at| halves[at as usize]).collect();
    (refine(graph, &mut side, balance), side)
}

/// Grows one half around a vertex, for several of them; the best one counts.
fn grown(graph: &Graph, balance: &Balance) -> ((u64, i64), Vec<bool>) {
    let step = graph.len().div_ceil(TRIALS).max(1);
    let trials = (0..graph.len()).step_by(step).map(|seed| {
        let mut side = in_order(graph, balance, graph.around(seed as u32).into_iter());
        (refine(graph, &mut side, balance), side)
    });
    trials.min_by(|(one, _), (other, _)| one.cmp(other)).unwrap_or_default()
}

/// Puts vertices into the first half, in this order, until it has its work.
fn in_order(graph: &Graph, balance: &Balance, order: impl Iterator<Item = u32>) -> Vec<bool> {
    let mut side = vec![true; graph.len()];
    let mut work = 0;
    for vertex in order {
        let own = graph.work[vertex as usize];
        // Rounds to the nearer one of the two possible halves.
        if work + own / 2 >= balance.wanted {
            break;
        }
        side[vertex as usize] = false;
        work += own;
    }
    side
}

#[cfg(test)]
mod tests;
