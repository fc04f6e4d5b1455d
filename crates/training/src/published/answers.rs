//! The results of the replays: slowdowns by step, stage, data-parallel rank, kind and worker, and the gain from mending workers.

use super::Dense;
use super::graph::{GraphError, graph};
use super::replay::{Mix, StepTimes, Times};
use crate::graph::Graph;
use crate::mean;
use crate::{Kind, Meta};
use serde::Serialize;
use std::collections::BTreeMap;
use straggler_model::parallel;

/// Slowdowns below this are not decomposed.
const WORTH_A_LOOK: f64 = 1.03;
/// Percentage of the workers whose mending is evaluated.
const SLOWEST_PERCENT: u64 = 3;

/// Less than this share of a step is rounding, not lost time.
const NOTHING: f64 = 1e-12;

/// Slowdowns, by name.
pub type Slowdowns = BTreeMap<String, f64>;

/// What the published analysis finds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Answers {
    pub workers_recorded: u32,
    pub steps: usize,
    pub operations: usize,
    /// Mean seconds of a step: recorded; replayed without launch delays; ideal.
    pub step_seconds: f64,
    pub replayed_seconds: f64,
    pub ideal_seconds: f64,
    /// How much longer the steps are than with ideal durations.
    pub s: f64,
    /// The part of the recorded time that the replay does not explain.
    pub replay_error: f64,
    pub launch_slowdown: f64,
    pub by_step: BTreeMap<i64, f64>,
    /// Slowdowns with only this stage, rank or kind as recorded. `None` if the job is hardly slowed.
    pub by_stage: Option<Slowdowns>,
    pub by_dp_rank: Option<Slowdowns>,
    pub by_type: Option<Slowdowns>,
    /// Slowdowns with only the launch delays of this stage, rank or kind.
    pub launch_by_stage: Option<Slowdowns>,
    pub launch_by_dp_rank: Option<Slowdowns>,
    pub launch_by_type: Option<Slowdowns>,
    /// The slowest first.
    pub workers: Vec<Worker>,
    /// The gain from mending the slowest workers.
    pub m_w: Option<Rem>,
    /// The gain from mending the last stage.
    pub m_s: Rem,
}

/// The slowdown of one worker.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Worker {
    pub rank: u32,
    pub dp_rank: u32,
    pub stage: u32,
    /// The smaller of the slowdowns of its data-parallel rank and its stage.
    pub s_w: f64,
}

/// The lost time that some operations account for.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Rem {
    /// The part of the lost time saved if they are ideal. `None` if no time is lost.
    pub rem: Option<f64>,
    /// The part of the lost time that remains if only they are as recorded.
    pub add: Option<f64>,
    pub seconds_without: f64,
    pub seconds_with_only: f64,
    /// The ranks of the mended workers; empty for a stage.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<u32>,
}

/// Does the whole analysis.
pub fn analyse(job: &Dense, meta: &Meta) -> Result<Answers, GraphError> {
    let graph = graph(job, meta.dsp)?;
    let times = Times::new(job, &graph);
    Ok(Analysis { job, graph: &graph, times: &times }.answers())
}

struct Analysis<'a> {
    job: &'a Dense,
    graph: &'a Graph,
    times: &'a Times<'a>,
}

/// The means of a replay over its steps.
fn means(steps: &[StepTimes]) -> StepTimes {
    let whole: Vec<f64> = steps.iter().map(|step| step.whole).collect();
    let opt: Vec<f64> = steps.iter().map(|step| step.opt).collect();
    StepTimes { whole: mean(&whole), opt: mean(&opt) }
}

impl Analysis<'_> {
    /// Evaluates `belongs` for every data-parallel rank and operation.
    fn which(&self, belongs: impl Fn(u32, usize) -> bool) -> Vec<bool> {
        (0..self.job.dp)
            .flat_map(|rank| (0..self.job.ops.len()).map(move |op| (rank, op)))
            .map(|(rank, op)| belongs(rank, op))
            .collect()
    }

    /// The mean step with only `real` as recorded, the others ideal.
    fn only(&self, real: Vec<bool>) -> StepTimes {
        means(&self.times.replay(&Mix { real, delayed: None }))
    }

    fn answers(&self) -> Answers {
        let job = self.job;
        let everything = self.which(|_, _| true);
        let replayed = self.times.replay(&Mix { real: everything.clone(), delayed: None });
        let (real, ideal) = (means(&replayed), self.times.ideal_step());
        let recorded: Vec<f64> = (0..job.steps.len()).map(|step| self.recorded(step)).collect();
        let launch_slowdown = mean(&recorded) / real.opt;
        let s = real.whole / ideal.opt;
        let durations = |which: Vec<bool>| self.only(which).opt / ideal.opt;
        let launches = |which: Vec<bool>| {
            let mix = Mix { real: everything.clone(), delayed: Some(which) };
            means(&self.times.replay(&mix)).opt / real.opt
        };
        let of_rank = |rank: u32| means(&self.times.replay_alone(rank as usize)).opt / ideal.opt;
        let launches_of_rank = |rank: u32| launches(self.which(|own, _| own == rank));
        let [by_stage, by_dp_rank, by_type] = self.decompose(s, false, &durations, &of_rank);
        let [launch_by_stage, launch_by_dp_rank, launch_by_type] =
            self.decompose(launch_slowdown, true, &launches, &launches_of_rank);
        let workers = self.workers(by_stage.as_ref(), by_dp_rank.as_ref());
        let rem = |ranks: Vec<u32>, which: &dyn Fn(u32, usize) -> bool| {
            self.rem(real.whole, ideal.whole, ranks, which)
        };
        let slowest = (u64::from(job.workers()) * SLOWEST_PERCENT).div_ceil(100) as usize;
        let m_w = by_stage.is_some().then(|| {
            let chosen = &workers[..slowest.min(workers.len())];
            let is_chosen = |rank: u32, op: usize| {
                chosen.iter().any(|worker| (worker.dp_rank, worker.stage) == (rank, job.ops[op].stage))
            };
            rem(chosen.iter().map(|worker| worker.rank).collect(), &is_chosen)
        });
        let m_s = rem(Vec::new(), &|_, op| job.ops[op].stage + 1 == job.pp);
        let of_step = |(step, times): (&i64, &StepTimes)| (*step, times.whole / ideal.opt);
        Answers {
            workers_recorded: job.workers(),
            steps: job.steps.len(),
            operations: job.start.len(),
            step_seconds: mean(&recorded),
            replayed_seconds: real.whole,
            ideal_seconds: ideal.whole,
            s,
            replay_error: 1.0 - 1.0 / launch_slowdown,
            launch_slowdown,
            by_step: job.steps.iter().zip(&replayed).map(of_step).collect(),
            by_stage,
            by_dp_rank,
            by_type,
            launch_by_stage,
            launch_by_dp_rank,
            launch_by_type,
            workers,
            m_w,
            m_s,
        }
    }

    /// How long a step took in the trace.
    fn recorded(&self, step: usize) -> f64 {
        let all = self.job.instance(step, 0, 0)..self.job.instance(step + 1, 0, 0);
        let first = self.job.start[all.clone()].iter().copied().fold(f64::INFINITY, f64::min);
        all.map(|instance| self.job.end(instance)).fold(f64::NEG_INFINITY, f64::max) - first
    }

    /// Slowdowns by stage, data-parallel rank and kind. `slowed` takes the operations, `slowed_by` the rank.
    fn decompose(
        &self,
        slowdown: f64,
        launches: bool,
        slowed: &(dyn Fn(Vec<bool>) -> f64 + Sync),
        slowed_by: &(dyn Fn(u32) -> f64 + Sync),
    ) -> [Option<Slowdowns>; 3] {
        if slowdown < WORTH_A_LOOK {
            return [None, None, None];
        }
        let ops = &self.job.ops;
        let class = |op: usize| if launches && self.begins(op) { "first-op" } else { ops[op].kind.class() };
        let stages =
            (0..self.job.pp).map(|stage| (stage.to_string(), self.which(|_, op| ops[op].stage == stage)));
        let mut names: Vec<&str> = (0..ops.len()).map(class).collect();
        names.sort_unstable();
        names.dedup();
        let kinds = names.into_iter().map(|name| (name.to_string(), self.which(|_, op| class(op) == name)));
        let of = |cases: Vec<(String, Vec<bool>)>| {
            let slowdowns = parallel::map_list(&cases, |(_, which)| slowed(which.clone()));
            Some(cases.into_iter().map(|(name, _)| name).zip(slowdowns).collect())
        };
        let ranks = parallel::map(self.job.dp as usize, |rank| (rank.to_string(), slowed_by(rank as u32)));
        [of(stages.collect()), Some(ranks.into_iter().collect()), of(kinds.collect())]
    }

    /// Whether an operation begins the step.
    fn begins(&self, op: usize) -> bool {
        let op = self.job.ops[op];
        let first = if op.stage == 0 { Kind::ForwardCompute } else { Kind::ForwardRecv };
        op.seq == 0 && op.kind == first
    }

    fn workers(&self, by_stage: Option<&Slowdowns>, by_dp_rank: Option<&Slowdowns>) -> Vec<Worker> {
        let (Some(by_stage), Some(by_dp_rank)) = (by_stage, by_dp_rank) else { return Vec::new() };
        let mut workers: Vec<Worker> = (0..self.job.pp)
            .flat_map(|stage| (0..self.job.dp).map(move |dp_rank| (stage, dp_rank)))
            .map(|(stage, dp_rank)| {
                let s_w = by_stage[&stage.to_string()].min(by_dp_rank[&dp_rank.to_string()]);
                Worker { rank: self.job.rank(dp_rank, stage), dp_rank, stage, s_w }
            })
            .collect();
        workers.sort_by(|a, b| b.s_w.total_cmp(&a.s_w).then(a.rank.cmp(&b.rank)));
        workers
    }

    /// The lost time that some operations account for. A step takes `real` seconds as recorded, and `ideal` seconds with all
    /// operations ideal.
    fn rem(&self, real: f64, ideal: f64, ranks: Vec<u32>, which: &dyn Fn(u32, usize) -> bool) -> Rem {
        let without = self.only(self.which(|rank, op| !which(rank, op))).whole;
        let with_only = self.only(self.which(which)).whole;
        let lost = Some(real - ideal).filter(|lost| lost.abs() > NOTHING * ideal.abs());
        Rem {
            rem: lost.map(|lost| (real - without) / lost),
            add: lost.map(|lost| (with_only - ideal) / lost),
            seconds_without: without,
            seconds_with_only: with_only,
            ranks,
        }
    }
}

impl std::fmt::Debug for Analysis<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Analysis").field("groups", &self.graph.groups.len()).finish_non_exhaustive()
    }
}
