//! How often an operation took how long.

mod written;

use super::MergeError;
use super::bins::{Bins, Finder, octave_position};
use crate::Time;
use serde::{Deserialize, Serialize};
use std::fmt;
use written::Written;

/// Counts of times in bins, with exact totals. Number, minimum, maximum, sum and sum of squares are those of the
/// times themselves; quantiles and higher moments are known to the width of a bin.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Histogram {
    bins: Bins,
    finder: Finder,
    /// Grown on demand; missing entries at the end are 0.
    counts: Vec<u64>,
    totals: Totals,
}

/// Exact totals over all times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Totals {
    /// Samples shorter than the timer's own cost, which would be negative once it is subtracted. They count
    /// as 0.
    underflow: u64,
    /// Beyond the last bin.
    overflow: u64,
    count: u64,
    min: u64,
    max: u64,
    sum: u128,
    /// `None` once it overflows.
    sum_of_squares: Option<u128>,
}

impl Default for Totals {
    fn default() -> Totals {
        Totals { underflow: 0, overflow: 0, count: 0, min: u64::MAX, max: 0, sum: 0, sum_of_squares: Some(0) }
    }
}

impl Totals {
    #[inline(always)]
    fn add(&mut self, ps: u64) {
        self.count += 1;
        self.min = self.min.min(ps);
        self.max = self.max.max(ps);
        self.sum += u128::from(ps);
        let square = u128::from(ps) * u128::from(ps);
        self.sum_of_squares = self.sum_of_squares.and_then(|sum| sum.checked_add(square));
    }

    fn merge(&mut self, other: &Totals) {
        self.underflow += other.underflow;
        self.overflow += other.overflow;
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        let sums = self.sum_of_squares.zip(other.sum_of_squares);
        self.sum_of_squares = sums.and_then(|(one, other)| one.checked_add(other));
    }
}

/// Times in `low..high`. The very last bin ends at [`Time::NEVER`] and includes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bin {
    pub low: Time,
    pub high: Time,
    pub count: u64,
}

/// Inclusive bounds on an exact value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    #[serde(rename = "low_ps")]
    pub low: Time,
    #[serde(rename = "high_ps")]
    pub high: Time,
}

impl Bounds {
    pub fn middle(self) -> Time {
        Time(self.low.ps() + (self.high.ps() - self.low.ps()) / 2)
    }
}

/// A bound on a time that lies outside the bins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Outside {
    /// Shorter than the timer's cost, and so shorter than any time in a bin.
    #[serde(rename = "below_ps")]
    Below(Time),
    /// Beyond the last bin.
    #[serde(rename = "above_ps")]
    Above(Time),
}

impl Outside {
    pub fn bound(self) -> Time {
        let (Outside::Below(bound) | Outside::Above(bound)) = self;
        bound
    }
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outside::Below(bound) => f.pad(&format!("< {bound}")),
            Outside::Above(bound) => f.pad(&format!("> {bound}")),
        }
    }
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new(Bins::default())
    }
}

/// Equal layouts, counts and totals.
impl PartialEq for Histogram {
    fn eq(&self, other: &Histogram) -> bool {
        self.bins == other.bins && self.totals == other.totals && self.used() == other.used()
    }
}

impl Eq for Histogram {}

impl Histogram {
    pub fn new(bins: Bins) -> Histogram {
        Histogram { bins, finder: Finder::new(bins), counts: Vec::new(), totals: Totals::default() }
    }

    /// Creates a histogram that never allocates again.
    pub fn preallocated(bins: Bins) -> Histogram {
        let mut histogram = Histogram::new(bins);
        // Written, not only reserved: page faults during the measurement would be measured too.
        histogram.counts = (0..bins.count()).map(|_| std::hint::black_box(0)).collect();
        histogram
    }

    pub fn bins(&self) -> Bins {
        self.bins
    }

    #[inline(always)]
    pub fn record(&mut self, time: Time) {
        self.totals.add(time.ps());
        match self.finder.position(time.ps()) {
            Some(position) => match self.counts.get_mut(position) {
                Some(count) => *count += 1,
                None => self.grow(position),
            },
            None => self.totals.overflow += 1,
        }
    }

    /// Records many times. Faster per time than [`Histogram::record`]: totals stay in registers, and the kind
    /// of layout is matched once.
    pub fn record_all(&mut self, times: &[Time]) {
        let mut totals = self.totals;
        times.iter().for_each(|time| totals.add(time.ps()));
        self.totals = totals;
        let counts = &mut self.counts[..];
        let mut rest = 0;
        match &self.finder {
            Finder::Octaves { bits } => {
                for time in times {
                    match counts.get_mut(octave_position(*bits, time.ps())) {
                        Some(count) => *count += 1,
                        None => rest += 1,
                    }
                }
            }
            finder => {
                for time in times {
                    match finder.position(time.ps()).map(|position| counts.get_mut(position)) {
                        Some(Some(count)) => *count += 1,
                        Some(None) => rest += 1,
                        None => self.totals.overflow += 1,
                    }
                }
            }
        }
        if rest > 0 {
            self.grow_for(times);
        }
    }

    /// Grows the counts and counts the times that did not fit before.
    #[cold]
    #[inline(never)]
    fn grow_for(&mut self, times: &[Time]) {
        let known = self.counts.len();
        let positions = times.iter().filter_map(|time| self.finder.position(time.ps()));
        let new: Vec<usize> = positions.filter(|&position| position >= known).collect();
        self.counts.resize(new.iter().max().map_or(known, |last| last + 1), 0);
        new.into_iter().for_each(|position| self.counts[position] += 1);
    }

    /// Records a time that became negative when the timer's cost was subtracted.
    #[inline(always)]
    pub fn record_underflow(&mut self) {
        self.totals.add(0);
        self.totals.underflow += 1;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, position: usize) {
        self.counts.resize(position + 1, 0);
        self.counts[position] += 1;
    }

    /// Adds the contents of another histogram of the same layout.
    pub fn merge(&mut self, other: &Histogram) -> Result<(), MergeError> {
        if self.bins != other.bins {
            return Err(MergeError::Layouts { first: self.bins, second: other.bins });
        }
        // Only the count can overflow: every other number is at most the count, or the count times the
        // longest time.
        if self.totals.count.checked_add(other.totals.count).is_none() {
            return Err(MergeError::TooMany);
        }
        let used = other.used();
        if self.counts.len() < used.len() {
            self.counts.resize(used.len(), 0);
        }
        self.counts.iter_mut().zip(used).for_each(|(count, more)| *count += more);
        self.totals.merge(&other.totals);
        Ok(())
    }

    /// Forgets all times and keeps its memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.totals = Totals::default();
    }

    /// Counts without the zeros at the end.
    fn used(&self) -> &[u64] {
        let used = self.counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        &self.counts[..used]
    }

    pub fn count(&self) -> u64 {
        self.totals.count
    }

    pub fn is_empty(&self) -> bool {
        self.totals.count == 0
    }

    /// Number of times shorter than the timer's cost, which was subtracted.
    pub fn underflow(&self) -> u64 {
        self.totals.underflow
    }

    /// Times beyond the last bin.
    pub fn overflow(&self) -> u64 {
        self.totals.overflow
    }

    pub fn min(&self) -> Option<Time> {
        (!self.is_empty()).then_some(Time(self.totals.min))
    }

    pub fn max(&self) -> Option<Time> {
        (!self.is_empty()).then_some(Time(self.totals.max))
    }

    /// The exact sum of all times, in ps.
    pub fn sum_ps(&self) -> u128 {
        self.totals.sum
    }

    /// The exact mean, in ps.
    pub fn mean_ps(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.totals.sum as f64 / self.totals.count as f64)
    }

    /// The sample variance, in ps², from exact sums; `None` for fewer than two times, or if the sum of
    /// squares overflowed.
    pub fn variance_ps2(&self) -> Option<f64> {
        let (count, sum) = (u128::from(self.totals.count), self.totals.sum);
        let squares = self.totals.sum_of_squares.filter(|_| count > 1)?;
        // n Σx² - (Σx)² in integers; in floating point if that overflows.
        let exact = squares.checked_mul(count).zip(sum.checked_mul(sum)).map(|(a, b)| a.saturating_sub(b));
        let scaled = match exact {
            Some(scaled) => scaled as f64 / count as f64,
            None => (squares as f64 - sum as f64 / count as f64 * sum as f64).max(0.0),
        };
        Some(scaled / (count - 1) as f64)
    }

    /// The nonempty bins, in order, without under- and overflow.
    pub fn iter(&self) -> impl Iterator<Item = Bin> + '_ {
        let filled = self.used().iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(position, &count)| self.bin(position, count))
    }

    fn bin(&self, position: usize, count: u64) -> Bin {
        Bin { low: self.finder.low(position), high: self.finder.low(position + 1), count }
    }

    /// Bounds on the smallest time with at least a share `q` of all times at or below it: those of its bin,
    /// tightened by the minimum and maximum.
    pub fn quantile(&self, q: f64) -> Option<Bounds> {
        if self.is_empty() {
            return None;
        }
        let rank = (q.clamp(0.0, 1.0) * self.count() as f64).ceil() as u64;
        Some(self.at_rank(rank.clamp(1, self.count())))
    }

    /// Bounds on the time at `rank` (from 1) in sorted order.
    pub fn at_rank(&self, rank: u64) -> Bounds {
        let (min, max) = (Time(self.totals.min), Time(self.totals.max));
        let mut seen = self.totals.underflow;
        if rank <= seen || rank <= 1 {
            return Bounds { low: min, high: min };
        }
        if rank >= self.count() {
            return Bounds { low: max, high: max };
        }
        for bin in self.iter() {
            seen += bin.count;
            if rank <= seen {
                let last = if bin.high == Time::NEVER { bin.high } else { Time(bin.high.ps() - 1) };
                return Bounds { low: bin.low.clamp(min, max), high: last.clamp(min, max) };
            }
        }
        Bounds { low: self.finder.low(self.bins.count()).clamp(min, max), high: max }
    }

    /// Where the last bin ends.
    pub fn end(&self) -> Time {
        self.finder.low(self.bins.count())
    }

    /// The bound of a quantile that lies outside the bins; `None` if [`Histogram::quantile`] gives it.
    pub fn outside(&self, q: f64) -> Option<Outside> {
        let rank = (q.clamp(0.0, 1.0) * self.count() as f64).ceil() as u64;
        self.outside_at(rank.clamp(1, self.count().max(1)))
    }

    /// As [`Histogram::outside`], for the time at `rank`. The longest time is known exactly wherever it lies.
    pub fn outside_at(&self, rank: u64) -> Option<Outside> {
        if rank <= self.totals.underflow {
            let first = self.used().iter().position(|&count| count > 0).unwrap_or(0);
            return Some(Outside::Below(self.finder.low(first + 1)));
        }
        let is_beyond = rank > self.count() - self.totals.overflow && rank < self.count();
        is_beyond.then(|| Outside::Above(self.end()))
    }
}

#[cfg(test)]
mod tests;
