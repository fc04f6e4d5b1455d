//! Builds the steps of a job: the operations of all workers in one graph.

use super::matching::{Matched, Member, Set};
use super::recorded::Recorded;
use super::words;
use crate::graph::{Graph, Group, Node};
use crate::{Job, Op, Shape};
use std::collections::HashMap;

/// Operations and edges of a worker in a step.
#[derive(Debug, Default)]
struct OfStep {
    ops: Vec<u32>,
    edges: Vec<(u32, u32)>,
}

/// The input from which steps are built.
pub struct Assembly<'a> {
    workers: &'a [Recorded],
    /// By worker: the index in the job of each of its kinds.
    kinds: Vec<Vec<u16>>,
    matched: &'a Matched,
    /// The shift added to the times of a worker in a step.
    shift_ps: &'a dyn Fn(usize, i64) -> i64,
    by_step: Vec<HashMap<i64, OfStep>>,
}

/// A step while it is built.
#[derive(Default)]
struct Building {
    ops: Vec<Op>,
    start_ps: Vec<i64>,
    duration_ps: Vec<i64>,
    idle_ps: Vec<i64>,
    edges: Vec<(u32, u32)>,
    /// By worker: maps its operations to those of the step.
    places: Vec<HashMap<u32, u32>>,
}

impl<'a> Assembly<'a> {
    pub fn new(
        workers: &'a [Recorded],
        kinds: Vec<Vec<u16>>,
        matched: &'a Matched,
        shift_ps: &'a dyn Fn(usize, i64) -> i64,
    ) -> Assembly<'a> {
        let by_step = workers.iter().map(by_step).collect();
        Assembly { workers, kinds, matched, shift_ps, by_step }
    }

    pub fn add_steps(&self, steps: &[i64], job: &mut Job) {
        let mut circular = Vec::new();
        for &step in steps {
            let all = &self.matched.sets;
            let begin = all.partition_point(|set| set.step < step);
            let sets = &all[begin..begin + all[begin..].partition_point(|set| set.step == step)];
            if !self.add_step(step, sets, job) {
                circular.push(step);
            }
        }
        if !circular.is_empty() {
            job.notes.push(format!(
                "Left out: {}. Operations wait for each other in a cycle: collectives run in different orders on different \
                 ranks, or were matched wrongly.",
                words::named("step", &circular)
            ));
        }
    }

    /// Returns false if the operations wait for each other in a cycle.
    fn add_step(&self, step: i64, sets: &[Set], job: &mut Job) -> bool {
        let mut building = Building::default();
        (0..self.workers.len()).for_each(|worker| self.add_worker(step, worker, &mut building));
        if building.ops.is_empty() {
            return true;
        }
        let groups = self.meetings(sets, job, &mut building);
        let Building { ops, mut start_ps, duration_ps, idle_ps, mut edges, .. } = building;
        edges.sort_unstable();
        edges.dedup();
        let Ok(graph) = Graph::new(ops.len(), &edges, &groups) else { return false };
        if self.workers.iter().any(|worker| worker.no_starts) {
            earliest(&graph, &mut start_ps, &duration_ps);
        }
        let first = start_ps.iter().copied().min().unwrap_or(0);
        start_ps.iter_mut().for_each(|start| *start = start.saturating_sub(first));
        job.add_step(step, 1, Shape { ops, graph }, &start_ps, &duration_ps);
        if self.workers.iter().any(|worker| worker.host_facts.is_some()) {
            job.idle_ps.extend(idle_ps);
        }
        true
    }

    fn add_worker(&self, step: i64, worker: usize, building: &mut Building) {
        let mut places = HashMap::new();
        let mut seen: HashMap<u16, u32> = HashMap::new();
        let shift = (self.shift_ps)(worker, step);
        if let Some(of_step) = self.by_step[worker].get(&step) {
            for &place in &of_step.ops {
                let op = &self.workers[worker].ops[place as usize];
                let kind = self.kinds[worker][op.kind as usize];
                let seq = seen.entry(kind).or_default();
                places.insert(place, building.ops.len() as u32);
                let (stream, worker_number) = (op.stream, worker as u32);
                building.ops.push(Op {
                    worker: worker_number,
                    kind,
                    stream,
                    seq: *seq,
                    microbatch: -1,
                    chunk: -1,
                    stage_chunk: -1,
                    inside: false,
                });
                *seq += 1;
                building.start_ps.push(op.start_ps.saturating_add(shift));
                building.duration_ps.push(op.duration_ps);
                let idle_ps = self.workers[worker].idle_ps.get(place as usize);
                building.idle_ps.push(idle_ps.copied().unwrap_or(0));
            }
            building
                .edges
                .extend(of_step.edges.iter().map(|(after, before)| (places[after], places[before])));
        }
        building.places.push(places);
    }

    /// Groups of operations that transfer together. Receivers of one-way messages get an edge from the sender instead.
    fn meetings(&self, sets: &[Set], job: &Job, building: &mut Building) -> Vec<Group> {
        let mut groups = Vec::new();
        for set in sets.iter().filter(|set| set.members.len() > 1) {
            let place = |of: &Member| building.places[of.worker as usize].get(&of.op).copied();
            let ops: Vec<u32> = self.matched.members(set).iter().filter_map(place).collect();
            if !self.matched.channel(set).one_way {
                groups.push(Group { ops, wide: false });
                continue;
            }
            let sends = |&op: &u32| {
                job.kinds
                    .get(usize::from(building.ops[op as usize].kind))
                    .is_some_and(|kind| kind.class == "send")
            };
            let (senders, receivers): (Vec<u32>, Vec<u32>) = ops.into_iter().partition(sends);
            let pairs = receivers.iter().flat_map(|&to| senders.iter().map(move |&from| (to, from)));
            building.edges.extend(pairs);
        }
        groups
    }
}

fn by_step(worker: &Recorded) -> HashMap<i64, OfStep> {
    let mut by_step: HashMap<i64, OfStep> = HashMap::new();
    for (place, op) in (0..).zip(&worker.ops) {
        by_step.entry(op.step).or_default().ops.push(place);
    }
    for &(after, before) in &worker.edges {
        let step = worker.ops[after as usize].step;
        by_step.entry(step).or_default().edges.push((after, before));
    }
    by_step
}

/// Sets starts to the earliest that dependencies allow, for recordings without times.
fn earliest(graph: &Graph, start_ps: &mut [i64], duration_ps: &[i64]) {
    for node in &graph.order {
        let ops = match node {
            Node::Op(op) => std::slice::from_ref(op),
            Node::Group(group) => graph.groups.get(*group as usize),
        };
        for &op in ops {
            let end = |&before: &u32| start_ps[before as usize].saturating_add(duration_ps[before as usize]);
            start_ps[op as usize] = graph.before.get(op as usize).iter().map(end).max().unwrap_or(0);
        }
    }
}
