//! How long operations would take if nothing were wrong: the times of a typical worker.

use super::by_kind::ByKind;
use super::times::StepTimes;
use crate::{Job, Op, Role};
use straggler_model::parallel;
use straggler_model::stats::{lower_median, median};

/// What operations are compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pool {
    /// All of their kind.
    Kind,
    /// All of their kind on the same stage of the pipeline: an uneven partition is not their fault.
    KindAndStage,
}

/// Ideal times, by stage and kind; delays by kind only. A single slow worker does not change them. Durations that depend on the
/// data use the mean of the median worker of each stage, averaged over the stages; all others use the median of all values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ideal {
    kinds: usize,
    takes: Vec<i64>,
    delays: Vec<i64>,
}

impl Ideal {
    pub fn new(job: &Job, times: &[StepTimes], by_kind: &ByKind, pool: Pool) -> Ideal {
        let stages = job.stages();
        let kinds = job.kinds.len();
        let per_kind: Vec<(Vec<i64>, i64)> = parallel::map(kinds, |kind| {
            let mut values = Values::new(job, times, by_kind, kind, stages);
            let by_stage: Vec<i64> = values
                .takes
                .iter_mut()
                .map(|takes| match job.kinds[kind].role {
                    Role::Compute => lower_median(takes),
                    _ => median(takes),
                })
                .collect();
            let takes = match (pool, job.kinds[kind].role) {
                (Pool::KindAndStage, _) => by_stage,
                // The work of all stages, divided evenly.
                (Pool::Kind, Role::Compute) => vec![mean_of_known(&values.takes, &by_stage); stages],
                (Pool::Kind, _) => vec![median(&mut values.takes.concat()); stages],
            };
            (takes, usual_delay(&mut values.delays, job.kinds[kind].launched))
        });
        let all = || (0..stages).flat_map(|stage| (0..kinds).map(move |kind| (stage, kind)));
        Ideal {
            kinds,
            takes: all().map(|(stage, kind)| per_kind[kind].0[stage]).collect(),
            delays: per_kind.iter().map(|(_, delay)| *delay).collect(),
        }
    }

    /// The duration of an operation on a stage.
    #[inline]
    pub fn takes(&self, stage: u32, op: &Op) -> i64 {
        if op.inside { 0 } else { self.takes_of(stage, op.kind) }
    }

    /// The duration of a kind on a stage.
    #[inline]
    pub fn takes_of(&self, stage: u32, kind: u16) -> i64 {
        self.takes[stage as usize * self.kinds + kind as usize]
    }

    #[inline]
    pub fn delay(&self, op: &Op) -> i64 {
        if op.inside { 0 } else { self.delays[op.kind as usize] }
    }
}

/// The measured times of a kind.
struct Values {
    /// By stage: the mean of each worker for computations, else all values.
    takes: Vec<Vec<i64>>,
    delays: Vec<i64>,
}

impl Values {
    fn new(job: &Job, times: &[StepTimes], by_kind: &ByKind, kind: usize, stages: usize) -> Values {
        let by_worker = job.kinds[kind].role == Role::Compute;
        let mut values = Values { takes: vec![Vec::new(); stages], delays: Vec::new() };
        let mut sums = vec![(0i128, 0i128); if by_worker { job.workers.len() } else { 0 }];
        for (step, times) in times.iter().enumerate() {
            let (shape, columns) = (job.shape(step), job.steps[step].columns as usize);
            for place in by_kind.places(job, step, kind).filter(|&place| !shape.ops[place].inside) {
                let range = place * columns..(place + 1) * columns;
                let is_filler = |column: usize| job.is_filler(job.instance(step, column, place));
                let stage = job.workers[job.worker(step, 0, place)].stage as usize;
                let carries = shape.begins(&job.kinds, place) && !times.carried.is_empty();
                if carries || !job.fillers.is_empty() {
                    for column in (0..columns).filter(|&column| !is_filler(column)) {
                        let carried = times.carried_by(job, step, place, column);
                        values.delays.push(times.delays[place * columns + column] - carried);
                    }
                } else {
                    values.delays.extend_from_slice(&times.delays[range.clone()]);
                }
                if !by_worker {
                    let takes = times.steady()[range].iter().enumerate();
                    let recorded = takes.filter(|(column, _)| !is_filler(*column)).map(|(_, takes)| *takes);
                    values.takes[stage].extend(recorded);
                    continue;
                }
                for (column, takes) in times.steady()[range].iter().enumerate() {
                    let sum = &mut sums[job.worker(step, column, place)];
                    *sum = (sum.0 + i128::from(*takes), sum.1 + 1);
                }
            }
        }
        if job.kinds[kind].role == Role::Other {
            values.fill_up(job);
        }
        for (worker, (sum, count)) in job.workers.iter().zip(sums).filter(|(_, (_, count))| *count > 0) {
            values.takes[worker.stage as usize].push(((sum + count / 2) / count) as i64);
        }
        values
    }
}

impl Values {
    /// Pads with zeros: host work that is absent from a step takes no time in it.
    fn fill_up(&mut self, job: &Job) {
        let mut all = vec![0; self.takes.len()];
        for step in 0..job.steps.len() {
            let takes_part = job.takes_part(step);
            let there = job.workers.iter().zip(&takes_part).filter(|(_, there)| **there);
            there.for_each(|(worker, _)| all[worker.stage as usize] += 1);
        }
        for (takes, all) in self.takes.iter_mut().zip(all) {
            takes.resize(takes.len().max(all), 0);
        }
    }
}

/// The mean over the stages that have any values.
fn mean_of_known(values: &[Vec<i64>], typical: &[i64]) -> i64 {
    let known: Vec<i64> = values
        .iter()
        .zip(typical)
        .filter(|(values, _)| !values.is_empty())
        .map(|(_, typical)| *typical)
        .collect();
    (known.iter().map(|&typical| i128::from(typical)).sum::<i128>() / known.len().max(1) as i128) as i64
}

/// The median; for delays that are usually waits, the lower quartile.
fn usual_delay(delays: &mut [i64], launched: bool) -> i64 {
    match delays.len() {
        0 => 0,
        _ if launched => median(delays),
        length => *delays.select_nth_unstable(length / 4).1,
    }
}
