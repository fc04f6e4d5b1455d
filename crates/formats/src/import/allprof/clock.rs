//! Aligns the clocks of the ranks with that of rank 0.
//!
//! After MPI_Init and before MPI_Finalize the tracer measured how far rank 0's clock was ahead of
//! this one. In between, the difference is assumed to grow linearly.

use super::log::Log;
use straggler_trace::Function;

/// A straight line through two differences of clocks, or a constant, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Alignment {
    /// When the first difference was measured, on the rank's own clock, and the time to the second measurement.
    from: i128,
    length: i128,
    first: i128,
    /// The increase from the first difference to the second.
    growth: i128,
}

impl Alignment {
    pub fn new(log: &Log) -> Alignment {
        let first = log.differences.first.unwrap_or(0);
        let constant = Alignment { first, ..Alignment::default() };
        let (Some(last), Some(begin), Some(end)) =
            (log.differences.last, moment(log, Function::Init), moment(log, Function::Finalize))
        else {
            return constant;
        };
        // A difference that grows as fast as time itself would reverse the order of calls.
        let (length, growth) = (end - begin, last - first);
        if length <= 0 || growth.abs() >= length {
            return constant;
        }
        Alignment { from: begin, length, first, growth }
    }

    pub fn apply(&self, moment: i128) -> i128 {
        let grown = match self.length {
            0 => 0,
            length => (moment - self.from).saturating_mul(self.growth).div_euclid(length),
        };
        moment.saturating_add(self.first).saturating_add(grown)
    }

    pub fn offset_ps(&self) -> i64 {
        i64::try_from(self.first).unwrap_or(if self.first < 0 { i64::MIN } else { i64::MAX })
    }

    pub fn drift_ppm(&self) -> f64 {
        if self.length == 0 { 0.0 } else { -self.growth as f64 / self.length as f64 * 1e6 }
    }
}

/// The moment at which a difference was measured: the end of MPI_Init or the beginning of MPI_Finalize.
fn moment(log: &Log, function: Function) -> Option<i128> {
    let same = |called: Function| called.class() == function.class();
    let at = log.rank.calls.iter().position(|call| same(call.function))?;
    let (enter, exit) = log.times.get(at)?;
    Some(if function == Function::Init { *exit } else { *enter })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_grow_evenly_between_the_two() {
        let line = Alignment { from: 1_000, length: 100, first: -50, growth: 10 };
        assert_eq!([1_000, 1_050, 1_100].map(|moment| line.apply(moment)), [950, 1_005, 1_060]);
        assert_eq!(line.apply(900), 840);
        assert_eq!(line.offset_ps(), -50);
        assert_eq!(line.drift_ppm(), -100_000.0, "it lost a tenth of its time");
        assert_eq!(Alignment::default().apply(7), 7);
    }
}
