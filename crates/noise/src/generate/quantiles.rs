//! A distribution given by its quantiles, for measured durations that no formula fits.

use super::from_float;
use std::cmp::Ordering;
use straggler_model::Time;

/// Points (share, duration): that share of all detours is at most so long, with straight lines between the
/// points. Shares rise from 0 to 1, durations never fall.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantiles(Vec<(f64, Time)>);

/// Why points are not valid quantiles.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum QuantilesError {
    #[error("quantiles need at least two points, the shortest at 0 and the longest at 1: 0=1us,1=30us")]
    TooFew,
    #[error("quantiles go from 0 to 1, not from {first} to {last}: 0=1us,0.5=2us,1=30us")]
    Ends { first: f64, last: f64 },
    #[error("quantile {share} follows {before}: sort them by share, each once")]
    Shares { before: f64, share: f64 },
    #[error("quantile {share} is {duration}, shorter than the previous one, {before}")]
    Falls { share: f64, before: Time, duration: Time },
}

impl Quantiles {
    pub fn new(points: Vec<(f64, Time)>) -> Result<Quantiles, QuantilesError> {
        let (Some(first), Some(last), true) = (points.first(), points.last(), points.len() > 1) else {
            return Err(QuantilesError::TooFew);
        };
        if first.0 != 0.0 || last.0 != 1.0 {
            return Err(QuantilesError::Ends { first: first.0, last: last.0 });
        }
        for (&(before, shorter), &(share, duration)) in points.iter().zip(points.iter().skip(1)) {
            // NaN has no ordering and is refused, too.
            if share.partial_cmp(&before) != Some(Ordering::Greater) {
                return Err(QuantilesError::Shares { before, share });
            }
            if duration < shorter {
                return Err(QuantilesError::Falls { share, before: shorter, duration });
            }
        }
        Ok(Quantiles(points))
    }

    pub fn points(&self) -> &[(f64, Time)] {
        &self.0
    }

    /// The duration that `share` of all detours do not exceed.
    pub fn at(&self, share: f64) -> Time {
        let behind = self.0.partition_point(|point| point.0 < share);
        match (behind.checked_sub(1).and_then(|index| self.0.get(index)), self.0.get(behind)) {
            (Some(&(x, low)), Some(&(y, high))) => {
                low + from_float((high - low).ps() as f64 * ((share - x) / (y - x)))
            }
            (None, Some(&(_, end))) | (Some(&(_, end)), None) => end,
            (None, None) => Time::ZERO,
        }
    }

    /// The mean in picoseconds: every piece contributes its middle.
    pub fn mean_ps(&self) -> f64 {
        let pieces = self.0.iter().zip(self.0.iter().skip(1));
        pieces.map(|((x, low), (y, high))| (y - x) * (low.ps() as f64 + high.ps() as f64) / 2.0).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_lines_between_the_points() {
        let points = vec![(0.0, Time(100)), (0.5, Time(200)), (1.0, Time(1000))];
        let quantiles = Quantiles::new(points).unwrap();
        for (share, duration) in [(0.0, 100), (0.25, 150), (0.5, 200), (0.75, 600), (1.0, 1000)] {
            assert_eq!(quantiles.at(share), Time(duration), "{share}");
        }
        assert_eq!(quantiles.mean_ps(), 75.0 + 300.0);
    }
}
