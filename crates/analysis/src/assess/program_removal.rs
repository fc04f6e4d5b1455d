//! What a program that synchronises at an interval would gain if a cause were removed.

use super::asked::once;
use super::rarity::Rarity;
use super::{Asked, AssessError, CauseId, ProgramPoint, Question};
use straggler_model::Time;
use straggler_noise::recording::Evidence;
use straggler_schedule::Steps;

/// The program whose causes are ranked: the largest that was simulated on at most this many processes,
const PROCESSES: u32 = 1024;
/// with the interval closest to this.
const INTERVAL: Time = Time(1_000_000_000);

/// The share of the time limit for this, after the programs.
const SHARE: f64 = 0.15;

/// What one program pays with all causes, and without each.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct ProgramRanking {
    /// With all causes.
    #[serde(flatten)]
    pub all: ProgramPoint,
    /// The smallest slowdown first.
    pub removals: Vec<ProgramRemoval>,
    /// Causes whose removal was not simulated: by estimate they cost less, or there was no time.
    pub passed_over: Vec<String>,
}

/// The program without one cause.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct ProgramRemoval {
    pub cause: String,
    #[serde(flatten)]
    pub left: ProgramPoint,
}

impl ProgramRanking {
    /// The removal that gains most, of those that surely gain: the intervals do not overlap.
    pub fn best(&self) -> Option<&ProgramRemoval> {
        self.removals.iter().find(|removal| removal.left.high < self.all.low)
    }
}

impl Question<'_> {
    /// None if there are no programs, if noise costs them nothing, or without time.
    pub(super) fn program_ranking(
        &self,
        asked: &Asked,
        programs: &[ProgramPoint],
    ) -> Result<Option<ProgramRanking>, AssessError> {
        let smallest = programs.first().map_or(0, |point| point.processes);
        let processes =
            programs.iter().map(|point| point.processes).filter(|&count| count <= PROCESSES).max();
        let processes = processes.unwrap_or(smallest);
        let far =
            |point: &&ProgramPoint| (point.interval.seconds().max(1e-12) / INTERVAL.seconds()).ln().abs();
        let there = programs.iter().filter(|point| point.processes == processes && point.low > 0.0);
        let all = there.min_by(|one, other| far(one).total_cmp(&far(other)));
        let collective = asked.scales.iter().filter_map(once).find(|one| one.processes() == processes);
        let (Some(&all), Some(collective)) = (all, collective) else { return Ok(None) };
        let end = self.end_of_programs() + SHARE * self.limit.seconds;
        let ahead = self.ahead_of_point(0, 0, 0.0, self.effort.curve_work);
        let rarity = Rarity::new(self.noise);
        let causes = self.costliest_causes(processes, all.interval);
        let mut removals = Vec::new();
        for &cause in causes.iter().take(self.effort.causes) {
            let name = self.name(cause);
            self.begin(&format!("a program without {name}"), processes, ahead);
            let left = self.until(end, |question| {
                let program = question.cycles(collective, all.interval, &rarity)?;
                let rest = question.noise.sources(&[cause])?;
                let rarity = Rarity::without(question.noise, Some(cause));
                Ok(question.program_point(&program, &rest, &rarity)?.0)
            })?;
            let Some(left) = left else { break };
            removals.push(ProgramRemoval { cause: name, left });
        }
        let passed_over = causes.iter().skip(removals.len()).map(|&cause| self.name(cause)).collect();
        removals.sort_by(|one, other| one.left.slowdown.total_cmp(&other.left.slowdown));
        Ok((!removals.is_empty()).then_some(ProgramRanking { all, removals, passed_over }))
    }

    /// Causes that can be removed, in the order of what each costs alone, by estimate: the share of time that all
    /// processes together lose to it, but in one cycle at most its longest detour, and at least the share that every
    /// process loses.
    pub(super) fn costliest_causes(&self, processes: u32, interval: Time) -> Vec<CauseId> {
        let cost = |id: CauseId| {
            let longest = self.noise.durations(id).first().map_or(0.0, |longest| longest.seconds());
            let in_a_cycle = longest / interval.seconds().max(1e-12);
            let share = self.noise.share_of(id);
            (f64::from(processes) * share).min(in_a_cycle).max(share)
        };
        let named = |(_, cause): &(CauseId, &super::CauseName)| cause.evidence != Evidence::None;
        let causes = (0..=CauseId::MAX).zip(&self.noise.causes).filter(named);
        let mut causes: Vec<(f64, CauseId)> =
            causes.map(|(id, _)| (cost(id), id)).filter(|(cost, _)| *cost > 0.0).collect();
        causes.sort_by(|one, other| other.0.total_cmp(&one.0));
        causes.into_iter().map(|(_, id)| id).collect()
    }
}
