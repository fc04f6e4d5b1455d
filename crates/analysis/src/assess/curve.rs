//! How the slowdown of one collective or program grows with the number of processes.

use super::{Asked, AssessError, Question, exposure, finished, work};
use crate::inflection::{LEAST_REPLICAS, Slowdown};
use straggler_model::Time;
use straggler_model::noise::Source;
use straggler_model::stats::{median_in_place, slowdown};
use straggler_sim::Workload;

/// Slowdowns of one collective or program, by ascending number of processes.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Curve {
    /// The collective, or the program.
    #[serde(rename = "operation")]
    pub name: String,
    /// The one with the very same schedule that was simulated in its place.
    pub same_as: Option<String>,
    /// The smallest number of processes at which noise is the bottleneck.
    pub inflection: Option<u32>,
    pub points: Vec<Point>,
    /// What was asked for but would have taken too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
}

/// The scales beyond the last point of a curve.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct LeftOut {
    /// The largest of them.
    pub processes: u32,
    /// What the fewest replicas of all of them would cost, in messages without noise.
    pub messages: u64,
}

/// One number of processes.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Point {
    pub processes: u32,
    pub quiet_ps: u64,
    pub median_ps: u64,
    pub slowdown: Slowdown,
    pub replicas: u32,
    /// Whether the interval is as narrow as was asked for.
    pub settled: bool,
    /// Core seconds that a run lasts; noise that is rarer than what was measured does not show in them.
    pub exposure_core_seconds: f64,
    #[serde(skip)]
    pub(super) makespans: Vec<Time>,
}

impl Curve {
    pub(super) fn shared_by(&self, name: &str) -> Curve {
        Curve { name: name.into(), same_as: Some(self.name.clone()), ..self.clone() }
    }

    /// The point at the largest scale up to `processes`.
    pub fn at(&self, processes: u32) -> Option<&Point> {
        self.points.iter().rfind(|point| point.processes <= processes)
    }
}

impl Point {
    fn of(processes: u32, quiet: Time, makespans: Vec<Time>, settled: bool) -> Option<Point> {
        let slowdown = Slowdown::of(&slowdowns(quiet, &makespans))?;
        let median = median_in_place(&mut makespans.clone())?;
        Some(Point {
            processes,
            quiet_ps: quiet.ps(),
            median_ps: median.ps(),
            slowdown,
            replicas: makespans.len() as u32,
            settled,
            exposure_core_seconds: exposure(processes, median),
            makespans,
        })
    }
}

/// T / T0 − 1 of every run.
pub(super) fn slowdowns(quiet: Time, makespans: &[Time]) -> Vec<f64> {
    makespans.iter().map(|&makespan| slowdown(makespan, quiet)).collect()
}

impl LeftOut {
    /// All of these, slowed down so much.
    fn of(scales: &[Workload], slowdown: f64) -> Option<LeftOut> {
        let each = scales.iter().map(|workload| work(least_messages(workload), slowdown));
        let messages = each.fold(0, u64::saturating_add);
        Some(LeftOut { processes: scales.last()?.processes(), messages })
    }
}

/// Of the fewest replicas of a point.
pub(super) fn least_messages(workload: &Workload) -> u64 {
    workload.messages().saturating_mul(LEAST_REPLICAS.into())
}

impl Question<'_> {
    pub(super) fn curve(
        &self,
        index: usize,
        asked: &Asked,
        sources: &[Source],
    ) -> Result<Curve, AssessError> {
        let mut points: Vec<Point> = Vec::with_capacity(asked.scales.len());
        let mut left = self.effort.curve_work;
        let mut left_out = None;
        for (scale, workload) in asked.scales.iter().enumerate() {
            // It will be slowed down at least as much as the one before.
            let slowdown = points.last().map_or(0.0, |point| point.slowdown.median);
            let ahead = self.ahead_of_point(index, scale, slowdown, left);
            self.begin(&asked.name, workload.processes(), ahead);
            let messages = least_messages(workload);
            if !points.is_empty() && work(messages, slowdown).saturating_sub(messages) > left {
                left_out = LeftOut::of(asked.scales.get(scale..).unwrap_or_default(), slowdown);
                break;
            }
            points.extend(self.point(workload, sources)?);
            left = left.saturating_sub(self.work_of_noise(workload, points.last()));
        }
        Ok(Curve { left_out, ..Curve::new(&asked.name, points, self.threshold) })
    }

    /// What noise has added to the cost of a point, in messages of a run without noise.
    fn work_of_noise(&self, workload: &Workload, point: Option<&Point>) -> u64 {
        let runs = |point: &Point| workload.messages().saturating_mul(point.replicas.into());
        point.map_or(0, |point| work(runs(point), point.slowdown.median).saturating_sub(runs(point)))
    }

    /// Doubles the replicas until the interval of the median is narrow, or they are enough.
    fn point(&self, workload: &Workload, sources: &[Source]) -> Result<Option<Point>, AssessError> {
        let quiet = finished(workload, self.runner.quiet(workload)?)?;
        let most = self.most_replicas(workload);
        let mut makespans = Vec::new();
        let mut wanted = LEAST_REPLICAS;
        loop {
            let done = makespans.len() as u32;
            makespans.extend(self.makespans(workload, sources, done..wanted)?);
            let found = Slowdown::of(&slowdowns(quiet, &makespans));
            let settled = found.is_some_and(|all| self.settles(&all));
            let more = workload.messages().saturating_mul((2 * wanted).min(most).into());
            let too_long = work(more, found.map_or(0.0, |all| all.median)) > self.effort.point_work;
            if settled || wanted >= most || too_long {
                return Ok(Point::of(workload.processes(), quiet, makespans, settled));
            }
            wanted = (wanted * 2).min(most);
        }
    }

    /// Above or below the threshold for sure, and narrow.
    fn settles(&self, slowdown: &Slowdown) -> bool {
        let decided = slowdown.low > self.threshold || slowdown.high <= self.threshold;
        let width = slowdown.high - slowdown.low;
        decided && width <= self.effort.precision * slowdown.median.max(self.threshold)
    }
}
