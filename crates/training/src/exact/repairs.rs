//! How much of the lost time is saved if some workers are repaired.

use super::{Replays, mean};
use serde::Serialize;

/// There is no curve if less than this share of a step is lost.
const WORTH_A_CURVE: f64 = 0.01;
/// The curve ends when this share of the lost time is saved.
const MOST_OF_IT: f64 = 0.98;

/// The lost time that some operations account for.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Repaired {
    /// The part of the lost time saved if they are ideal.
    pub share_saved: Option<f64>,
    /// The part of the lost time that remains if only they are as recorded.
    pub share_remaining: Option<f64>,
    /// share_remaining − share_saved: time that other operations would have cost as well.
    pub interaction: Option<f64>,
    pub seconds_without: f64,
    pub seconds_with_only: f64,
    pub workers: usize,
    /// The share of all recorded workers.
    pub share: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<u32>,
}

/// What repairing the worst workers saves.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CurvePoint {
    pub workers: usize,
    pub share: f64,
    pub share_saved: Option<f64>,
    pub seconds: f64,
}

pub struct Repairs<'a> {
    pub replays: &'a Replays<'a>,
    /// The mean step in picoseconds: as recorded, and ideal.
    pub real: f64,
    pub ideal: f64,
    /// How many workers were recorded.
    pub recorded: usize,
}

impl Repairs<'_> {
    /// `count` as a share of the recorded workers.
    fn share(&self, count: usize) -> f64 {
        count as f64 / self.recorded.max(1) as f64
    }

    fn share_saved(&self, without: f64) -> Option<f64> {
        let lost = self.real - self.ideal;
        (lost > 0.0).then(|| (self.real - without) / lost)
    }

    /// The mean step with only the chosen workers as recorded if `real`, else with only them ideal.
    fn with(&self, chosen: &[usize], real: bool) -> f64 {
        let mut is_chosen = vec![false; self.replays.job.workers.len()];
        chosen.iter().for_each(|&place| is_chosen[place] = true);
        mean(&self.replays.all(|_, at| at.real_if(is_chosen[at.worker] == real)))
    }

    pub fn repair(&self, chosen: &[usize], named: bool) -> Repaired {
        let workers = &self.replays.job.workers;
        let (without, with_only) = (self.with(chosen, false), self.with(chosen, true));
        let (share_saved, lost) = (self.share_saved(without), self.real - self.ideal);
        let share_remaining = (lost > 0.0).then(|| (with_only - self.ideal) / lost);
        let ranks = chosen.iter().map(|&place| workers[place].rank);
        Repaired {
            share_saved,
            share_remaining,
            interaction: share_remaining.zip(share_saved).map(|(remaining, saved)| remaining - saved),
            seconds_without: without / 1e12,
            seconds_with_only: with_only / 1e12,
            workers: chosen.len(),
            share: self.share(chosen.len()),
            ranks: if named { ranks.collect() } else { Vec::new() },
        }
    }

    /// Repairs the slowest 1, 2, 3, 4, 6, 8, 12, 16, … workers, until hardly any lost time is left.
    pub fn curve(&self, order: &[usize]) -> Vec<CurvePoint> {
        let mut points = Vec::new();
        let mut count = 1;
        while count <= order.len() && self.real - self.ideal >= WORTH_A_CURVE * self.real {
            let without = self.with(&order[..count], false);
            let share_saved = self.share_saved(without);
            points.push(CurvePoint {
                workers: count,
                share: self.share(count),
                share_saved,
                seconds: without / 1e12,
            });
            if share_saved.is_some_and(|saved| saved >= MOST_OF_IT) || count == order.len() {
                break;
            }
            let next = if count.is_power_of_two() {
                count + count.div_ceil(2)
            } else {
                (count + 1).next_power_of_two()
            };
            count = next.min(order.len());
        }
        points
    }
}
