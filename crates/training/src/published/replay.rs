//! A job replayed on its graph with other durations, step by step.

use super::Dense;
use crate::Kind;
use crate::graph::{Graph, Node};
use crate::mean;
use straggler_model::stats::median;

/// Times below this, in seconds, are too negative for a clock error. They are set to 0.
const LARGEST_ERROR: f64 = -10e-3;

/// The times of a replay.
#[derive(Debug)]
pub struct Times<'a> {
    pub job: &'a Dense,
    pub graph: &'a Graph,
    /// By instance: the duration of a computation, the transfer of a communication.
    pub real: Vec<f64>,
    /// By instance: from the end of what it waits for to its start.
    pub delay: Vec<f64>,
    /// Ideal durations, by operation.
    pub ideal: Vec<f64>,
}

/// How long a step takes: from its first start to its last end, and to the last end of an optimizer.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct StepTimes {
    pub whole: f64,
    pub opt: f64,
}

/// Which durations and launch delays of a replay are as recorded: by replayed data-parallel rank and operation.
#[derive(Clone, Debug)]
pub struct Mix {
    pub real: Vec<bool>,
    /// Operations whose launch delay counts; the others have none.
    pub delayed: Option<Vec<bool>>,
}

fn tamed(seconds: f64) -> f64 {
    if seconds <= LARGEST_ERROR { 0.0 } else { seconds }
}

impl<'a> Times<'a> {
    pub fn new(job: &'a Dense, graph: &'a Graph) -> Times<'a> {
        let mut times = Times {
            job,
            graph,
            real: job.duration.clone(),
            delay: vec![0.0; job.start.len()],
            ideal: Vec::new(),
        };
        times.split_transfers();
        times.find_delays();
        times.ideal = times.ideal_durations();
        times
    }

    fn instances(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let dp = self.job.dp as usize;
        (0..self.job.steps.len()).flat_map(move |step| (0..dp).map(move |dp_rank| (step, dp_rank)))
    }

    /// A transfer begins when the last of its group has started.
    fn split_transfers(&mut self) {
        let (job, dp) = (self.job, self.job.dp as usize);
        for group in 0..self.graph.groups.len() {
            let (ops, wide) = (self.graph.groups.get(group), self.graph.wide[group]);
            for step in 0..job.steps.len() {
                let latest = |ranks: std::ops::Range<usize>| {
                    let starts = ranks.flat_map(|rank| {
                        ops.iter().map(move |&op| job.start[job.instance(step, rank, op as usize)])
                    });
                    starts.fold(f64::NEG_INFINITY, f64::max)
                };
                let of_all = if wide { latest(0..dp) } else { 0.0 };
                for rank in 0..dp {
                    let begin = if wide { of_all } else { latest(rank..rank + 1) };
                    for &op in ops {
                        let instance = job.instance(step, rank, op as usize);
                        self.real[instance] = tamed(job.end(instance) - begin);
                    }
                }
            }
        }
    }

    fn find_delays(&mut self) {
        let job = self.job;
        for step in 0..job.steps.len() {
            let all = job.instance(step, 0, 0)..job.instance(step + 1, 0, 0);
            let first = job.start[all].iter().copied().fold(f64::INFINITY, f64::min);
            for rank in 0..job.dp as usize {
                for op in 0..job.ops.len() {
                    let before = self.graph.before.get(op).iter();
                    let ends = before.map(|&before| job.end(job.instance(step, rank, before as usize)));
                    let ready = ends.reduce(f64::max).unwrap_or(first);
                    let instance = job.instance(step, rank, op);
                    self.delay[instance] = tamed(job.start[instance] - ready);
                }
            }
        }
    }

    /// One number per kind, over all stages, ranks and steps.
    fn ideal_durations(&self) -> Vec<f64> {
        let ideal = |kind: Kind| {
            let ops: Vec<usize> =
                (0..self.job.ops.len()).filter(|&op| self.job.ops[op].kind == kind).collect();
            let mut all: Vec<f64> = self
                .instances()
                .flat_map(|(step, rank)| {
                    ops.iter().map(move |&op| self.real[self.job.instance(step, rank, op)])
                })
                .collect();
            if kind.pools_by_mean() { mean(&all) } else { median(&mut all) }
        };
        let by_kind = Kind::ALL.map(ideal);
        let place = |kind: Kind| Kind::ALL.iter().position(|known| *known == kind).unwrap_or(0);
        self.job.ops.iter().map(|op| by_kind[place(op.kind)]).collect()
    }

    /// Replays every step.
    pub fn replay(&self, mix: &Mix) -> Vec<StepTimes> {
        let mut room = Scratch::new(self.job);
        let ranks: Vec<usize> = (0..self.job.dp as usize).collect();
        (0..self.job.steps.len()).map(|step| self.replay_step(step, &ranks, mix, &mut room)).collect()
    }

    /// Replays every step with ideal durations for all data-parallel ranks but one. Ideal ranks do everything at the same moment,
    /// so one represents them all.
    pub fn replay_alone(&self, rank: usize) -> Vec<StepTimes> {
        let mut room = Scratch::new(self.job);
        let other = if rank == 0 { 1 } else { 0 };
        let ranks = if self.job.dp > 1 { vec![rank, other] } else { vec![rank] };
        let ops = self.job.ops.len();
        let real = (0..ranks.len() * ops).map(|place| place < ops).collect();
        let mix = Mix { real, delayed: None };
        (0..self.job.steps.len()).map(|step| self.replay_step(step, &ranks, &mix, &mut room)).collect()
    }

    /// One step without delays and with ideal durations. All steps are then the same.
    pub fn ideal_step(&self) -> StepTimes {
        // All ranks do everything at the same moment.
        let none = vec![false; self.job.ops.len()];
        self.replay_step(0, &[0], &Mix { real: none, delayed: None }, &mut Scratch::new(self.job))
    }

    /// Replays one step with only these data-parallel ranks. The mix is by index in `ranks` and operation.
    fn replay_step(&self, step: usize, ranks: &[usize], mix: &Mix, room: &mut Scratch) -> StepTimes {
        let (job, ops, dp) = (self.job, self.job.ops.len(), ranks.len());
        room.begin(dp * ops);
        let instance = |place: usize| job.instance(step, ranks[place / ops], place % ops);
        let takes = |place: usize| {
            if mix.real[place] { self.real[instance(place)] } else { self.ideal[place % ops] }
        };
        for node in &self.graph.order {
            match *node {
                Node::Op(op) => {
                    for rank in 0..dp {
                        let place = rank * ops + op as usize;
                        let start = self.start(instance(place), place, mix, room);
                        room.start[place] = start;
                        room.end[place] = start + takes(place);
                    }
                }
                Node::Group(number) => {
                    let members = self.graph.groups.get(number as usize);
                    let wide = self.graph.wide[number as usize];
                    let mut of_all = f64::NEG_INFINITY;
                    for rank in 0..dp {
                        let mut latest = f64::NEG_INFINITY;
                        for &op in members {
                            let place = rank * ops + op as usize;
                            room.start[place] = self.start(instance(place), place, mix, room);
                            latest = latest.max(room.start[place]);
                        }
                        of_all = of_all.max(latest);
                        if !wide {
                            let places = members.iter().map(|&op| rank * ops + op as usize);
                            places.for_each(|place| room.end[place] = latest + takes(place));
                        }
                    }
                    if wide {
                        let places =
                            (0..dp).flat_map(|rank| members.iter().map(move |&op| rank * ops + op as usize));
                        places.for_each(|place| room.end[place] = of_all + takes(place));
                    }
                }
            }
        }
        let first = room.start.iter().copied().fold(f64::INFINITY, f64::min);
        let last = room.end.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let optimizers = (0..dp * ops).filter(|place| job.ops[place % ops].kind == Kind::Optimizer);
        let opt = optimizers.map(|place| room.end[place]).fold(f64::NEG_INFINITY, f64::max);
        StepTimes { whole: last - first, opt }
    }

    #[inline]
    fn start(&self, instance: usize, place: usize, mix: &Mix, room: &Scratch) -> f64 {
        let ops = self.job.ops.len();
        let rank = place / ops * ops;
        let before = self.graph.before.get(place % ops).iter();
        let ends = before.map(|&before| room.end[rank + before as usize]);
        let ready = ends.reduce(f64::max).unwrap_or(0.0);
        match &mix.delayed {
            Some(delayed) if delayed[place] => ready + self.delay[instance],
            _ => ready,
        }
    }
}

/// The times of one step, by data-parallel rank and operation.
struct Scratch {
    start: Vec<f64>,
    end: Vec<f64>,
}

impl Scratch {
    fn new(job: &Dense) -> Scratch {
        let size = job.dp as usize * job.ops.len();
        Scratch { start: vec![0.0; size], end: vec![0.0; size] }
    }

    /// Makes room for `size` operations. Each is written before it is read.
    fn begin(&mut self, size: usize) {
        self.start.resize(size, 0.0);
        self.end.resize(size, 0.0);
    }
}
