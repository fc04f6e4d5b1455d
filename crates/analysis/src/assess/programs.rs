//! What noise costs a program that synchronises all its processes at an interval.
//!
//! The program repeats a cycle: every process computes for the interval, then all take part in the collective. Its
//! slowdown is the mean time of a cycle with noise divided by the time without, minus 1. The first cycle starts at a
//! random moment, often inside a detour; the later ones start when all processes have just met. A long program consists
//! of the later ones, so each replica subtracts its own first cycle.
//!
//! With detours of length d that start at random at rate λ on each of P processes, and an interval much shorter than d,
//! the program advances only while no process is interrupted. That is a share e^(−Pλd) of the time, so the slowdown is
//! e^(Pλd) − 1. If detours of different processes never overlapped, the share would be 1 − Pλd and the slowdown
//! Pλd / (1 − Pλd), the same for small Pλd. If Pλd is much above 1, the slowdown is less: during a detour, others begin
//! and end that nobody waits for.

use super::asked::once;
use super::rarity::Rarity;
use super::{Asked, AssessError, Question, finished, work};
use crate::inflection::LEAST_REPLICAS;
use serde::Serializer;
use std::collections::BTreeMap;
use straggler_model::Time;
use straggler_model::stats::{CONFIDENCE, mean_interval};
use straggler_noise::Source;
use straggler_schedule::Steps;
use straggler_schedule::collectives::Collective;
use straggler_sim::Workload;

/// Intervals between two synchronisations that are simulated by default.
pub const INTERVALS: [Time; 4] =
    [Time(100_000_000), Time(1_000_000_000), Time(10_000_000_000), Time(100_000_000_000)];

/// An interval of the mean is narrow if it extends by at most this share of the slowdown to each side,
const PRECISION: f64 = 0.1;
/// or by this much.
const NEGLIGIBLE: f64 = 0.002;

/// The fewest cycles of a replica after its first.
const LEAST_CYCLES: u32 = 2;

/// The cycles of a replica after its first if there is budget, even if fewer would meet rare detours.
const USUAL_CYCLES: u64 = 16;

/// The fewest replicas cost at most this share of the budget, except on many processes: less may be enough.
const FIRST: u64 = 16;

/// The next number of replicas is at most this many times the last.
const GROWTH: u32 = 4;

/// A window of the engine costs as much as this many messages, even if it delivers fewer.
const WINDOW: u64 = 16;

/// The slowdown of a program on a number of processes.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct ProgramPoint {
    pub processes: u32,
    /// Computation between two collectives.
    #[serde(rename = "interval_seconds", serialize_with = "seconds")]
    pub interval: Time,
    /// The mean time with noise divided by the time without, minus 1.
    pub slowdown: f64,
    /// The ends of its 95 % confidence interval.
    pub low: f64,
    pub high: f64,
}

fn seconds<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    // Divided, so that 100 µs are 0.0001 exactly.
    serializer.serialize_f64(time.ps() as f64 / 1e12)
}

impl ProgramPoint {
    /// How far the interval extends from the mean, on its longer side.
    pub fn uncertainty(&self) -> f64 {
        (self.high - self.slowdown).max(self.slowdown - self.low)
    }

    /// Whether the interval is narrow enough to quote the mean alone.
    pub fn is_narrow(&self) -> bool {
        self.uncertainty() <= self.wanted_uncertainty()
    }

    fn wanted_uncertainty(&self) -> f64 {
        (PRECISION * self.slowdown).max(NEGLIGIBLE)
    }
}

/// The program of one point, and what its cycles take without noise.
pub(super) struct Loop<'a> {
    collective: &'a Collective,
    interval: Time,
    /// Cycles of a replica after its first.
    cycles: u32,
    quiet: Time,
}

/// All intervals at one number of processes.
struct Row {
    points: Vec<ProgramPoint>,
    /// The cost of their simulation, in messages.
    cost: u64,
    /// Wall time of their simulation.
    seconds: f64,
}

impl Question<'_> {
    /// The points by ascending number of processes; none if a schedule or a trace is assessed, which is a program
    /// already. Scales that do not finish in time are left out, except the first.
    pub(super) fn programs(
        &self,
        asked: &Asked,
        sources: &[Source],
    ) -> Result<Vec<ProgramPoint>, AssessError> {
        let rarity = Rarity::new(self.noise);
        let limit = self.end_of_programs();
        let collectives: Vec<&Collective> = asked.scales.iter().filter_map(once).collect();
        let order = order(collectives.len());
        let mut rows: BTreeMap<usize, Row> = BTreeMap::new();
        for (done, &index) in order.iter().enumerate() {
            let smaller = |index: usize| rows.range(..index).next_back().map(|(_, row)| row);
            let cost = |&index: &usize| self.expected_cost(collectives[index], smaller(index));
            let own = cost(&index);
            if !self.fits_row(own, smaller(index), limit) {
                continue;
            }
            let later = self.ahead_of_point(0, 0, 0.0, self.effort.curve_work);
            let later = order[done + 1..].iter().map(cost).fold(later, u64::saturating_add);
            let end = if rows.is_empty() { f64::INFINITY } else { limit };
            let row =
                self.until(end, |question| question.row(collectives[index], sources, &rarity, (later, own)))?;
            rows.extend(row.map(|row| (index, row)));
        }
        Ok(rows.into_values().flat_map(|row| row.points).collect())
    }

    /// All intervals at one scale. `later` and `own` are the messages after this row and those of this row.
    fn row(
        &self,
        collective: &Collective,
        sources: &[Source],
        rarity: &Rarity,
        (later, own): (u64, u64),
    ) -> Result<Row, AssessError> {
        let began = (self.limit.now)();
        let mut row = Row { points: Vec::with_capacity(self.intervals.len()), cost: 0, seconds: 0.0 };
        for &interval in self.intervals {
            let what = format!("a program that synchronises every {interval}");
            self.begin(&what, collective.processes(), later.saturating_add(own.saturating_sub(row.cost)));
            let program = self.cycles(collective, interval, rarity)?;
            let (point, cost) = self.program_point(&program, sources, rarity)?;
            row.points.push(point);
            row.cost = row.cost.saturating_add(cost);
        }
        Ok(Row { seconds: (self.limit.now)() - began, ..row })
    }

    /// The loop with as many cycles as the fewest replicas need to meet rare detours, if their share of the budget
    /// suffices.
    pub(super) fn cycles<'a>(
        &self,
        collective: &'a Collective,
        interval: Time,
        rarity: &Rarity,
    ) -> Result<Loop<'a>, AssessError> {
        let program = Loop { collective, interval, cycles: 0, quiet: Time::ZERO };
        let first = self.quiet(&program.workload(1))?;
        let processes = f64::from(collective.processes());
        let core_seconds = rarity.core_seconds_for(NEGLIGIBLE / 2.0 / processes);
        let wanted =
            core_seconds / (f64::from(LEAST_REPLICAS) * processes * first.seconds()).max(f64::MIN_POSITIVE);
        let affordable = self.effort.messages / FIRST / (cycle_cost(collective) * u64::from(LEAST_REPLICAS));
        let wanted = (wanted.ceil() as u64).max(USUAL_CYCLES);
        let cycles = wanted.min(affordable).max(LEAST_CYCLES.into()) as u32;
        let quiet = self.quiet(&program.workload(1 + cycles))?.since(first);
        Ok(Loop { cycles, quiet, ..program })
    }

    /// Adds replicas until the interval of the mean is narrow or the budget is spent. Returns the cost, too.
    pub(super) fn program_point(
        &self,
        program: &Loop<'_>,
        sources: &[Source],
        rarity: &Rarity,
    ) -> Result<(ProgramPoint, u64), AssessError> {
        let mut elapsed: Vec<f64> = Vec::new();
        let mut wanted = LEAST_REPLICAS;
        loop {
            let replicas = elapsed.len() as u32..wanted;
            let first = self.makespans(&program.workload(1), sources, replicas.clone())?;
            let all = self.makespans(&program.workload(1 + program.cycles), sources, replicas)?;
            elapsed.extend(all.iter().zip(&first).map(|(all, first)| all.since(*first).seconds()));
            let point = program.point(&elapsed, rarity);
            let each = work(program.replica_cost(), point.slowdown);
            let affordable = u32::try_from(self.effort.messages / each.max(1)).unwrap_or(u32::MAX);
            let next = more_replicas(wanted, &point).min(affordable);
            if point.is_narrow() || next <= wanted {
                return Ok((point, each.saturating_mul(wanted.into())));
            }
            wanted = next;
        }
    }

    fn quiet(&self, workload: &Workload) -> Result<Time, AssessError> {
        finished(workload, self.runner.quiet(workload)?)
    }

    /// What a row will cost: like the last one, but at least its fewest replicas.
    fn expected_cost(&self, collective: &Collective, last: Option<&Row>) -> u64 {
        let least = fewest_cost(collective).saturating_mul(self.intervals.len() as u64);
        least.max(last.map_or(self.effort.messages, |row| row.cost))
    }

    /// Whether a row of this cost would finish in time, at the speed of the last one.
    fn fits_row(&self, cost: u64, last: Option<&Row>, end: f64) -> bool {
        let seconds = last.map_or(0.0, |row| row.seconds * cost as f64 / row.cost.max(1) as f64);
        last.is_none() || (self.limit.now)() + seconds <= end
    }
}

impl Loop<'_> {
    fn workload(&self, cycles: u32) -> Workload {
        Workload::Collective { collective: self.collective.clone(), cycles, compute: self.interval }
    }

    /// The cost of a replica in messages, with its first cycle, which runs twice.
    fn replica_cost(&self) -> u64 {
        cycle_cost(self.collective).saturating_mul(u64::from(self.cycles) + 2)
    }

    /// The mean of the replicas. Detours that were met too seldom to be represented raise the upper end: they may be
    /// missing in all replicas.
    fn point(&self, elapsed: &[f64], rarity: &Rarity) -> ProgramPoint {
        let processes = f64::from(self.collective.processes());
        let quiet = self.quiet.seconds().max(f64::MIN_POSITIVE);
        let slowdowns: Vec<f64> = elapsed.iter().map(|seconds| seconds / quiet - 1.0).collect();
        let (slowdown, low, high) = mean_interval(&slowdowns, CONFIDENCE)
            .map_or((0.0, 0.0, 0.0), |found| (found.mean, found.low, found.high));
        let unseen =
            rarity.rare_share(processes * elapsed.iter().sum::<f64>()) * processes * (1.0 + slowdown);
        ProgramPoint {
            processes: self.collective.processes(),
            interval: self.interval,
            slowdown,
            low: low.max(0.0).min(slowdown),
            high: high.max(slowdown + unseen),
        }
    }
}

/// Every third scale first: if time is short, large scales matter more than those in between.
fn order(scales: usize) -> Vec<usize> {
    (0..scales).step_by(3).chain((0..scales).filter(|scale| scale % 3 != 0)).collect()
}

/// What the fewest replicas with the fewest cycles cost, in messages.
pub(super) fn fewest_cost(collective: &Collective) -> u64 {
    (u64::from(LEAST_REPLICAS) * u64::from(LEAST_CYCLES + 2)).saturating_mul(cycle_cost(collective))
}

/// What a cycle costs, in messages. Few processes do not fill the engine's windows.
fn cycle_cost(collective: &Collective) -> u64 {
    let processes = u64::from(collective.processes());
    let messages = Workload::once(collective.clone()).messages();
    (messages / processes.max(1) + 1).saturating_mul(processes + WINDOW)
}

/// The replicas that would make the interval narrow, as it shrinks with the square root of their number.
fn more_replicas(done: u32, point: &ProgramPoint) -> u32 {
    let wider = point.uncertainty() / point.wanted_uncertainty();
    let wanted = (f64::from(done) * wider * wider * 1.2).ceil() as u32;
    wanted.clamp(done + 1, done.saturating_mul(GROWTH))
}

#[cfg(test)]
mod tests;
