//! Cycles that lie apart from all others: warm-up and bursts.

use super::RELEVANT;
use serde::Serialize;
use straggler_model::stats::{median_of, quantile_of_sorted};

/// Some cycles, compared with all others.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Apart {
    pub cycles: usize,
    /// Their median relative to that of the others, less one.
    pub change: f64,
}

/// A warm-up is at most one part in this many of the run.
const WARM_UP: usize = 8;
/// A single cycle counts as slow if it lies this many times as far above the others as they spread.
const ALONE: f64 = 1.5;
/// This many interquartile ranges above the upper quartile, a normal distribution reaches once in a million.
const FAR: f64 = 3.0;

impl Apart {
    pub(super) fn new(levels: &[f64], is_apart: impl Fn(usize) -> bool) -> Option<Apart> {
        let (these, others): (Vec<usize>, Vec<usize>) = (0..levels.len()).partition(|&place| is_apart(place));
        let of = |places: &[usize]| median_of(places.iter().map(|&place| levels[place]).collect());
        (!these.is_empty()).then(|| Apart { cycles: these.len(), change: of(&these) / of(&others) - 1.0 })
    }
}

/// The smallest and the largest level.
fn ends(levels: &[f64]) -> (f64, f64) {
    levels.iter().fold((f64::INFINITY, 0.0), |(low, high), &level| (level.min(low), level.max(high)))
}

/// The length of the warm-up: how many of the first cycles lie, all on one side, farther from the others than those
/// spread. 0 if there is no warm-up.
pub(super) fn first(levels: &[f64]) -> usize {
    let most = (levels.len() / WARM_UP).max(1);
    let lies_apart = |&count: &usize| {
        let (these, others) = levels.split_at(count);
        let ((least, largest), (low, high)) = (ends(these), ends(others));
        let away = (least - high).max(low - largest);
        away > high - low && away >= RELEVANT * median_of(others.to_vec())
    };
    (1..=most).rev().find(lies_apart).unwrap_or(0)
}

/// The indices of bursts: at least two consecutive cycles that are far slower than usual, or else a single one that
/// lies farther above all others than those spread.
pub(super) fn bursts(levels: &[f64]) -> Vec<usize> {
    let mut sorted = levels.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |q: f64| quantile_of_sorted(&sorted, q).unwrap_or(0.0);
    let (upper, middle) = (at(0.75), at(0.5));
    // If most levels are equal, the resolution is the smallest step between two levels.
    let step =
        sorted.windows(2).map(|two| two[1] - two[0]).filter(|&step| step > 0.0).fold(f64::INFINITY, f64::min);
    let fence = upper + (FAR * (upper - at(0.25)).max(step)).max(RELEVANT * middle);
    let places: Vec<usize> = (0..levels.len()).collect();
    let far = |&place: &usize| levels[place] > fence;
    let in_a_row =
        places.chunk_by(|one, other| far(one) == far(other)).filter(|run| run.len() > 1 && far(&run[0]));
    let found: Vec<usize> = in_a_row.flatten().copied().collect();
    if found.is_empty() { single(levels, &sorted).into_iter().collect() } else { found }
}

fn single(levels: &[f64], sorted: &[f64]) -> Option<usize> {
    let (largest, others) = sorted.split_last()?;
    let (low, high) = (*others.first()?, *others.last()?);
    let away = largest - high;
    let is_alone = away > ALONE * (high - low) && away >= RELEVANT * median_of(others.to_vec()) && high > low;
    levels.iter().position(|level| is_alone && level == largest)
}
