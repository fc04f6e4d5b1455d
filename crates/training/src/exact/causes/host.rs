//! The host: operations that start late, data that come late, garbage that is collected.

use super::super::At;
use super::since::Rise;
use super::{Candidate, CauseKind, Looking, percent, time};
use crate::median::lower_median;
use crate::{KindInfo, Op, Role};

/// Loading that all workers do alike, as ever, is no cause where it wins less than this part of a step.
const NORMAL_LOADING: f64 = 0.05;
/// Ranks stall alike if the worst takes less than so many times as long as a typical one.
const ALIKE: f64 = 1.05;

/// A launch delay as it was found.
struct Late<'a> {
    step: usize,
    worker: usize,
    place: usize,
    op: &'a Op,
    /// Beyond what is usual, in picoseconds.
    by: i64,
}

impl Looking<'_> {
    pub fn launches(&self) -> Candidate<'_> {
        let blamed = self.blamed_delays();
        let mend = {
            let blamed = blamed.clone();
            move |_: usize, at: &At<'_>| {
                let delay = if blamed[at.op.kind as usize] { at.ideal_delay.min(at.delay) } else { at.delay };
                (at.takes, delay)
            }
        };
        let says = "Operations start later than they could".into();
        let mut candidate = self.mended(CauseKind::LaunchDelay, says, mend);
        let cause = &mut candidate.cause;
        let job = self.replays.job;
        let (mut by_worker, mut by_kind) = (vec![0i64; job.workers.len()], vec![0i64; job.kinds.len()]);
        let mut by_step = vec![vec![0i64; job.steps.len()]; job.workers.len()];
        let mut at_begin = 0i64;
        let mut worst: Option<Late<'_>> = None;
        for late in self.late().filter(|late| blamed[late.op.kind as usize]) {
            by_worker[late.worker] = by_worker[late.worker].saturating_add(late.by);
            let of_step = &mut by_step[late.worker][late.step];
            *of_step = of_step.saturating_add(late.by);
            by_kind[late.op.kind as usize] = by_kind[late.op.kind as usize].saturating_add(late.by);
            if self.begins(late.step, late.place) {
                at_begin = at_begin.saturating_add(late.by);
            }
            if worst.as_ref().is_none_or(|worst| worst.by < late.by) {
                worst = Some(late);
            }
        }
        let total: i64 = by_worker.iter().fold(0, |sum, by| sum.saturating_add(*by));
        let share = |part: i64| part as f64 / total.max(1) as f64;
        let largest =
            |list: &[i64]| list.iter().enumerate().max_by_key(|(_, by)| **by).map_or(0, |(at, _)| at);
        let (worker, kind) = (largest(&by_worker), largest(&by_kind));
        cause.evidence.push(format!(
            "{} of the delays are on rank {}, and {} before {}.",
            percent(share(by_worker[worker])),
            job.workers[worker].rank,
            percent(share(by_kind[kind])),
            job.kinds[kind].name
        ));
        if let Some(worst) = &worst {
            cause.evidence.push(format!(
                "The longest: rank {}, step {}, {} before {}{}.",
                job.workers[worst.worker].rank,
                job.steps[worst.step].number,
                time(worst.by as f64),
                job.kinds[worst.op.kind as usize].name,
                // Names of kernels have numbers of their own.
                if job.is_table() { format!(" {}", worst.op.seq) } else { String::new() }
            ));
        }
        if share(at_begin) >= 0.5 {
            cause.evidence.push(format!(
                "{} of them are at the beginning of steps: the worker came late, or waited for data.",
                percent(share(at_begin))
            ));
        }
        let alone = share(by_worker[worker]) >= 0.5 && job.workers.len() > 1;
        if alone {
            let rank = job.workers[worker].rank;
            cause.ranks = vec![rank];
            cause.says = format!("Operations start later than they could, most of all on rank {rank}");
            let late: Vec<f64> = by_step[worker].iter().map(|by| *by as f64).collect();
            if let Some(rise) = Rise::of(&late) {
                let step = job.steps[rise.at].number;
                cause.since_step = Some(step);
                cause.says = format!("{} since step {step}", cause.says);
                cause.evidence.push(format!(
                    "Rank {rank} is late by {} a step since step {step}, and by {} before.",
                    time(rise.after),
                    time(rise.before)
                ));
            }
        }
        let whose = if alone { "that rank" } else { "the ranks" };
        cause.fix =
            format!("Look at data loading, garbage collection and other work of the host on {whose}.");
        candidate
    }

    /// By kind: whether its host is to blame where it starts late. Nobody is where operations are there that are not known: they may
    /// fill the gaps.
    fn blamed_delays(&self) -> Vec<bool> {
        let job = self.replays.job;
        let waits = job.lacks_transfers();
        let blamed = |kind: &KindInfo| !(job.unknown_operations || (waits && kind.role == Role::Compute));
        job.kinds.iter().map(blamed).collect()
    }

    /// All delays beyond what is usual.
    fn late(&self) -> impl Iterator<Item = Late<'_>> {
        let (job, replays) = (self.replays.job, self.replays);
        (0..job.steps.len()).flat_map(move |step| {
            let columns = job.steps[step].columns as usize;
            job.shape(step).ops.iter().enumerate().flat_map(move |(place, op)| {
                (0..columns).filter_map(move |column| {
                    let worker = job.worker(step, column, place);
                    let usual = replays.ideal.delay(op);
                    let times = &replays.times[step];
                    let carried = times.carried_by(job, step, place, column);
                    let by = times.delays[place * columns + column] - carried - usual;
                    (by > 0).then_some(Late { step, worker, place, op, by })
                })
            })
        })
    }

    /// Whether an operation is the first of its worker.
    fn begins(&self, step: usize, place: usize) -> bool {
        self.replays.job.shape(step).begins(&self.replays.job.kinds, place)
    }

    /// Data loading and garbage collection, where they are recorded: without them altogether.
    pub fn stalls(&self) -> Vec<Candidate<'_>> {
        let list = [
            (
                "dataload",
                CauseKind::DataLoading,
                "Load batches ahead: more loader processes, a larger prefetch, faster storage.",
            ),
            (
                "gc",
                CauseKind::GarbageCollection,
                "Collect by hand, on all ranks in the same step, and switch the automatic collection off.",
            ),
        ];
        list.into_iter().filter_map(|(name, kind, fix)| self.stall(name, kind, fix)).collect()
    }

    fn stall(&self, name: &str, kind: CauseKind, fix: &str) -> Option<Candidate<'_>> {
        let job = self.replays.job;
        let number = job.kinds.iter().position(|kind| kind.name == name)?;
        let means: Vec<(usize, f64)> = (0..job.workers.len())
            .filter(|&worker| job.workers[worker].recorded)
            .map(|worker| (worker, self.facts.a_step(worker, number)))
            .collect();
        let (worst, takes) = means.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))?;
        if takes <= 0.0 {
            return None;
        }
        let typical = lower_median(&mut means.iter().map(|(_, mean)| *mean).collect::<Vec<f64>>());
        let rank = job.workers[worst].rank;
        let alone = takes >= 2.0 * typical && means.len() > 1;
        let who = if alone { format!("Rank {rank} waits") } else { "Workers wait".into() };
        let whom = if alone { format!("rank {rank}") } else { "workers".into() };
        let mut says = match kind {
            CauseKind::DataLoading => format!("{who} for data"),
            _ => format!("Garbage collection stops {whom}"),
        };
        let rise = Rise::of(&self.facts.each_step(worst, number));
        if let Some(rise) = rise {
            let (since, before) = (time(rise.after), time(rise.before));
            let step = job.steps[rise.at].number;
            says = format!("{says} since step {step} ({since} a step, {before} before)");
        }
        let mend = move |_: usize, at: &At<'_>| match at.op.kind as usize == number {
            true => (0, at.delay),
            false => at.real(),
        };
        let mut candidate = self.mended(kind, says, mend);
        let cause = &mut candidate.cause;
        if kind == CauseKind::DataLoading && !alone && rise.is_none() && cause.gain < NORMAL_LOADING {
            return None;
        }
        cause.since_step = rise.map(|rise| job.steps[rise.at].number);
        cause.evidence.push(match takes < ALIKE * typical {
            true => format!("This takes {} a step in the mean, on all ranks.", time(typical)),
            false => format!(
                "This takes {} a step in the mean on rank {rank}, and {} on a typical rank.",
                time(takes),
                time(typical)
            ),
        });
        if alone {
            cause.ranks = vec![rank];
        }
        cause.fix = fix.into();
        Some(candidate)
    }
}
