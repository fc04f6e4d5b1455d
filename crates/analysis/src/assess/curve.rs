//! How the slowdown of one collective or program grows with the number of processes.

use super::{Asked, AssessError, Question, exposure, finished, work};
use crate::inflection::{LEAST_REPLICAS, Slowdown};
use straggler_model::Time;
use straggler_model::stats::{median_in_place, slowdown};
use straggler_noise::Source;
use straggler_sim::Workload;

/// Slowdowns of one collective or program, by ascending number of processes.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Curve {
    /// The collective, or the program.
    #[serde(rename = "operation")]
    pub name: String,
    /// The operation with the same schedule that was simulated instead.
    pub same_as: Option<String>,
    /// The smallest number of processes at which noise is the bottleneck.
    pub inflection: Option<u32>,
    pub points: Vec<Point>,
    /// Requested scales that would have taken too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
}

/// The scales beyond the last point of a curve.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct LeftOut {
    /// The largest of them.
    pub processes: u32,
    /// The cost of the fewest replicas at all of these scales, in messages without noise.
    pub messages: u64,
    pub why: Why,
}

/// Why scales were left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// There is so much noise that the scales would take long on any machine.
    Noise,
    /// The time was used up, because the machine was slow or busy.
    Time,
}

/// The result at one number of processes.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Point {
    pub processes: u32,
    pub quiet_ps: u64,
    pub median_ps: u64,
    pub slowdown: Slowdown,
    pub replicas: u32,
    /// Whether the interval is as narrow as requested.
    pub settled: bool,
    /// Core seconds of one run; noise that is rarer than the measurement shows is missing.
    pub exposure_core_seconds: f64,
    #[serde(skip)]
    pub(super) makespans: Vec<Time>,
    /// Wall time of its simulation.
    #[serde(skip)]
    pub(super) seconds: f64,
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
    fn new(processes: u32, quiet: Time, makespans: Vec<Time>, settled: bool) -> Option<Point> {
        let slowdown = Slowdown::new(&slowdowns(quiet, &makespans))?;
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
            seconds: 0.0,
        })
    }
}

/// T / T0 − 1 of every run.
pub(super) fn slowdowns(quiet: Time, makespans: &[Time]) -> Vec<f64> {
    makespans.iter().map(|&makespan| slowdown(makespan, quiet)).collect()
}

impl LeftOut {
    /// All of these scales, assuming this slowdown.
    fn new(scales: &[Workload], slowdown: f64, why: Why) -> Option<LeftOut> {
        let each = scales.iter().map(|workload| work(least_messages(workload), slowdown));
        let messages = each.fold(0, u64::saturating_add);
        Some(LeftOut { processes: scales.last()?.processes(), messages, why })
    }
}

/// Messages of the fewest replicas of a point.
pub(super) fn least_messages(workload: &Workload) -> u64 {
    workload.messages().saturating_mul(LEAST_REPLICAS.into())
}

/// The remaining budget of a curve.
#[derive(Clone, Copy)]
struct Room {
    /// Extra cost of noise, in messages without noise.
    work: u64,
    /// The deadline, in seconds.
    end: f64,
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
        let end = self.end_of_curve(index);
        let mut left_out = None;
        for (scale, workload) in asked.scales.iter().enumerate() {
            // Expect at least the slowdown of the point before.
            let slowdown = points.last().map_or(0.0, |point| point.slowdown.median);
            let ahead = self.ahead_of_point(index, scale, slowdown, left);
            self.begin(&asked.name, workload.processes(), ahead);
            let last = asked.scales.iter().zip(&points).next_back();
            match self.next_point(workload, sources, last, Room { work: left, end })? {
                Ok(point) => points.push(point),
                Err(why) => {
                    left_out = LeftOut::new(asked.scales.get(scale..).unwrap_or_default(), slowdown, why);
                    break;
                }
            }
            left = left.saturating_sub(self.work_of_noise(workload, points.last()));
        }
        Ok(Curve { left_out, ..Curve::new(&asked.name, points, self.threshold) })
    }

    /// The next point, or why it is left out. The first point is never left out.
    fn next_point(
        &self,
        workload: &Workload,
        sources: &[Source],
        last: Option<(&Workload, &Point)>,
        room: Room,
    ) -> Result<Result<Point, Why>, AssessError> {
        let slowdown = last.map_or(0.0, |(_, point)| point.slowdown.median);
        let messages = least_messages(workload);
        if last.is_some() && work(messages, slowdown).saturating_sub(messages) > room.work {
            return Ok(Err(Why::Noise));
        }
        if last.is_some() && !self.fits(workload, last, room.end) {
            return Ok(Err(Why::Time));
        }
        let began = (self.limit.now)();
        let end = if last.is_some() { room.end } else { f64::INFINITY };
        let point = self.point_until(workload, sources, end)?.ok_or(Why::Time);
        Ok(point.map(|point| Point { seconds: (self.limit.now)() - began, ..point }))
    }

    /// What noise has added to the cost of a point, in messages of a run without noise.
    fn work_of_noise(&self, workload: &Workload, point: Option<&Point>) -> u64 {
        let runs = |point: &Point| workload.messages().saturating_mul(point.replicas.into());
        point.map_or(0, |point| work(runs(point), point.slowdown.median).saturating_sub(runs(point)))
    }

    /// Doubles the replicas until the interval of the median is narrow or the limit is reached.
    pub(super) fn point(
        &self,
        workload: &Workload,
        sources: &[Source],
    ) -> Result<Option<Point>, AssessError> {
        let quiet = finished(workload, self.runner.quiet(workload)?)?;
        let most = self.most_replicas(workload);
        let mut makespans = Vec::new();
        let mut wanted = LEAST_REPLICAS;
        loop {
            let done = makespans.len() as u32;
            makespans.extend(self.makespans(workload, sources, done..wanted)?);
            let found = Slowdown::new(&slowdowns(quiet, &makespans));
            let settled = found.is_some_and(|all| self.settles(&all));
            let more = workload.messages().saturating_mul((2 * wanted).min(most).into());
            let too_long = work(more, found.map_or(0.0, |all| all.median)) > self.effort.point_work;
            if settled || wanted >= most || too_long {
                return Ok(Point::new(workload.processes(), quiet, makespans, settled));
            }
            wanted = (wanted * 2).min(most);
        }
    }

    /// Whether the interval is narrow and lies on one side of the threshold.
    fn settles(&self, slowdown: &Slowdown) -> bool {
        let decided = slowdown.low > self.threshold || slowdown.high <= self.threshold;
        let width = slowdown.high - slowdown.low;
        decided && width <= self.effort.precision * slowdown.median.max(self.threshold)
    }
}
