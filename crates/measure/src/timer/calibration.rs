//! Measures the ticks per second: compares the counter with CLOCK_MONOTONIC_RAW at two moments.
//!
//! The kernel's clock cannot be read at the same instant as the counter, only between two reads of it. Such a
//! bracket bounds the error: the true reading lies inside, so the midpoint is off by at most half its width.
//! Of many brackets at either end the tightest is kept; interruptions only widen others. The rate then lies
//! in an interval whose half width is
//!
//! ```text
//!   (width of first / 2 + width of last / 2) / ticks between   +   2 ns / time between
//! ```
//! The second term is the resolution of the kernel's clock. If the kernel derives that clock from the same
//! counter, as Linux does with clocksource `tsc`, the error bar shows how well the two agree; no program on
//! the machine can tell whether the kernel's own rate is right.

use super::{Clock, raw_ns};
use std::time::Duration;

/// Two clocks that can be compared.
pub trait Pair {
    fn ticks(&mut self) -> u64;
    fn reference_ns(&mut self) -> u64;
    /// Lets time pass between the two moments.
    fn wait(&mut self, duration: Duration);
}

/// A clock of this machine and the kernel's.
#[derive(Debug)]
pub struct Here<'a, C>(pub &'a mut C);

impl<C: Clock> Pair for Here<'_, C> {
    fn ticks(&mut self) -> u64 {
        self.0.fenced()
    }

    fn reference_ns(&mut self) -> u64 {
        raw_ns()
    }

    fn wait(&mut self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

/// The rate of a clock and its uncertainty.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Calibration {
    pub ticks_per_second: f64,
    /// Half the width of the interval that contains the rate, in parts per million.
    pub error_ppm: f64,
}

/// Why a clock has no usable rate.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum CalibrationError {
    #[error("the timer stands still or goes backwards: {ticks} ticks in {ns} ns of CLOCK_MONOTONIC_RAW")]
    StandsStill { ticks: i128, ns: i128 },
    #[error(
        "the rate of the timer is known only to {error_ppm:.0} ppm instead of {MOST_PPM}: the machine is too busy to \
         read two clocks together; try again"
    )]
    TooVague { error_ppm: f64 },
}

/// Brackets tried at either end.
const BRACKETS: u32 = 500;

/// Time between the two ends. Brackets of 100 ns then give half a part in a million.
const APART: Duration = Duration::from_millis(200);

/// A less certain rate is measured again, with more time between the ends, and finally refused.
const MOST_PPM: f64 = 20.0;
const ATTEMPTS: u32 = 3;

/// One reading of the reference clock between two of the counter.
#[derive(Clone, Copy)]
struct Bracket {
    before: u64,
    ns: u64,
    after: u64,
}

impl Bracket {
    fn width(self) -> u64 {
        self.after.saturating_sub(self.before)
    }

    /// Twice the midpoint, which is an integer.
    fn middle_doubled(self) -> i128 {
        i128::from(self.before) + i128::from(self.after)
    }
}

impl Calibration {
    pub fn measure(pair: &mut impl Pair) -> Result<Calibration, CalibrationError> {
        let first = tightest(pair);
        let mut wait = APART;
        let mut found = Err(CalibrationError::StandsStill { ticks: 0, ns: 0 });
        for _ in 0..ATTEMPTS {
            pair.wait(wait);
            found = between(first, tightest(pair));
            if found.is_ok() {
                break;
            }
            wait *= 2;
        }
        found
    }
}

fn tightest(pair: &mut impl Pair) -> Bracket {
    let mut best = Bracket { before: 0, ns: 0, after: u64::MAX };
    for _ in 0..BRACKETS {
        let bracket = Bracket { before: pair.ticks(), ns: pair.reference_ns(), after: pair.ticks() };
        if bracket.width() < best.width() {
            best = bracket;
        }
    }
    best
}

fn between(first: Bracket, last: Bracket) -> Result<Calibration, CalibrationError> {
    let ns = i128::from(last.ns) - i128::from(first.ns);
    let doubled = last.middle_doubled() - first.middle_doubled();
    if ns <= 0 || doubled <= 0 {
        return Err(CalibrationError::StandsStill { ticks: doubled / 2, ns });
    }
    let (ticks, ns) = (doubled as f64 / 2.0, ns as f64);
    // One more tick for the truncation of readings.
    let half_widths = (first.width() as f64 + last.width() as f64) / 2.0 + 1.0;
    let error_ppm = (half_widths / ticks + 2.0 / ns) * 1e6;
    if error_ppm > MOST_PPM {
        return Err(CalibrationError::TooVague { error_ppm });
    }
    Ok(Calibration { ticks_per_second: ticks * 1e9 / ns, error_ppm })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Time passes only by reading: each takes `cost` ps, and every `rare` reads one takes much longer.
    struct Clocks {
        ps: u128,
        ticks_per_second: u64,
        cost: u128,
        rare: u32,
        reads: u32,
    }

    impl Clocks {
        fn read(&mut self) -> u128 {
            self.reads += 1;
            let delay = if self.reads.is_multiple_of(self.rare) { 50_000_000 } else { 0 };
            self.ps += self.cost + delay;
            self.ps
        }
    }

    impl Pair for Clocks {
        fn ticks(&mut self) -> u64 {
            (self.read() * u128::from(self.ticks_per_second) / 1_000_000_000_000) as u64
        }

        fn reference_ns(&mut self) -> u64 {
            (self.read() / 1000) as u64
        }

        fn wait(&mut self, duration: Duration) {
            self.ps += duration.as_nanos() * 1000;
        }
    }

    proptest! {
        /// The truth lies inside the error bar, and the bar is short enough.
        #[test]
        fn the_error_bar_holds_the_truth(
            ticks_per_second in 100_000_000u64..6_000_000_000,
            cost in 5_000u64..200_000,
            rare in 5u32..50,
        ) {
            let mut pair = Clocks { ps: 1 << 50, ticks_per_second, cost: cost.into(), rare, reads: 0 };
            let found = Calibration::measure(&mut pair).unwrap();
            let truth = ticks_per_second as f64;
            let off_ppm = (found.ticks_per_second / truth - 1.0).abs() * 1e6;
            prop_assert!(off_ppm <= found.error_ppm, "{off_ppm} {found:?}");
            prop_assert!(found.error_ppm < MOST_PPM, "{found:?}");
        }
    }

    struct Broken(u64);

    impl Pair for Broken {
        fn ticks(&mut self) -> u64 {
            42
        }

        fn reference_ns(&mut self) -> u64 {
            self.0 += 30;
            self.0
        }

        fn wait(&mut self, duration: Duration) {
            self.0 += duration.as_nanos() as u64;
        }
    }

    #[test]
    fn a_clock_that_stands_still_is_refused() {
        assert!(matches!(Calibration::measure(&mut Broken(0)), Err(CalibrationError::StandsStill { .. })));
    }

    #[test]
    fn brackets_that_are_too_wide_are_refused() {
        let mut pair =
            Clocks { ps: 0, ticks_per_second: 1_000_000_000, cost: 40_000_000, rare: u32::MAX, reads: 0 };
        let found = Calibration::measure(&mut pair);
        assert!(matches!(found, Err(CalibrationError::TooVague { .. })), "{found:?}");
    }
}
