//! The main queue of a worker: data loading, computing and garbage collection one after the other, and the optimizer at the end
//! of the step.
//!
//! A garbage collection within a computation or the optimizer is taken out and placed after it. Operations that wait for the
//! computation then wait for the collection. So computations of all workers can be compared, and a replay can remove the
//! collection.

use super::column::{Building, SLACK};
use crate::Kind;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

pub const QUEUED: [Kind; 5] =
    [Kind::DataLoad, Kind::ForwardCompute, Kind::BackwardCompute, Kind::Gc, Kind::Optimizer];

impl Building<'_> {
    /// Chains the queue of a stage up to its optimizer. Returns the last operation before the optimizer, and the optimizer with
    /// what follows.
    pub fn main_queue(&mut self, stage: u32) -> (Option<usize>, Vec<usize>) {
        let range = self.range(stage, None);
        let mut queue = self.of_kinds(range.clone(), &QUEUED);
        if self.order.is_none() {
            queue = self.take_out(range, queue);
        }
        let mut outer = None;
        for &op in &queue {
            match outer.filter(|_| self.inside[op]) {
                Some(outer) => drop(self.last_inside.insert(outer, op)),
                None => outer = Some(op),
            }
        }
        let is_optimizer = |op: &usize| self.rows[*op].kind == Kind::Optimizer;
        let ending = queue[queue.iter().position(is_optimizer).unwrap_or(queue.len())..].to_vec();
        let before = &queue[..queue.len() - ending.len()];
        self.chain(before);
        let last = before.last().copied();
        self.queues.extend((!queue.is_empty()).then_some(queue));
        (last, ending)
    }

    /// Returns edges of the host work (data loading and collections) right before a computation. It waits for what
    /// the computation waits for, such as a receive, if it began after that had ended: then the host did not do it
    /// while waiting.
    pub fn stalls_wait(&self) -> Vec<(usize, usize)> {
        let mut stalls: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for queue in &self.queues {
            let mut before = Vec::new();
            for &op in queue {
                match self.rows[op].kind {
                    Kind::Gc | Kind::DataLoad if self.inside[op] => {}
                    Kind::Gc | Kind::DataLoad => before.push(op),
                    kind if kind.is_compute() && !before.is_empty() => {
                        stalls.insert(op, std::mem::take(&mut before));
                    }
                    _ => before.clear(),
                }
            }
        }
        let mut waits = Vec::new();
        if stalls.is_empty() {
            return waits;
        }
        for &(after, before) in &self.edges {
            let before = before as usize;
            let is_it = |stall: &&usize| {
                !QUEUED.contains(&self.rows[before].kind)
                    && self.end(before) <= self.start[**stall] + SLACK
                    && self.end(**stall) > self.start[before] + SLACK
            };
            let own = stalls.get(&(after as usize)).into_iter().flatten();
            waits.extend(own.filter(is_it).map(|&stall| (stall, before)));
        }
        waits
    }

    /// Takes collections out of the operations that enclose them and places them after these. A collection within an
    /// operation outside the queue, other than a pending receive, delayed nothing: it gets zero duration at the end
    /// of computing. The optimizer comes last, whenever it began.
    fn take_out(&mut self, range: Range<usize>, queue: Vec<usize>) -> Vec<usize> {
        let is_gc = |op: usize| self.rows[op].kind == Kind::Gc;
        let is_posted = |op: usize| matches!(self.rows[op].kind, Kind::ForwardRecv | Kind::BackwardRecv);
        let (mut taken, mut idle): (BTreeMap<usize, Vec<usize>>, Vec<usize>) = Default::default();
        for &gc in queue.iter().filter(|&&op| is_gc(op) && self.duration[op] > 0) {
            let encloses = |outer: &usize| {
                !is_gc(*outer) && self.start[*outer] <= self.start[gc] && self.end(gc) <= self.end(*outer)
            };
            if let Some(outer) = queue.iter().copied().find(encloses) {
                taken.entry(outer).or_default().push(gc);
            } else if range.clone().any(|outer| !is_posted(outer) && encloses(&outer)) {
                idle.push(gc);
            }
        }
        let is_optimizer = |op: usize| self.rows[op].kind == Kind::Optimizer;
        let computes = queue.iter().copied().filter(|&op| !is_gc(op) && !is_optimizer(op));
        let end = computes.map(|op| self.end(op)).max();
        self.found.nested += (idle.len() + taken.values().map(Vec::len).sum::<usize>()) as u64;
        for gc in idle {
            self.duration[gc] = 0;
            self.start[gc] = end.unwrap_or(self.start[gc]);
        }
        let moved: BTreeSet<usize> = taken.values().flatten().copied().collect();
        let mut rest = self.in_order(queue.into_iter().filter(|op| !moved.contains(op)));
        rest.sort_by_key(|&op| self.rows[op].kind == Kind::Optimizer);
        let mut queue = Vec::new();
        for outer in rest {
            queue.push(outer);
            let of_outer = taken.remove(&outer).unwrap_or_default();
            for &gc in &of_outer {
                self.duration[gc] = self.duration[gc].min(self.duration[outer]);
                self.duration[outer] -= self.duration[gc];
                self.inside[gc] = self.rows[outer].kind != Kind::DataLoad;
            }
            for gc in of_outer {
                self.start[gc] = queue.last().map_or(self.start[gc], |&before| self.end(before));
                queue.push(gc);
            }
        }
        queue
    }
}
