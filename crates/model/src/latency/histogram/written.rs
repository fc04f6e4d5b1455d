//! The file form of a histogram: its layout, its totals, and its nonempty bins.

use super::{Histogram, Totals};
use crate::latency::{Bins, BinsError};
use serde::{Deserialize, Serialize};
use std::num::{IntErrorKind, ParseIntError};

/// Sums are strings, because they may have more digits than JSON readers accept.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    bins: Bins,
    count: u64,
    underflow: u64,
    overflow: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    min_ps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    max_ps: Option<u64>,
    sum_ps: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    sum_of_squares_ps2: Option<String>,
    /// Where a bin begins, in ps, and its count.
    counts: Vec<(u64, u64)>,
}

/// Why a histogram in a file is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WrittenError {
    #[error("bins: {0}")]
    Bins(#[from] BinsError),
    #[error("counts: no bin of the layout {bins} begins at {low} ps")]
    NoEdge { bins: Bins, low: u64 },
    #[error("counts: the bin at {low} ps is out of order")]
    Order { low: u64 },
    #[error("{field}: `{text}` is not a whole number")]
    Number { field: &'static str, text: String },
    #[error("{field}: `{text}` does not fit into 128 bits")]
    TooLarge { field: &'static str, text: String },
    #[error("{0}")]
    Contradiction(&'static str),
}

impl From<Histogram> for Written {
    fn from(histogram: Histogram) -> Written {
        let totals = histogram.totals;
        Written {
            bins: histogram.bins,
            count: totals.count,
            underflow: totals.underflow,
            overflow: totals.overflow,
            min_ps: histogram.min().map(|time| time.ps()),
            max_ps: histogram.max().map(|time| time.ps()),
            sum_ps: totals.sum.to_string(),
            sum_of_squares_ps2: totals.sum_of_squares.map(|sum| sum.to_string()),
            counts: histogram.iter().map(|bin| (bin.low.ps(), bin.count)).collect(),
        }
    }
}

impl TryFrom<Written> for Histogram {
    type Error = WrittenError;

    fn try_from(written: Written) -> Result<Histogram, WrittenError> {
        let mut histogram = Histogram::new(written.bins.checked()?);
        let mut last = None;
        for &(low, count) in &written.counts {
            if last.is_some_and(|last| low <= last) {
                return Err(WrittenError::Order { low });
            }
            last = Some(low);
            histogram.put(low, count)?;
        }
        histogram.totals = Totals {
            underflow: written.underflow,
            overflow: written.overflow,
            count: written.count,
            min: written.min_ps.unwrap_or(u64::MAX),
            max: written.max_ps.unwrap_or(0),
            sum: number("sum_ps", &written.sum_ps)?,
            sum_of_squares: written
                .sum_of_squares_ps2
                .map(|text| number("sum_of_squares_ps2", &text))
                .transpose()?,
        };
        match histogram.contradiction() {
            Some(what) => Err(WrittenError::Contradiction(what)),
            None => Ok(histogram),
        }
    }
}

fn number(field: &'static str, text: &str) -> Result<u128, WrittenError> {
    text.parse().map_err(|fault: ParseIntError| match fault.kind() {
        IntErrorKind::PosOverflow => WrittenError::TooLarge { field, text: text.into() },
        _ => WrittenError::Number { field, text: text.into() },
    })
}

impl Histogram {
    fn put(&mut self, low: u64, count: u64) -> Result<(), WrittenError> {
        let position = self.finder.position(low).filter(|&position| self.finder.low(position).ps() == low);
        let Some(position) = position else { return Err(WrittenError::NoEdge { bins: self.bins, low }) };
        if self.counts.len() <= position {
            self.counts.resize(position + 1, 0);
        }
        self.counts[position] = count;
        Ok(())
    }

    /// Returns a contradiction among the numbers, which no real histogram has.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        let Totals { underflow, overflow, count, min, max, sum, .. } = self.totals;
        let binned = self.counts.iter().try_fold(0u64, |sum, &count| sum.checked_add(count));
        let all = binned.and_then(|sum| sum.checked_add(underflow)?.checked_add(overflow));
        if self.counts.len() > self.bins.count() {
            return Some("counts: there are more entries than bins");
        }
        if all != Some(count) {
            return Some("count: it is not the sum of counts, underflow and overflow");
        }
        if count == 0 {
            let is_new = (min, max, sum) == (u64::MAX, 0, 0);
            return (!is_new).then_some("count: it is 0, but there are times");
        }
        if min > max {
            return Some("min_ps: it is larger than max_ps");
        }
        let (least, most) = (u128::from(min) * u128::from(count), u128::from(max) * u128::from(count));
        if !(least..=most).contains(&sum) {
            return Some("sum_ps: it contradicts count, min_ps and max_ps");
        }
        if self.squares_contradict() {
            return Some("sum_of_squares_ps2: it contradicts count, sum_ps and max_ps");
        }
        self.ends_contradict()
    }

    /// Checks the sum of squares. It is least if every time is the mean, rounded down or up, and most if
    /// every time is 0 or the maximum.
    fn squares_contradict(&self) -> bool {
        let Totals { count, max, sum, sum_of_squares: Some(squares), .. } = self.totals else { return false };
        let (count, max) = (u128::from(count), u128::from(max));
        let (mean, above) = (sum / count, sum % count);
        let least = || {
            let all = mean.checked_mul(mean)?.checked_mul(count)?;
            all.checked_add(above.checked_mul(2 * mean + 1)?)
        };
        // A lower bound that overflows 128 bits exceeds any sum that fits.
        least().is_none_or(|least| squares < least) || sum.checked_mul(max).is_some_and(|most| squares > most)
    }

    /// Checks that the minimum and maximum lie in the first and last nonempty bin.
    fn ends_contradict(&self) -> Option<&'static str> {
        let Totals { underflow, overflow, min, max, .. } = self.totals;
        let first = self.counts.iter().position(|&count| count > 0);
        let last = self.counts.iter().rposition(|&count| count > 0);
        if underflow > 0 && min > 0 {
            return Some("min_ps: it is not 0, but there is underflow");
        }
        if underflow == 0 && self.finder.position(min) != first {
            return Some("min_ps: it does not lie in the first nonempty bin");
        }
        let outside = self.finder.position(max).is_none();
        if (overflow > 0) != outside {
            return Some("max_ps: it contradicts overflow");
        }
        if overflow == 0 && last.is_some() && self.finder.position(max) != last {
            return Some("max_ps: it does not lie in the last nonempty bin");
        }
        (overflow == 0 && last.is_none() && max > 0).then_some("max_ps: all is underflow, but it is not 0")
    }
}
