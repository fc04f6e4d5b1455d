//! Cycles that lie apart from all others: those of a warm-up, and bursts.

use super::{RELEVANT, median};
use serde::Serialize;
use straggler_model::stats::quantile_of_sorted;

/// Some cycles beside all others.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Apart {
    pub cycles: usize,
    /// Their median by that of the others, less one.
    pub change: f64,
}

/// A warm-up is at most this part of the run.
const WARM_UP: usize = 8;
/// A single slow cycle is so many times as far above all others as these reach.
const ALONE: f64 = 1.5;
/// Beyond so many distances of the quartiles is what a normal distribution reaches once in a million.
const FAR: f64 = 3.0;

impl Apart {
    pub(super) fn of(levels: &[f64], is_apart: impl Fn(usize) -> bool) -> Option<Apart> {
        let (these, others): (Vec<usize>, Vec<usize>) = (0..levels.len()).partition(|&place| is_apart(place));
        let of = |places: &[usize]| median(places.iter().map(|&place| levels[place]).collect());
        (!these.is_empty()).then(|| Apart { cycles: these.len(), change: of(&these) / of(&others) - 1.0 })
    }
}

/// The least and the largest.
fn ends(levels: &[f64]) -> (f64, f64) {
    levels.iter().fold((f64::INFINITY, 0.0), |(low, high), &level| (level.min(low), level.max(high)))
}

/// How many of the first cycles lie farther from all others than these do from each other, all on the same side; 0 where
/// there is no warm-up.
pub(super) fn first(levels: &[f64]) -> usize {
    let most = (levels.len() / WARM_UP).max(1);
    let lies_apart = |&count: &usize| {
        let (these, others) = levels.split_at(count);
        let ((least, largest), (low, high)) = (ends(these), ends(others));
        let away = (least - high).max(low - largest);
        away > high - low && away >= RELEVANT * median(others.to_vec())
    };
    (1..=most).rev().find(lies_apart).unwrap_or(0)
}

/// The places of cycles that are far slower than usual, at least two in a row; or of one that is farther above all others than
/// these reach.
pub(super) fn bursts(levels: &[f64]) -> Vec<usize> {
    let mut sorted = levels.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |q: f64| quantile_of_sorted(&sorted, q).unwrap_or(0.0);
    let (upper, middle) = (at(0.75), at(0.5));
    // Where most levels are equal, they are known no better than to the next one.
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
    let is_alone = away > ALONE * (high - low) && away >= RELEVANT * median(others.to_vec()) && high > low;
    levels.iter().position(|level| is_alone && level == largest)
}
