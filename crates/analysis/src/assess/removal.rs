//! How much the removal of each cause would gain.
//!
//! A collective waits for the slowest process, so causes hide behind each other: with two daemons that both take a
//! millisecond, removing one alone gains nothing. Therefore causes are also removed cumulatively, in the order of the
//! ranking.

use super::curve::slowdowns;
use super::{AssessError, CauseId, Point, ProgramPoint, Question, exposure};
use crate::inflection::Slowdown;
use std::cmp::Reverse;
use straggler_model::Time;
use straggler_model::stats::{quantile_interval_of_sorted, quantile_of_sorted};
use straggler_noise::recording::Evidence;
use straggler_sim::Workload;

/// How many causes are removed cumulatively.
pub(super) const STEPS: usize = 3;

/// The causes at one scale, the largest gain first.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Ranking {
    pub processes: u32,
    /// With all causes.
    pub slowdown: Slowdown,
    pub removals: Vec<Removal>,
    /// Slowdowns after the removal of the first cause, the first two, the first three.
    pub one_after_another: Vec<Slowdown>,
    /// Causes that were not simulated: by estimate they cost a program less than the others. If no program was ranked,
    /// because their detours are short or rare compared with the others.
    pub passed_over: Vec<String>,
}

/// The noise without one cause.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Removal {
    pub cause: String,
    #[serde(skip)]
    pub id: CauseId,
    pub slowdown: Slowdown,
    /// How much the slowdown falls: the median over pairs of runs with the same draws, and its interval.
    pub gain: f64,
    pub gain_low: f64,
    pub gain_high: f64,
    /// The longest detour of this cause that one run of this scale is expected to meet.
    pub reach_ps: u64,
}

impl Removal {
    /// Whether the gain is more than chance.
    pub fn helps(&self) -> bool {
        self.gain_low > 0.0
    }
}

/// A cause that may be worth simulating.
struct Candidate {
    id: CauseId,
    reach: Time,
}

impl Question<'_> {
    /// The removals at one scale; `after` is the number of messages still to simulate after them.
    pub(super) fn ranking(
        &self,
        workload: &Workload,
        point: &Point,
        program: Option<&ProgramPoint>,
        after: u64,
    ) -> Result<Ranking, AssessError> {
        let candidates = self.candidates(point, program);
        let (tried, rest) = candidates.split_at(candidates.len().min(self.effort.causes));
        let mut removals = Vec::with_capacity(tried.len());
        let each = run_messages(workload, point);
        for (done, candidate) in (0..).zip(tried) {
            let ahead = after
                .saturating_add(each.saturating_mul(self.removal_runs(tried.len()).saturating_sub(done)));
            self.begin(&format!("without {}", self.name(candidate.id)), point.processes, ahead);
            removals.extend(self.removal(workload, point, candidate)?);
        }
        // Equal gains, mostly zeros, are ordered by reach.
        removals.sort_by(|a, b| b.gain.total_cmp(&a.gain).then(b.reach_ps.cmp(&a.reach_ps)));
        Ok(Ranking {
            processes: point.processes,
            slowdown: point.slowdown,
            one_after_another: self.one_after_another(workload, point, &removals, after)?,
            removals,
            passed_over: rest.iter().map(|candidate| self.name(candidate.id)).collect(),
        })
    }

    /// Messages of all removals at one scale.
    pub(super) fn ranking_messages(&self, workload: &Workload, point: &Point) -> u64 {
        run_messages(workload, point).saturating_mul(self.removal_runs(self.noise.causes.len()))
    }

    pub(super) fn name(&self, id: CauseId) -> String {
        self.noise.causes.get(usize::from(id)).map_or_else(String::new, |cause| cause.name.clone())
    }

    /// Causes with any detours: those first that cost the program most, so that an assessment has one list of sources;
    /// without a program, those with the farthest reach. Unnamed noise cannot be removed.
    fn candidates(&self, point: &Point, program: Option<&ProgramPoint>) -> Vec<Candidate> {
        let exposure = exposure(point.processes, Time(point.median_ps));
        let share = |id| exposure / self.noise.length_of(id).seconds().max(f64::MIN_POSITIVE);
        let all = (0..self.noise.causes.len() as u32).map(|id| id as CauseId);
        let named = |id: &CauseId| {
            let cause = self.noise.causes.get(usize::from(*id));
            cause.is_some_and(|cause| cause.evidence != Evidence::None)
        };
        let mut candidates: Vec<Candidate> = all
            .filter(named)
            .map(|id| Candidate { id, reach: reach(&self.noise.durations(id), share(id)) })
            .filter(|candidate| candidate.reach > Time::ZERO)
            .collect();
        candidates.sort_by_key(|candidate| Reverse(candidate.reach));
        if let Some(program) = program {
            let order = self.costliest_causes(program.processes, program.interval);
            let place = |id: CauseId| order.iter().position(|&other| other == id);
            candidates.sort_by_key(|candidate| place(candidate.id).unwrap_or(usize::MAX));
        }
        candidates
    }

    fn removal(
        &self,
        workload: &Workload,
        point: &Point,
        candidate: &Candidate,
    ) -> Result<Option<Removal>, AssessError> {
        let without = self.slowdowns_without(workload, point, &[candidate.id])?;
        let with = slowdowns(Time(point.quiet_ps), &point.makespans);
        let mut gains: Vec<f64> = with.iter().zip(&without).map(|(with, without)| with - without).collect();
        gains.sort_unstable_by(f64::total_cmp);
        let interval = quantile_interval_of_sorted(&gains, 0.5, straggler_model::stats::CONFIDENCE);
        let (Some(slowdown), Some(gain), Some((gain_low, gain_high))) =
            (Slowdown::new(&without), quantile_of_sorted(&gains, 0.5), interval)
        else {
            return Ok(None);
        };
        let (cause, reach_ps) = (self.name(candidate.id), candidate.reach.ps());
        Ok(Some(Removal { cause, id: candidate.id, slowdown, gain, gain_low, gain_high, reach_ps }))
    }

    fn slowdowns_without(
        &self,
        workload: &Workload,
        point: &Point,
        removed: &[CauseId],
    ) -> Result<Vec<f64>, AssessError> {
        let sources = self.noise.sources(removed)?;
        let makespans = self.makespans(workload, &sources, 0..point.replicas)?;
        Ok(slowdowns(Time(point.quiet_ps), &makespans))
    }

    fn one_after_another(
        &self,
        workload: &Workload,
        point: &Point,
        removals: &[Removal],
        after: u64,
    ) -> Result<Vec<Slowdown>, AssessError> {
        let mut steps: Vec<Slowdown> = removals.first().map(|first| first.slowdown).into_iter().collect();
        let ids: Vec<CauseId> = removals.iter().map(|removal| removal.id).collect();
        for count in 2..=ids.len().min(STEPS) {
            let runs = (ids.len().min(STEPS) + 1 - count) as u64;
            let ahead = after.saturating_add(run_messages(workload, point).saturating_mul(runs));
            self.begin("sources one after another", point.processes, ahead);
            steps.extend(Slowdown::new(&self.slowdowns_without(workload, point, &ids[..count])?));
        }
        Ok(steps)
    }
}

/// Messages of all replicas of a point.
fn run_messages(workload: &Workload, point: &Point) -> u64 {
    workload.messages().saturating_mul(point.replicas.into())
}

/// The longest of the `durations` (longest first) that is expected once in a run that lasts `share` times as long as
/// the measurement. If not even one detour is expected, a fraction of the longest.
fn reach(durations: &[Time], share: f64) -> Time {
    let Some(&longest) = durations.first() else { return Time::ZERO };
    let expected = durations.len() as f64 * share;
    if expected < 1.0 {
        return Time((longest.ps() as f64 * expected).round() as u64);
    }
    let position = (1.0 / share).ceil().max(1.0) as usize - 1;
    durations.get(position).copied().unwrap_or(longest)
}
