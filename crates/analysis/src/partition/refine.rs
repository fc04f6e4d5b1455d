//! Moves vertices between two halves as long as that saves messages (C. M. Fiduccia, R. M. Mattheyses, "A linear-time
//! heuristic for improving network partitions", DAC 1982).

use super::graph::Graph;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How much work a part may have.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    most: u64,
    /// How much two halves may differ, relative to their work: that of nested halves adds up.
    share: f64,
    /// No vertex can be divided, so half of a large one must be allowed for.
    half_a_vertex: u64,
}

impl Limit {
    pub fn new(graph: &Graph, parts: u32, slack: f64) -> Limit {
        let mean = graph.work.iter().sum::<u64>() / u64::from(parts.max(1));
        let half_a_vertex = graph.work.iter().max().copied().unwrap_or(0).div_ceil(2);
        let most = mean + ((mean as f64 * slack) as u64).max(half_a_vertex);
        Limit { most, share: slack / f64::from(parts.next_power_of_two().ilog2().max(1)), half_a_vertex }
    }

    /// The balance of two halves, of which the first will have `left` of the `parts`.
    pub fn balance(&self, graph: &Graph, left: u32, parts: u32) -> Balance {
        let all: u64 = graph.work.iter().sum();
        let wanted = (u128::from(all) * u128::from(left) / u128::from(parts.max(1))) as u64;
        let room = |work: u64, parts: u32| self.most.saturating_mul(parts.into()).saturating_sub(work);
        let room = room(wanted, left).min(room(all - wanted, parts - left));
        let slack = (wanted.min(all - wanted) as f64 * self.share) as u64;
        Balance { wanted, slack: slack.max(self.half_a_vertex).min(room), all }
    }
}

/// How much work the first half should have.
#[derive(Clone, Copy, Debug)]
pub struct Balance {
    pub wanted: u64,
    /// It may be off by this much.
    slack: u64,
    all: u64,
}

impl Balance {
    /// Vertices of a coarse graph have at most this much work, so that halves can still be balanced.
    pub fn largest_vertex(&self) -> u64 {
        (self.all / 24).max(1)
    }

    /// How much the work of the first half is off beyond what is allowed.
    fn excess(&self, work: u64) -> i64 {
        (work.abs_diff(self.wanted).saturating_sub(self.slack)).min(i64::MAX as u64) as i64
    }
}

/// Passes over the graph; usually the second or third finds nothing more.
const PASSES: u32 = 8;

/// A pass ends after this many moves without a gain.
const PATIENCE: u32 = 150;

/// Improves two halves. Returns the excess of their balance, and the messages that cross.
pub fn refine(graph: &Graph, side: &mut [bool], balance: &Balance) -> (u64, i64) {
    for _ in 0..PASSES {
        if !pass(graph, side, balance) {
            break;
        }
    }
    let work = (0..graph.len()).filter(|&vertex| !side[vertex]).map(|vertex| graph.work[vertex]).sum();
    (balance.excess(work) as u64, cut(graph, side))
}

fn cut(graph: &Graph, side: &[bool]) -> i64 {
    let crossing = |vertex: u32| {
        let others = graph
            .neighbours(vertex)
            .iter()
            .filter(move |(to, _)| side[*to as usize] != side[vertex as usize]);
        others.map(|(_, messages)| *messages as i64).sum::<i64>()
    };
    (0..graph.len() as u32).map(crossing).sum::<i64>() / 2
}

/// What moving a vertex to the other half saves.
fn gain(graph: &Graph, side: &[bool], vertex: u32) -> i64 {
    let saved = |&(to, messages): &(u32, u64)| {
        if side[to as usize] == side[vertex as usize] { -(messages as i64) } else { messages as i64 }
    };
    graph.neighbours(vertex).iter().map(saved).sum()
}

/// One pass: every vertex moves at most once, the best one first, and the best state on the way is kept. Returns whether it is
/// better than before.
fn pass(graph: &Graph, side: &mut [bool], balance: &Balance) -> bool {
    let mut pass = Pass::new(graph, side, balance);
    let before = (balance.excess(pass.work), 0);
    let (mut best, mut best_moves, mut saved) = (before, 0, 0);
    let mut moves: Vec<u32> = Vec::new();
    let mut patience = PATIENCE;
    while patience > 0 {
        let Some(vertex) = pass.next() else { break };
        saved += pass.gains[vertex as usize];
        pass.move_over(vertex);
        moves.push(vertex);
        patience -= 1;
        let now = (balance.excess(pass.work), -saved);
        if now < best {
            (best, best_moves, patience) = (now, moves.len(), PATIENCE);
        }
    }
    let side = pass.side;
    moves[best_moves..].iter().for_each(|&vertex| side[vertex as usize] = !side[vertex as usize]);
    best < before
}

struct Pass<'a> {
    graph: &'a Graph,
    side: &'a mut [bool],
    balance: &'a Balance,
    /// The work of the first half.
    work: u64,
    gains: Vec<i64>,
    moved: Vec<bool>,
    /// Vertices of each half by their gain; entries that no longer hold are skipped.
    queues: [BinaryHeap<(i64, Reverse<u32>)>; 2],
}

impl<'a> Pass<'a> {
    fn new(graph: &'a Graph, side: &'a mut [bool], balance: &'a Balance) -> Pass<'a> {
        let vertices = 0..graph.len() as u32;
        let gains: Vec<i64> = vertices.clone().map(|vertex| gain(graph, side, vertex)).collect();
        let work = vertices
            .clone()
            .filter(|&vertex| !side[vertex as usize])
            .map(|vertex| graph.work[vertex as usize])
            .sum();
        // Where the balance is off, any vertex may have to move, otherwise only those at the border.
        let off = balance.excess(work) > 0;
        let mut queues = [BinaryHeap::new(), BinaryHeap::new()];
        for vertex in vertices {
            let own = side[vertex as usize];
            if off || graph.neighbours(vertex).iter().any(|(to, _)| side[*to as usize] != own) {
                queues[usize::from(own)].push((gains[vertex as usize], Reverse(vertex)));
            }
        }
        Pass { graph, side, balance, work, gains, moved: vec![false; graph.len()], queues }
    }

    /// The work of the first half if a vertex moves.
    fn work_without(&self, vertex: u32) -> u64 {
        let own = self.graph.work[vertex as usize];
        if self.side[vertex as usize] { self.work + own } else { self.work - own }
    }

    /// The vertex whose move saves the most among those that keep the balance, or improve it.
    fn next(&mut self) -> Option<u32> {
        let now = self.balance.excess(self.work);
        let mut best: Option<(i64, Reverse<u32>)> = None;
        for half in 0..2 {
            while let Some(&(gain, Reverse(vertex))) = self.queues[half].peek() {
                let place = vertex as usize;
                if self.moved[place] || self.gains[place] != gain || usize::from(self.side[place]) != half {
                    self.queues[half].pop();
                    continue;
                }
                let then = self.balance.excess(self.work_without(vertex));
                if then == 0 || then < now {
                    best = best.max(Some((gain, Reverse(vertex))));
                }
                break;
            }
        }
        best.map(|(_, Reverse(vertex))| vertex)
    }

    fn move_over(&mut self, vertex: u32) {
        self.work = self.work_without(vertex);
        let place = vertex as usize;
        (self.side[place], self.moved[place]) = (!self.side[place], true);
        for &(to, messages) in self.graph.neighbours(vertex) {
            let other = to as usize;
            let change = 2 * messages as i64;
            self.gains[other] += if self.side[other] == self.side[place] { -change } else { change };
            if !self.moved[other] {
                self.queues[usize::from(self.side[other])].push((self.gains[other], Reverse(to)));
            }
        }
    }
}
