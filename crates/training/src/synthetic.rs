//! Jobs that are made up: a pipeline in 1F1B order, data parallel, with faults that are known.
//!
//! The rows are what a recording of such a job would hold; reading them gives the job back.

use crate::exact::{Meet, Room, replay};
use crate::{Kind, Row, derive};
use straggler_model::philox::Stream;

/// What is made up. Times are seconds.
#[derive(Clone, PartialEq, Debug)]
pub struct Synthetic {
    pub dp: u32,
    pub pp: u32,
    pub microbatches: u32,
    pub steps: u32,
    /// Of a microbatch on a stage, forward; backward takes twice as long.
    pub forward: f64,
    /// What the last stage takes longer, as a share.
    pub last_stage: f64,
    /// The standard deviation of computing, as a share, and that of lengths of microbatches.
    pub jitter: f64,
    pub lengths: f64,
    /// From stage to stage, and of gradients between data-parallel ranks.
    pub transfer: f64,
    pub gradients: f64,
    pub seed: u64,
    pub faults: Vec<Fault>,
}

impl Default for Synthetic {
    fn default() -> Synthetic {
        Synthetic {
            dp: 4,
            pp: 4,
            microbatches: 8,
            steps: 20,
            forward: 0.1,
            last_stage: 0.0,
            jitter: 0.01,
            lengths: 0.0,
            transfer: 0.001,
            gradients: 0.05,
            seed: 1,
            faults: Vec::new(),
        }
    }
}

/// What is wrong with a worker, from a step on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fault {
    pub dp_rank: u32,
    pub stage: u32,
    pub from_step: u32,
    pub what: What,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum What {
    /// Computing takes so many times as long.
    Slow(f64),
    /// Transfers take so many times as long.
    Link(f64),
    /// The host is late by so many seconds, once a step.
    Stall(f64),
}

/// The rows of all workers, by step.
pub fn rows(of: &Synthetic) -> Vec<Row> {
    let shape = planned(of, &|_, _| 0.0);
    (0..of.steps).flat_map(|step| of_step(of, &shape, step)).collect()
}

/// How many seconds a step takes in the mean.
pub fn mean_step(of: &Synthetic) -> f64 {
    let ends = |step: u32, rows: &[Row]| {
        let of_step = rows.iter().filter(|row| row.step == i64::from(step));
        of_step.map(|row| row.start + row.duration).fold(0.0, f64::max)
    };
    let rows = rows(of);
    (0..of.steps).map(|step| ends(step, &rows)).sum::<f64>() / f64::from(of.steps.max(1))
}

/// The order of microbatches on a stage: so many forward first, then one forward and one backward in turn.
fn order(stage: u32, of: &Synthetic) -> Vec<(Kind, u32)> {
    let count = of.microbatches;
    let ahead = (of.pp - 1 - stage).min(count);
    let mut order: Vec<(Kind, u32)> = (0..ahead).map(|forward| (Kind::ForwardCompute, forward)).collect();
    for backward in 0..count {
        if ahead + backward < count {
            order.push((Kind::ForwardCompute, ahead + backward));
        }
        order.push((Kind::BackwardCompute, backward));
    }
    order
}

/// One step whose operations take what is asked of them, at places in time that give their order and nothing else.
fn planned(of: &Synthetic, takes: &dyn Fn(&Row, u32) -> f64) -> Vec<Row> {
    let mut rows = Vec::new();
    for dp_rank in 0..of.dp {
        for stage in 0..of.pp {
            let rank = stage * of.dp + dp_rank;
            let mut seqs = [0u32; Kind::ALL.len()];
            let mut place = 0.0;
            let mut add = |kind: Kind, microbatch: i32| {
                let seq = seqs[kind as usize];
                seqs[kind as usize] += 1;
                let computes = kind.is_compute();
                let row = Row {
                    dp_rank,
                    stage,
                    rank,
                    step: 0,
                    kind,
                    start: place,
                    duration: 0.0,
                    seq,
                    chunk: if computes || kind == Kind::ParamsAllGather || kind == Kind::GradsReduceScatter {
                        0
                    } else {
                        -1
                    },
                    model_chunk: if computes { stage as i32 } else { -1 },
                    microbatch: if computes { microbatch } else { -1 },
                };
                place += 1.0;
                rows.push(Row { duration: takes(&row, dp_rank), ..row });
            };
            add(Kind::ParamsAllGather, -1);
            for (kind, microbatch) in order(stage, of) {
                let (recv, send, receives, sends) = match kind {
                    Kind::ForwardCompute => {
                        (Kind::ForwardRecv, Kind::ForwardSend, stage > 0, stage + 1 < of.pp)
                    }
                    _ => (Kind::BackwardRecv, Kind::BackwardSend, stage + 1 < of.pp, stage > 0),
                };
                if receives {
                    add(recv, -1);
                }
                add(kind, microbatch as i32);
                if sends {
                    add(send, -1);
                }
            }
            add(Kind::Gc, -1);
            add(Kind::LayernormGradsAllReduce, -1);
            if stage == 0 || stage + 1 == of.pp {
                add(Kind::EmbeddingGradsAllReduce, -1);
            }
            add(Kind::GradsReduceScatter, -1);
            add(Kind::OptimizerClipMainGrad, -1);
            add(Kind::Optimizer, -1);
        }
    }
    rows
}

/// A step, replayed: rows with the times that they would have.
fn of_step(of: &Synthetic, plan: &[Row], step: u32) -> Vec<Row> {
    // The plan is a job of one step; its places in time are seconds apart and mean nothing.
    let Ok(job) = derive::job(plan.to_vec(), "") else { return Vec::new() };
    let columns = job.steps[0].columns as usize;
    let shape = job.shape(0);
    let mut room = Room::default();
    let drawn = Drawn::new(of, step);
    // Rows of a column in the order of the shape: sorted as the derivation sorts them.
    let mut sorted = plan.to_vec();
    sorted.sort_by_key(|row| (row.dp_rank, row.stage, row.kind, row.seq));
    let ops = shape.ops.len();
    for op in 0..ops {
        for column in 0..columns {
            let row = &sorted[column * ops + op];
            room.takes.push(picoseconds(drawn.takes(row)));
            room.delays.push(picoseconds(drawn.delay(row)));
        }
    }
    replay(&job, shape, columns, Meet::All, &mut room);
    let mut rows = sorted;
    for (place, row) in rows.iter_mut().enumerate() {
        let (column, op) = (place / ops, place % ops);
        let at = op * columns + column;
        let end = room.ends[at];
        let ready =
            shape.graph.before.of(op).iter().map(|&before| room.ends[before as usize * columns + column]);
        let start = ready.max().unwrap_or(0) + room.delays[at];
        row.step = i64::from(step);
        row.start = start as f64 / 1e12;
        row.duration = (end - start) as f64 / 1e12;
    }
    rows
}

fn picoseconds(seconds: f64) -> i64 {
    (seconds * 1e12).round() as i64
}

/// What is drawn at random for a step: the same for every order of asking.
struct Drawn<'a> {
    of: &'a Synthetic,
    step: u32,
    /// By data-parallel rank and microbatch.
    lengths: Vec<f64>,
}

impl<'a> Drawn<'a> {
    fn new(of: &'a Synthetic, step: u32) -> Drawn<'a> {
        let mut random = Stream::new(of.seed, step, 0, 1);
        let count = of.dp as usize * of.microbatches as usize;
        let lengths = (0..count).map(|_| (1.0 + of.lengths * normal(&mut random)).max(0.1)).collect();
        Drawn { of, step, lengths }
    }

    fn faults(&self, row: &Row) -> impl Iterator<Item = What> {
        let (step, place) = (self.step, (row.dp_rank, row.stage));
        let holds = move |fault: &&Fault| (fault.dp_rank, fault.stage) == place && step >= fault.from_step;
        self.of.faults.iter().filter(holds).map(|fault| fault.what)
    }

    fn takes(&self, row: &Row) -> f64 {
        let of = self.of;
        let mut random = Stream::new(of.seed, self.step, row.rank, 2 + row.kind as u32 + 16 * row.seq);
        let spread = (1.0 + of.jitter * normal(&mut random)).max(0.1);
        let longer = if row.stage + 1 == of.pp { 1.0 + of.last_stage } else { 1.0 };
        let slow: f64 =
            self.faults(row).map(|what| if let What::Slow(times) = what { times } else { 1.0 }).product();
        let link: f64 =
            self.faults(row).map(|what| if let What::Link(times) = what { times } else { 1.0 }).product();
        let length = |microbatch: i32| {
            self.lengths[row.dp_rank as usize * of.microbatches as usize + microbatch.max(0) as usize]
        };
        match row.kind {
            Kind::ForwardCompute => of.forward * spread * longer * slow * length(row.microbatch),
            Kind::BackwardCompute => 2.0 * of.forward * spread * longer * slow * length(row.microbatch),
            kind if kind.is_send_or_recv() => of.transfer * spread * link,
            Kind::ParamsAllGather | Kind::GradsReduceScatter => of.gradients * spread * link,
            Kind::EmbeddingGradsAllReduce => 0.1 * of.gradients * spread * link,
            Kind::OptimizerClipMainGrad => 0.05 * of.gradients,
            Kind::Optimizer => 0.2 * of.gradients * spread,
            _ => 0.0,
        }
    }

    fn delay(&self, row: &Row) -> f64 {
        let stalls = self.faults(row).map(|what| if let What::Stall(seconds) = what { seconds } else { 0.0 });
        if row.kind == Kind::ForwardCompute && row.seq == 0 { stalls.sum() } else { 0.0 }
    }
}

/// A normal deviate, by Box and Muller.
fn normal(random: &mut Stream) -> f64 {
    let (one, other) = (1.0 - random.unit(), random.unit());
    (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos()
}
