//! Detects a series that rises at some step and stays high, or falls back later. Used for workers, stages, links, data loading
//! and delays.

use super::Change;
use crate::Job;
use crate::mean;
use straggler_model::stats::lower_median;

/// The minimum change, as a share of the mean.
const CHANGE: f64 = 0.05;
/// The minimum change, in standard errors.
const SURE: f64 = 6.0;
/// The minimum length of a level: a single step is not a level, and in a series with several levels, neither are two or three.
const SHORTEST: usize = 2;
const SHORTEST_OF_SEVERAL: usize = 4;
/// A stretch of higher values has at least this many values, and differs from the others by this many standard
/// errors: more than `SURE`, because there are many stretches to choose from.
const SHORTEST_STRETCH: usize = 3;
const SURE_OF_STRETCH: f64 = 8.0;
/// A single value is a spike if it is this many times as high as its neighbours.
const SPIKE: f64 = 2.0;
/// Stretches are not searched for in longer series.
const LONGEST_SERIES: usize = 1_000;

/// A rise of a series: for good, or for a stretch. Later values may rise further and fall again, but not back to the level before
/// until the end of the stretch.
#[derive(Clone, PartialEq, Debug)]
pub struct Rise {
    /// The index of the first higher value.
    pub at: usize,
    /// The index of the last higher value, if the series falls back to the level before.
    pub until: Option<usize>,
    /// The mean of the values that are not higher, and of those that are.
    pub before: f64,
    pub after: f64,
    /// The levels from the rise on.
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
    /// The significant rise of a series, if it has one: a permanent one, or else a stretch.
    pub fn new(values: &[f64]) -> Option<Rise> {
        Rise::permanent(CHANGE, values).or_else(|| Rise::stretch(values))
    }

    /// The permanent rise of a series by at least this share.
    pub fn permanent(least: f64, values: &[f64]) -> Option<Rise> {
        let values = &without_spikes(values);
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
        Some(Rise { at, until: None, before, after: mean(&values[at..]), levels: levels[first..].to_vec() })
    }

    /// The stretch of values that are higher than all others, neither at the beginning nor at the end of the series:
    /// the one with the largest gap in standard errors.
    fn stretch(values: &[f64]) -> Option<Rise> {
        let values = &without_spikes(values);
        let count = values.len();
        let scale = mean(values);
        if scale <= 0.0 || count > LONGEST_SERIES {
            return None;
        }
        let sums = Sums::new(values, scale);
        let last = count.saturating_sub(SHORTEST);
        let begins = SHORTEST..last;
        let all = begins.flat_map(|from| (from + SHORTEST_STRETCH..=last).map(move |to| (from, to)));
        let gap = |(from, to): (usize, usize)| {
            let inside = (to - from) as f64;
            let (high, squares) = sums.part(from, to);
            let (sum, all_squares) = sums.part(0, count);
            let outside = count as f64 - inside;
            let (within, others) = (high / inside, (sum - high) / outside);
            let rest = squares - high * within + (all_squares - squares) - (sum - high) * others;
            let spread = (rest.max(0.0) / (count - 2) as f64).sqrt();
            let error = spread * (1.0 / inside + 1.0 / outside).sqrt();
            let gap = within - others;
            let sure = if error > 0.0 { gap / error } else { f64::INFINITY };
            // The values on both sides must be low.
            let is_low =
                |from: usize, to: usize| sums.part(from, to).0 / ((to - from) as f64) < others + gap / 2.0;
            let is_stretch = gap >= CHANGE * others && is_low(0, from) && is_low(to, count);
            (is_stretch && sure >= SURE_OF_STRETCH).then_some((sure, from, to))
        };
        let best = all.filter_map(gap).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let (_, from, to) = best?;
        let outside = [&values[..from], &values[to..]].concat();
        let (before, after) = (mean(&outside), mean(&values[from..to]));
        let middle = |values: &[f64]| lower_median(&mut values.to_vec());
        let level = Level { from, mean: after, middle: middle(&values[from..to]) };
        let is_higher = level.middle > (1.0 + CHANGE / 2.0) * middle(&outside);
        is_higher.then(|| Rise { at: from, until: Some(to - 1), before, after, levels: vec![level] })
    }

    /// The same rise with another end.
    pub fn until(self, until: Option<usize>) -> Rise {
        Rise { until, ..self }
    }

    /// The rise of a series of times in picoseconds.
    pub fn change(&self, job: &Job) -> Change {
        Change {
            since_step: job.steps[self.at].number,
            until_step: self.until.map(|last| job.steps[last].number),
            seconds: self.after / 1e12,
            otherwise_seconds: self.before / 1e12,
        }
    }

    /// The numbers of the first and, if it fell back, the last step.
    pub fn steps(&self, job: &Job) -> (Option<i64>, Option<i64>) {
        (Some(job.steps[self.at].number), self.until.map(|last| job.steps[last].number))
    }

    /// The mean after the rise, as a multiple of that before.
    pub fn factor(&self) -> f64 {
        self.times(self.after)
    }

    /// The level of a value given by its index, as a multiple of that before the rise. 1 if it is not higher.
    pub fn factor_at(&self, place: usize) -> f64 {
        let is_over = self.until.is_some_and(|last| place > last);
        let level = self.levels.iter().rev().find(|level| place >= level.from && !is_over);
        level.map_or(1.0, |level| self.times(level.mean))
    }

    fn times(&self, level: f64) -> f64 {
        if self.before > 0.0 { level / self.before } else { f64::INFINITY }
    }

    /// The share of all excess over the level before that the rise explains: little, if a single value is far higher.
    pub fn share_of(&self, values: &[f64]) -> f64 {
        let last = self.until.unwrap_or(values.len().saturating_sub(1));
        let more: f64 = values[self.at..=last].iter().map(|value| (value - self.before).max(0.0)).sum();
        let all: f64 = values.iter().map(|value| (value - self.before).max(0.0)).sum();
        if all > 0.0 { more / all } else { 0.0 }
    }

    /// Indices at which the series rises further.
    pub fn again(&self) -> Vec<usize> {
        let rises = self.levels.windows(2).filter(|pair| pair[1].mean > pair[0].mean);
        rises.map(|pair| pair[1].from).collect()
    }
}

/// Lowers single values that are far above both neighbours, such as a step with a checkpoint, to the higher
/// neighbour: they would hide the levels of the series.
fn without_spikes(values: &[f64]) -> Vec<f64> {
    let count = values.len();
    if count < SHORTEST_OF_SEVERAL {
        return values.to_vec();
    }
    let around = |at: usize| match at {
        0 => values[1].max(values[2]),
        _ if at + 1 == count => values[count - 2].max(values[count - 3]),
        _ => values[at - 1].max(values[at + 1]),
    };
    let calm = |at: usize| Some(around(at)).filter(|&around| around > 0.0 && values[at] > SPIKE * around);
    (0..count).map(|at| calm(at).unwrap_or(values[at])).collect()
}

/// The last of several ends; `None` if one of them does not end.
pub fn last_end(ends: impl Iterator<Item = Option<usize>>) -> Option<usize> {
    ends.collect::<Option<Vec<usize>>>()?.into_iter().max()
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

/// By index: the sums of the values before it and of their squares, relative to a scale.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn new(values: &[f64], scale: f64) -> Sums {
        let mut sums = Vec::with_capacity(values.len() + 1);
        sums.push((0.0, 0.0));
        for (at, value) in values.iter().enumerate() {
            let (value, (sum, squares)) = (value / scale, sums[at]);
            sums.push((sum + value, squares + value * value));
        }
        Sums(sums)
    }

    fn part(&self, from: usize, to: usize) -> (f64, f64) {
        let (low, high) = (self.0[from], self.0[to]);
        (high.0 - low.0, high.1 - low.1)
    }
}

/// Where a series changes its level, if it does: the split with the largest gap in standard errors.
fn change(least: f64, shortest: usize, values: &[f64]) -> Option<usize> {
    let scale = mean(values);
    if scale <= 0.0 {
        return None;
    }
    let sums = Sums::new(values, scale);
    let level = |from: usize, to: usize| {
        let count = (to - from) as f64;
        let (sum, squares) = sums.part(from, to);
        let mean = sum / count;
        (mean, (squares - count * mean * mean).max(0.0), count)
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
        Rise::new(&series(levels)).map(|rise| (rise.at, rise.again()))
    }

    #[test]
    fn a_rise_is_permanent() {
        assert_eq!(rise(&[(40, 1.0)]), None);
        assert_eq!(rise(&[(17, 1.0), (23, 1.5)]), Some((17, vec![])));
        assert_eq!(rise(&[(12, 1.6), (8, 1.0)]), None);
        let from_nothing: Vec<f64> = (0..20).map(|at| if at < 12 { 0.0 } else { 3.0 }).collect();
        let rise = Rise::new(&from_nothing).expect("it rises");
        assert_eq!((rise.at, rise.before, rise.after), (12, 0.0, 3.0));
        assert_eq!(Rise::new(&[]), None);
        assert_eq!(Rise::new(&[1.0, 1.0, 1.0]), None);
        assert_eq!(Rise::new(&[1.0, 1.0, 1.5, 1.5]).map(|rise| rise.at), Some(2));
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
        assert_eq!(Rise::new(&spike), None);
        // Nor does it hide one.
        let mut spike = series(&[(40, 1.0), (40, 1.3)]);
        spike[60] = 8.0;
        spike[0] = 3.0;
        assert_eq!(Rise::new(&spike).map(|rise| (rise.at, rise.until)), Some((40, None)));
        // A slow start hides no rise.
        assert_eq!(rise(&[(5, 2.0), (20, 1.0), (20, 1.2)]), Some((25, vec![])));
        let twice = Rise::new(&series(&[(10, 1.0), (30, 1.2), (20, 1.5)])).expect("it rises");
        let factors = [9, 10, 39, 40, 59].map(|place| (10.0 * twice.factor_at(place)).round() / 10.0);
        assert_eq!(factors, [1.0, 1.2, 1.2, 1.5, 1.5]);
    }

    #[test]
    fn a_series_may_fall_back() {
        let stretch = |levels: &[(usize, f64)]| {
            Rise::new(&series(levels))
                .map(|rise| (rise.at, rise.until, (10.0 * rise.factor()).round() / 10.0))
        };
        assert_eq!(stretch(&[(10, 1.0), (10, 1.5), (10, 1.0)]), Some((10, Some(19), 1.5)));
        assert_eq!(stretch(&[(5, 1.0), (7, 2.0), (8, 1.0)]), Some((5, Some(11), 2.0)));
        // Lower for a stretch is no rise, nor is a single high value.
        assert_eq!(stretch(&[(10, 1.0), (10, 0.5), (10, 1.0)]).filter(|rise| rise.1.is_some()), None);
        assert_eq!(stretch(&[(10, 1.0), (1, 9.0), (10, 1.0)]), None);
        let rise = Rise::new(&series(&[(5, 1.0), (7, 2.0), (8, 1.0)])).expect("it rises");
        let factors = [4, 5, 11, 12].map(|place| (10.0 * rise.factor_at(place)).round() / 10.0);
        assert_eq!(factors, [1.0, 2.0, 2.0, 1.0]);
    }

    #[test]
    fn a_rise_beside_a_high_value_explains_little() {
        let mut values = series(&[(20, 1.0), (20, 2.0)]);
        let share = |values: &[f64]| Rise::new(values).expect("it rises").share_of(values);
        assert!(share(&values) > 0.95);
        values[3] = 100.0;
        assert!(share(&values) < 0.2);
    }

    #[test]
    fn small_rises_count_where_they_are_asked_for() {
        let small = series(&[(20, 1.0), (20, 1.03)]);
        assert_eq!(Rise::new(&small), None);
        assert_eq!(Rise::permanent(0.02, &small).map(|rise| rise.at), Some(20));
    }
}
