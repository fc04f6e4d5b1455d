//! How much is still to be simulated, in messages: a guess that gets better with every point that is known.

use super::curve::least_messages;
use super::{Asked, Question, removal, variation, work};
use crate::inflection::LEAST_REPLICAS;
use straggler_sim::Workload;

/// What is simulated next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stage<'a> {
    /// The operation or the program, or what is removed.
    pub what: &'a str,
    pub processes: u32,
    /// Messages from here to the end, about.
    pub ahead: u64,
}

/// Replicas of a point that is not known yet: small scales may need many, but the large ones, which cost most, few.
const EXPECTED_REPLICAS: u32 = 2 * LEAST_REPLICAS;

impl Question<'_> {
    /// From this scale of this curve to the end of everything; `left` is what noise may still cost this curve.
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

    /// Points as they will be, slowed down as the last one was; a curve ends where its work is used up.
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

    /// All removals at the largest scale at which they are affordable.
    fn of_removals(&self, asked: &Asked, slowdown: f64) -> u64 {
        let runs = self.removal_runs(self.noise.causes.len());
        let each = |workload: &Workload| {
            let replicas = u64::from(EXPECTED_REPLICAS.min(self.most_replicas(workload)));
            workload.messages().saturating_mul(replicas * runs)
        };
        let affordable = |&messages: &u64| work(messages, slowdown) <= self.effort.removal_work;
        asked.scales.iter().rev().map(each).find(affordable).unwrap_or(0)
    }

    /// Runs of all replicas that so many causes take at one scale.
    pub(super) fn removal_runs(&self, causes: usize) -> u64 {
        let tried = causes.min(self.effort.causes);
        (tried + tried.min(removal::STEPS).saturating_sub(1)) as u64
    }

    /// All parts of the measurement, if it is one.
    pub(super) fn of_variation(&self, asked: &Asked) -> u64 {
        let scale = asked.scales.iter().rfind(|workload| workload.processes() <= variation::PROCESSES);
        let runs = variation::PARTS * u64::from(variation::REPLICAS);
        let measured = self.noise.measured.and(scale);
        measured.map_or(0, |workload| workload.messages().saturating_mul(runs))
    }
}
