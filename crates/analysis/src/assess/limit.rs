//! The time limit of the simulations.
//!
//! A busy machine simulates smaller scales; it does not take longer. Programs and curves end when their share of the time
//! is spent, and sources are removed at a scale that the speed so far allows. The results themselves do not depend on the speed.

use super::curve::least_messages;
use super::{Asked, AssessError, Point, Question, removal, variation};
use std::sync::atomic::{AtomicBool, Ordering};
use straggler_noise::Source;
use straggler_sim::outcome::RunError;
use straggler_sim::{Replicas, Workload};

/// A time limit, and a clock that started at 0.
#[derive(Clone, Copy)]
pub struct TimeLimit<'a> {
    pub seconds: f64,
    pub now: &'a (dyn Fn() -> f64 + Sync),
}

/// The share of the time for programs.
const PROGRAMS: f64 = 0.4;

/// The share of the time for programs and all curves; the rest is for removals and the variation.
const CURVES: f64 = 0.79;

/// One curve gets at most this share of the remaining time if others follow.
const ONE_CURVE: f64 = 0.8;

/// The removals at one scale get at most this share of the remaining time.
const REMOVALS: f64 = 0.7;

/// Points that took less time than this, in seconds, say little about the speed: mostly chance.
const NOTICEABLE: f64 = 0.05;

impl std::fmt::Debug for TimeLimit<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TimeLimit").field("seconds", &self.seconds).finish_non_exhaustive()
    }
}

impl TimeLimit<'_> {
    /// No limit.
    pub const NONE: TimeLimit<'static> = TimeLimit { seconds: f64::INFINITY, now: &|| 0.0 };

    fn left(&self) -> f64 {
        self.seconds - (self.now)()
    }
}

impl Question<'_> {
    /// The least that must be simulated, in messages: the fewest replicas at every scale.
    pub fn least_messages(&self) -> u64 {
        let separate = (0..self.asked.len()).filter(|&index| self.twin(index).is_none());
        let scales = separate.filter_map(|index| self.asked.get(index)).flat_map(|asked| &asked.scales);
        scales
            .map(|workload| least_messages(workload).saturating_add(workload.messages()))
            .fold(0, u64::saturating_add)
    }

    /// The deadline of this curve. The cost of a curve is estimated from its largest scale.
    pub(super) fn end_of_curve(&self, index: usize) -> f64 {
        let largest = |asked: &Asked| asked.scales.last().map_or(0, Workload::messages) as f64;
        let later = (index + 1..self.asked.len()).filter(|&other| self.twin(other).is_none());
        let later: f64 = later.filter_map(|other| self.asked.get(other)).map(largest).sum();
        let own = self.asked.get(index).map_or(0.0, largest);
        let share = match later > 0.0 {
            true => (own / (own + later)).min(ONE_CURVE),
            false => 1.0,
        };
        let now = (self.limit.now)();
        now + share * (CURVES * self.limit.seconds - now).max(0.0)
    }

    /// Whether the next point would finish in time, at the speed of the last one.
    pub(super) fn fits(&self, workload: &Workload, last: Option<(&Workload, &Point)>, end: f64) -> bool {
        let Some((before, point)) = last.filter(|(_, point)| point.seconds > NOTICEABLE) else { return true };
        let done = before.messages() as f64 * f64::from(point.replicas + 1);
        let ahead = least_messages(workload).saturating_add(workload.messages()) as f64;
        (self.limit.now)() + point.seconds * ahead / done.max(1.0) <= end
    }

    /// The deadline of the programs.
    pub(super) fn end_of_programs(&self) -> f64 {
        PROGRAMS * self.limit.seconds
    }

    /// The point; none if it does not finish in time.
    pub(super) fn point_until(
        &self,
        workload: &Workload,
        sources: &[Source],
        end: f64,
    ) -> Result<Option<Point>, AssessError> {
        Ok(self.until(end, |question| question.point(workload, sources))?.flatten())
    }

    /// What `simulate` returns; none if it does not finish in time.
    pub(super) fn until<T>(
        &self,
        end: f64,
        simulate: impl FnOnce(&Question<'_>) -> Result<T, AssessError>,
    ) -> Result<Option<T>, AssessError> {
        let stop = AtomicBool::new(false);
        let advance = |more| {
            (self.runner.advance)(more);
            if self.runner.stop.load(Ordering::Relaxed) || (self.limit.now)() >= end {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let runner = Replicas { stop: &stop, advance: &advance, ..self.runner.clone() };
        match simulate(&Question { runner, ..*self }) {
            Err(AssessError::Run(RunError::Interrupted)) if !self.runner.stop.load(Ordering::Relaxed) => {
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// Whether there is time for the removals at this scale.
    pub(super) fn has_time_for_removals(&self, point: &Point) -> bool {
        let runs = (self.effort.causes + removal::STEPS - 1) as f64;
        point.seconds <= NOTICEABLE || runs * point.seconds <= REMOVALS * self.limit.left()
    }

    /// Whether there is time to simulate every part of the measurement at this scale.
    pub(super) fn has_time_for_parts(&self, point: &Point) -> bool {
        let runs = variation::PARTS as f64 * f64::from(variation::REPLICAS);
        let seconds = point.seconds * runs / f64::from(point.replicas.max(1));
        seconds <= NOTICEABLE * variation::PARTS as f64 || seconds <= self.limit.left()
    }
}
