//! Synthetic jobs: a data-parallel pipeline in 1F1B order, interleaved if stages have several chunks, with known faults.
//!
//! The rows are those that a recording of the job would have; reading them gives the job back.

mod drawn;
mod limits;

pub use limits::SyntheticError;

use crate::exact::{Meet, Scratch, replay};
use crate::whatif::{SlowLink, slowed_by};
use crate::{Job, Kind, Row, derive};
use straggler_model::philox::Stream;

/// A synthetic job. Times are in seconds.
#[derive(Clone, PartialEq, Debug)]
pub struct Synthetic {
    pub dp: u32,
    pub pp: u32,
    /// Chunks of the model on every stage: chunk c of stage s is chunk c · pp + s of the model.
    pub vpp: u32,
    pub microbatches: u32,
    pub steps: u32,
    /// The forward time of a microbatch on a stage, all chunks together. Backward takes twice as long.
    pub forward: f64,
    /// How much longer the last stage takes, as a share.
    pub last_stage: f64,
    /// The standard deviations of computing and of lengths of microbatches, as shares.
    pub jitter: f64,
    pub lengths: f64,
    /// The time of a transfer between stages, and of gradients between data-parallel ranks.
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
            vpp: 1,
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

/// A fault of a worker, from a step on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fault {
    pub dp_rank: u32,
    pub stage: u32,
    pub from_step: u32,
    pub what: Defect,
}

/// What is wrong with a worker of a synthetic job.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Defect {
    /// Computing takes this many times as long.
    Slow(f64),
    /// Transfers take this many times as long for all members: all transfers of the worker, or only those between it and one
    /// other worker, given by data-parallel rank and stage.
    Link { times: f64, with: Option<(u32, u32)> },
    /// The host is late by this many seconds, once a step.
    Stall(f64),
}

/// The rows of all workers, by step. Empty for a job that [`Synthetic::check`] rejects.
pub fn rows(of: &Synthetic) -> Vec<Row> {
    let plan = of.check().ok().and_then(|()| Plan::new(of));
    plan.map_or(Vec::new(), |plan| (0..of.steps).flat_map(|step| plan.step(of, step)).collect())
}

/// The mean step in seconds.
pub fn mean_step(of: &Synthetic) -> f64 {
    let ends = |step: u32, rows: &[Row]| {
        let of_step = rows.iter().filter(|row| row.step == i64::from(step));
        of_step.map(|row| row.start + row.duration).fold(0.0, f64::max)
    };
    let rows = rows(of);
    (0..of.steps).map(|step| ends(step, &rows)).sum::<f64>() / f64::from(of.steps.max(1))
}

/// The order of passes on a stage, each a kind, a microbatch and a chunk: first some forward passes, then one forward and one
/// backward in turn. Several chunks take turns, each for as many microbatches as there are stages: the interleaved schedule of
/// Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM" (SC 2021).
fn order(stage: u32, of: &Synthetic) -> Vec<(Kind, u32, u32)> {
    let (pp, vpp) = (of.pp, of.vpp);
    let count = of.microbatches * vpp;
    let behind = pp - 1 - stage;
    let ahead = if vpp == 1 { behind } else { 2 * behind + (vpp - 1) * pp }.min(count);
    let pass = |number: u32| {
        let (round, place) = (number / (pp * vpp), number % (pp * vpp));
        (round * pp + place % pp, place / pp)
    };
    let forward = |number: u32| {
        let (microbatch, chunk) = pass(number);
        (Kind::ForwardCompute, microbatch, chunk)
    };
    let mut order: Vec<(Kind, u32, u32)> = (0..ahead).map(forward).collect();
    for number in 0..count {
        if ahead + number < count {
            order.push(forward(ahead + number));
        }
        let (microbatch, chunk) = pass(number);
        order.push((Kind::BackwardCompute, microbatch, vpp - 1 - chunk));
    }
    order
}

/// The rows of one step. Their times only give the order of operations.
fn planned(of: &Synthetic) -> Vec<Row> {
    let mut rows = Vec::new();
    for dp_rank in 0..of.dp {
        for stage in 0..of.pp {
            let rank = stage * of.dp + dp_rank;
            let mut seqs = [0u32; Kind::ALL.len()];
            let mut place = 0.0;
            let mut add = |kind: Kind, microbatch: i32, chunk: i32| {
                let seq = seqs[kind as usize];
                seqs[kind as usize] += 1;
                let computes = kind.is_compute();
                rows.push(Row {
                    dp_rank,
                    stage,
                    rank,
                    step: 0,
                    kind,
                    start: place,
                    duration: 0.0,
                    seq,
                    chunk,
                    model_chunk: if computes { chunk * of.pp as i32 + stage as i32 } else { -1 },
                    microbatch,
                });
                place += 1.0;
            };
            // One collective serves all chunks. It has chunk 0, with which the step begins and ends.
            if of.dp > 1 {
                add(Kind::ParamsAllGather, -1, 0);
            }
            for (kind, microbatch, chunk) in order(stage, of) {
                let (is_first, is_last) =
                    (stage == 0 && chunk == 0, stage + 1 == of.pp && chunk + 1 == of.vpp);
                let (recv, send, receives, sends) = match kind {
                    Kind::ForwardCompute => (Kind::ForwardRecv, Kind::ForwardSend, !is_first, !is_last),
                    _ => (Kind::BackwardRecv, Kind::BackwardSend, !is_last, !is_first),
                };
                if receives {
                    add(recv, -1, -1);
                }
                add(kind, microbatch as i32, chunk as i32);
                if sends {
                    add(send, -1, -1);
                }
            }
            add(Kind::Gc, -1, -1);
            add(Kind::LayernormGradsAllReduce, -1, -1);
            if stage == 0 || stage + 1 == of.pp {
                add(Kind::EmbeddingGradsAllReduce, -1, -1);
            }
            if of.dp > 1 {
                add(Kind::GradsReduceScatter, -1, 0);
            }
            add(Kind::OptimizerClipMainGrad, -1, -1);
            add(Kind::Optimizer, -1, -1);
        }
    }
    // All workers wait for each other at the gradient norm.
    let clip = rows.iter().map(|row| row.start).fold(0.0, f64::max) + 1.0;
    for row in &mut rows {
        match row.kind {
            Kind::OptimizerClipMainGrad => row.start = clip,
            Kind::Optimizer => row.start = clip + 1.0,
            _ => {}
        }
    }
    rows
}

/// The plan of all steps: a job of one step, and its rows in the order of the job.
struct Plan {
    job: Job,
    rows: Vec<Row>,
}

impl Plan {
    fn new(of: &Synthetic) -> Option<Plan> {
        let mut rows = planned(of);
        let job = derive::job(rows.clone(), "").ok()?;
        rows.sort_by_key(|row| (row.dp_rank, row.stage, row.kind, row.seq));
        Some(Plan { job, rows })
    }

    /// The slowdowns of transfers due to slow links, by operation and column.
    fn links(&self, of: &Synthetic, step: u32) -> Vec<f64> {
        let place = |(dp_rank, stage): (u32, u32)| {
            self.job.workers.iter().position(|worker| (worker.dp_rank, worker.stage) == (dp_rank, stage))
        };
        let holds = of.faults.iter().filter(|fault| step >= fault.from_step);
        let mut links: Vec<SlowLink> = holds
            .filter_map(|fault| match fault.what {
                Defect::Link { times, with } => Some(SlowLink {
                    worker: place((fault.dp_rank, fault.stage))?,
                    with: with.and_then(place),
                    times,
                }),
                _ => None,
            })
            .collect();
        links.sort_by_key(|link| link.worker);
        slowed_by(&self.job, 0, &links)
    }

    /// The rows of a step with its times.
    fn step(&self, of: &Synthetic, step: u32) -> Vec<Row> {
        let columns = self.job.steps[0].columns as usize;
        let shape = self.job.shape(0);
        let ops = shape.ops.len();
        let drawn = Drawn::new(of, step);
        let links = self.links(of, step);
        let mut room = Scratch::default();
        for op in 0..ops {
            for column in 0..columns {
                let row = &self.rows[column * ops + op];
                room.takes.push(whole_nanoseconds(drawn.takes(row) * links[op * columns + column]));
                room.delays.push(whole_nanoseconds(drawn.delay(row)));
            }
        }
        replay(&self.job, shape, columns, Meet::All, &mut room);
        let mut rows = self.rows.clone();
        for (place, row) in rows.iter_mut().enumerate() {
            let (column, op) = (place / ops, place % ops);
            let at = op * columns + column;
            let before = shape.graph.before.get(op).iter();
            let ready = before.map(|&before| room.ends[before as usize * columns + column]).max();
            let start = ready.unwrap_or(0) + room.delays[at];
            row.step = i64::from(step);
            row.start = start as f64 / 1e12;
            row.duration = (room.ends[at] - start) as f64 / 1e12;
        }
        rows
    }
}

/// Seconds as picoseconds, rounded to whole nanoseconds as profilers write them.
fn whole_nanoseconds(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64 * 1000
}

/// The random values of a step. They do not depend on the order of calls.
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

    fn faults(&self, row: &Row) -> impl Iterator<Item = Defect> {
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
            self.faults(row).map(|what| if let Defect::Slow(times) = what { times } else { 1.0 }).product();
        let length = |microbatch: i32| {
            self.lengths[row.dp_rank as usize * of.microbatches as usize + microbatch.max(0) as usize]
        };
        let forward = of.forward / f64::from(of.vpp);
        match row.kind {
            Kind::ForwardCompute => forward * spread * longer * slow * length(row.microbatch),
            Kind::BackwardCompute => 2.0 * forward * spread * longer * slow * length(row.microbatch),
            kind if kind.is_send_or_recv() => of.transfer * spread,
            Kind::ParamsAllGather | Kind::GradsReduceScatter => of.gradients * spread,
            Kind::EmbeddingGradsAllReduce => 0.1 * of.gradients * spread,
            Kind::OptimizerClipMainGrad => 0.05 * of.gradients,
            Kind::Optimizer => 0.2 * of.gradients * spread * slow,
            _ => 0.0,
        }
    }

    fn delay(&self, row: &Row) -> f64 {
        let stalls =
            self.faults(row).map(|what| if let Defect::Stall(seconds) = what { seconds } else { 0.0 });
        // If there is only one worker, the first forward begins the step, so its delay would not show.
        let alone = self.of.dp == 1 && self.of.pp == 1;
        let late = if alone { Kind::BackwardCompute } else { Kind::ForwardCompute };
        if row.kind == late && row.seq == 0 { stalls.sum() } else { 0.0 }
    }
}

/// A normal deviate, by the Box-Muller method.
fn normal(random: &mut Stream) -> f64 {
    let (one, other) = (1.0 - random.unit(), random.unit());
    (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos()
}
