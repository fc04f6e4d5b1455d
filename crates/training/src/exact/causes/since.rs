//! Detects a series that rises at some step and stays high. Used for workers, stages, links, data loading and delays.

use crate::median::{lower_median, mean};

/// The minimum change, as a share of the mean.
pub const CHANGE: f64 = 0.05;
/// The minimum change, in standard errors.
const SURE: f64 = 6.0;
/// The minimum length of a level: a single step is not a level, and in a series with several levels, neither are two or three.
const SHORTEST: usize = 2;
const SHORTEST_OF_SEVERAL: usize = 4;

/// A permanent rise of a series. Later values may rise further and fall again, but never back to the level before.
#[derive(Clone, PartialEq, Debug)]
pub struct Rise {
    /// The index of the first higher value.
    pub at: usize,
    /// The mean before and from then on.
    pub before: f64,
    pub after: f64,
    /// The levels from then on.
    levels: Vec<Level>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Level {
    /// The index of its first value.
    from: usize,
    mean: f64,
    /// The median: a single high value does not make a level high.
    middle: f64,
}

impl Rise {
    /// The permanent rise of a series, if it has a significant one.
    pub fn of(values: &[f64]) -> Option<Rise> {
        Rise::of_at_least(CHANGE, values)
    }

    /// The same, for rises by at least this share.
    pub fn of_at_least(least: f64, values: &[f64]) -> Option<Rise> {
        let levels = levels(least, values);
        let is_first = |place: &usize| {
            let before = levels[place - 1];
            let is_higher = |level: &Level| {
                level.mean > (1.0 + least) * before.mean && level.middle > (1.0 + least / 2.0) * before.middle
            };
            levels[*place..].iter().all(is_higher)
        };
        let first = (1..levels.len()).find(is_first)?;
        let (at, before) = (levels[first].from, levels[first - 1].mean);
        Some(Rise { at, before, after: mean(&values[at..]), levels: levels[first..].to_vec() })
    }

    /// The mean after the rise, as a multiple of that before.
    pub fn factor(&self) -> f64 {
        self.times(self.after)
    }

    /// The level of a value given by its index, as a multiple of that before the rise. 1 before it.
    pub fn factor_at(&self, place: usize) -> f64 {
        let level = self.levels.iter().rev().find(|level| place >= level.from);
        level.map_or(1.0, |level| self.times(level.mean))
    }

    fn times(&self, level: f64) -> f64 {
        if self.before > 0.0 { level / self.before } else { f64::INFINITY }
    }

    /// Where the series rises further.
    pub fn again(&self) -> Vec<usize> {
        let rises = self.levels.windows(2).filter(|pair| pair[1].mean > pair[0].mean);
        rises.map(|pair| pair[1].from).collect()
    }
}

/// The levels of a series. Each part of it is split where it changes the most, until no part changes.
fn levels(least: f64, values: &[f64]) -> Vec<Level> {
    let mut ends = vec![values.len()];
    let mut levels = Vec::new();
    let mut from = 0;
    while let Some(&to) = ends.last() {
        let part = &values[from..to];
        let shortest = if part.len() == values.len() { SHORTEST } else { SHORTEST_OF_SEVERAL };
        match change(least, shortest, part) {
            Some(split) => ends.push(from + split),
            None => {
                let middle = lower_median(&mut part.to_vec());
                levels.push(Level { from, mean: mean(part), middle });
                from = to;
                ends.pop();
            }
        }
    }
    levels
}

/// Where a series changes its level, if it does: the split with the largest gap in standard errors.
fn change(least: f64, shortest: usize, values: &[f64]) -> Option<usize> {
    let scale = mean(values);
    if scale <= 0.0 {
        return None;
    }
    let mut sums = Vec::with_capacity(values.len() + 1);
    sums.push((0.0, 0.0));
    for (at, value) in values.iter().enumerate() {
        let (value, (sum, squares)) = (value / scale, sums[at]);
        sums.push((sum + value, squares + value * value));
    }
    let level = |from: usize, to: usize| {
        let count = (to - from) as f64;
        let mean = (sums[to].0 - sums[from].0) / count;
        (mean, (sums[to].1 - sums[from].1 - count * mean * mean).max(0.0), count)
    };
    let at = |split: usize| {
        let ((low, one, before), (high, other, after)) = (level(0, split), level(split, values.len()));
        let spread = ((one + other) / (values.len() - 2) as f64).sqrt();
        let error = spread * (1.0 / before + 1.0 / after).sqrt();
        let gap = (high - low).abs();
        let sure = if error > 0.0 { gap / error } else { f64::INFINITY };
        (split, gap, sure)
    };
    (shortest..(values.len() + 1).saturating_sub(shortest))
        .map(at)
        .filter(|(_, gap, sure)| *gap >= least && *sure >= SURE)
        .max_by(|a, b| a.2.total_cmp(&b.2).then(b.0.cmp(&a.0)))
        .map(|(split, _, _)| split)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(levels: &[(usize, f64)]) -> Vec<f64> {
        let noise = |at: usize| 0.01 * ((at * 7919 % 13) as f64 / 13.0 - 0.5);
        let values = levels.iter().flat_map(|&(count, level)| std::iter::repeat_n(level, count));
        values.enumerate().map(|(at, level)| level + noise(at)).collect()
    }

    fn rise(levels: &[(usize, f64)]) -> Option<(usize, Vec<usize>)> {
        Rise::of(&series(levels)).map(|rise| (rise.at, rise.again()))
    }

    #[test]
    fn a_rise_is_permanent() {
        assert_eq!(rise(&[(40, 1.0)]), None);
        assert_eq!(rise(&[(17, 1.0), (23, 1.5)]), Some((17, vec![])));
        assert_eq!(rise(&[(12, 1.6), (8, 1.0)]), None);
        assert_eq!(rise(&[(10, 1.0), (10, 1.5), (10, 1.0)]), None);
        let from_nothing: Vec<f64> = (0..20).map(|at| if at < 12 { 0.0 } else { 3.0 }).collect();
        let rise = Rise::of(&from_nothing).expect("it rises");
        assert_eq!((rise.at, rise.before, rise.after), (12, 0.0, 3.0));
        assert_eq!(Rise::of(&[]), None);
        assert_eq!(Rise::of(&[1.0, 1.0, 1.0]), None);
        assert_eq!(Rise::of(&[1.0, 1.0, 1.5, 1.5]).map(|rise| rise.at), Some(2));
    }

    #[test]
    fn a_series_may_rise_several_times() {
        assert_eq!(rise(&[(10, 1.0), (30, 1.2), (20, 1.5)]), Some((10, vec![40])));
        assert_eq!(rise(&[(5, 1.0), (7, 20.0), (18, 1200.0)]), Some((5, vec![12])));
        // It recovers in part.
        assert_eq!(rise(&[(10, 1.0), (10, 1.8), (20, 1.3)]), Some((10, vec![])));
        // A single high value is no rise.
        let mut spike = series(&[(100, 1.0)]);
        spike[98] = 30.0;
        assert_eq!(Rise::of(&spike), None);
        // A slow start hides no rise.
        assert_eq!(rise(&[(5, 2.0), (20, 1.0), (20, 1.2)]), Some((25, vec![])));
        let twice = Rise::of(&series(&[(10, 1.0), (30, 1.2), (20, 1.5)])).expect("it rises");
        let factors = [9, 10, 39, 40, 59].map(|place| (10.0 * twice.factor_at(place)).round() / 10.0);
        assert_eq!(factors, [1.0, 1.2, 1.2, 1.5, 1.5]);
    }

    #[test]
    fn small_rises_count_where_they_are_asked_for() {
        let small = series(&[(20, 1.0), (20, 1.03)]);
        assert_eq!(Rise::of(&small), None);
        assert_eq!(Rise::of_at_least(0.02, &small).map(|rise| rise.at), Some(20));
    }
}
