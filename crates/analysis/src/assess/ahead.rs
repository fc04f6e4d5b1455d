//! How much is still to be simulated, in messages: an estimate that improves with every finished point.

use super::curve::least_messages;
use super::{Asked, Question, removal, variation, work};
use crate::inflection::LEAST_REPLICAS;
use straggler_sim::Workload;

/// The next simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stage<'a> {
    /// The operation, the program, or the cause that is removed.
    pub what: &'a str,
    pub processes: u32,
    /// Estimated messages from here to the end.
    pub ahead: u64,
}

/// Expected replicas of a point that has not run. Small scales may need many, but large ones, which cost most, need
/// few.
const EXPECTED_REPLICAS: u32 = 2 * LEAST_REPLICAS;

impl Question<'_> {
    /// Messages from this scale of this curve to the end of the assessment; `left` is the noise cost that this curve
    /// may still add.
    pub(super) fn ahead_of_point(&self, index: usize, scale: usize, slowdown: f64, left: u64) -> u64 {
        let this = self.asked.get(index).and_then(|asked| asked.scales.get(scale..)).unwrap_or_default();
        let later = (index + 1..self.asked.len()).filter(|&other| self.twin(other).is_none());
        let later = later.filter_map(|other| self.asked.get(other));
        let later = later.map(|asked| self.of_scales(&asked.scales, slowdown, self.effort.curve_work));
        let first = self.asked.first();
        let rest = first
            .map_or(0, |asked| self.of_removals(asked, slowdown).saturating_add(self.of_variation(asked)));
        later.chain([self.of_scales(this, slowdown, left), rest]).fold(0, u64::saturating_add)
    }

    /// Messages of these scales, assuming the slowdown of the last point; a curve ends when its budget is spent.
    fn of_scales(&self, scales: &[Workload], slowdown: f64, mut left: u64) -> u64 {
        let mut all: u64 = 0;
        for workload in scales {
            let noise = |messages: u64| work(messages, slowdown).saturating_sub(messages);
            if noise(least_messages(workload)) > left {
                break;
            }
            let replicas = EXPECTED_REPLICAS.min(self.most_replicas(workload));
            let messages = workload.messages().saturating_mul(u64::from(replicas) + 1);
            left = left.saturating_sub(noise(messages));
            all = all.saturating_add(messages);
        }
        all
    }

    /// Messages of all removals at the largest affordable scale.
    fn of_removals(&self, asked: &Asked, slowdown: f64) -> u64 {
        let runs = self.removal_runs(self.noise.causes.len());
        let each = |workload: &Workload| {
            let replicas = u64::from(EXPECTED_REPLICAS.min(self.most_replicas(workload)));
            workload.messages().saturating_mul(replicas * runs)
        };
        let affordable = |&messages: &u64| work(messages, slowdown) <= self.effort.removal_work;
        asked.scales.iter().rev().map(each).find(affordable).unwrap_or(0)
    }

    /// How many times all replicas run for this many causes at one scale.
    pub(super) fn removal_runs(&self, causes: usize) -> u64 {
        let tried = causes.min(self.effort.causes);
        (tried + tried.min(removal::STEPS).saturating_sub(1)) as u64
    }

    /// Messages of all parts of the measurement; 0 if the noise was not measured.
    pub(super) fn of_variation(&self, asked: &Asked) -> u64 {
        let scale = asked.scales.iter().rfind(|workload| workload.processes() <= variation::PROCESSES);
        let runs = variation::PARTS * u64::from(variation::REPLICAS);
        let measured = self.noise.measured.and(scale);
        measured.map_or(0, |workload| workload.messages().saturating_mul(runs))
    }
}
