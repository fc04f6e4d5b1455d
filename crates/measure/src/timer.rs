//! Clocks that can be read in nanoseconds, and the checks before they are trusted.
//!
//! A [`Clock`] counts ticks. Kernels are generic over it: on this machine they read [`Native`], in tests a
//! simulated clock that takes no time. [`examine`] determines what a measurement must know of the real one:
//! whether its rate is constant ([`invariance`]), the rate (`calibration.rs`), the cost of a read and the size
//! of its steps. A timer must be calibrated the way it is used, and only the least overhead may be
//! subtracted, as Settlemyer et al. argue (*Diagnosing Anomalous Network Performance with Confidence*); here
//! every number has an error bar or a reason why it has none.

pub(crate) mod calibration;
#[cfg(target_arch = "aarch64")]
mod cntvct;
pub mod invariance;
mod raw;
#[cfg(test)]
pub(crate) mod simulated;
#[cfg(target_arch = "x86_64")]
mod tsc;

pub use calibration::{Calibration, CalibrationError};
#[cfg(target_arch = "aarch64")]
pub use cntvct::Cntvct;
pub use raw::{MonotonicRaw, raw_ns};
#[cfg(target_arch = "x86_64")]
pub use tsc::Tsc;

use straggler_model::provenance;

/// The clock that measurements read on this architecture.
#[cfg(target_arch = "x86_64")]
pub type Native = Tsc;
#[cfg(target_arch = "aarch64")]
pub type Native = Cntvct;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub type Native = MonotonicRaw;

/// A counter of ticks that never goes backwards on one core.
pub trait Clock {
    /// Its common name.
    const NAME: &'static str;

    /// The cheapest reading. The processor may move it by some instructions.
    fn now(&mut self) -> u64;

    /// A reading that stays between the code before and after it.
    fn fenced(&mut self) -> u64 {
        self.now()
    }
}

/// Reads the clock of this machine.
pub fn ticks() -> u64 {
    Native::default().now()
}

/// Number of reads, of which the best gives the cost of a read.
const READS: u32 = 20_000;

/// Examines the clock of this machine. Takes about a quarter of a second.
pub fn examine() -> Result<provenance::Timer, CalibrationError> {
    let mut clock = Native::default();
    // The core may be slow for a while; it is unlikely to be slow both before and after the calibration.
    let before = [costs(&mut clock, Clock::now), costs(&mut clock, Clock::fenced)];
    let calibration = Calibration::measure(&mut calibration::Here(&mut clock))?;
    let after = [costs(&mut clock, Clock::now), costs(&mut clock, Clock::fenced)];
    let bare = before[0].0.min(after[0].0);
    let granularity = before[0].1.min(after[0].1);
    let fenced = before[1].0.min(after[1].0);
    let ps = |ticks: f64| (ticks * 1e12 / calibration.ticks_per_second).round() as u64;
    Ok(provenance::Timer {
        name: Native::NAME.into(),
        not_invariant: invariance::doubts(),
        ticks_per_second: calibration.ticks_per_second,
        rate_error_ppm: calibration.error_ppm,
        overhead_ps: ps(bare),
        fenced_overhead_ps: ps(fenced),
        granularity_ps: ps(granularity as f64),
    })
}

/// Number of consecutive reads whose average is the cost of one. A single difference would be too small,
/// since the processor may overlap two neighbouring reads.
const IN_A_ROW: u32 = 64;

/// The cost of a reading in ticks, and the smallest step of the clock. Both are minima, so that interruptions
/// do not count.
fn costs<C: Clock>(clock: &mut C, read: impl Fn(&mut C) -> u64) -> (f64, u64) {
    let (mut least_row, mut least_step) = (u64::MAX, u64::MAX);
    for _ in 0..READS / IN_A_ROW {
        let first = read(clock);
        let mut last = first;
        for _ in 0..IN_A_ROW {
            let now = read(clock);
            if now > last {
                least_step = least_step.min(now - last);
            }
            last = now;
        }
        if last > first {
            least_row = least_row.min(last - first);
        }
    }
    let coarse = least_row == u64::MAX;
    if coarse { (1.0, 1) } else { (least_row as f64 / f64::from(IN_A_ROW), least_step) }
}

#[cfg(test)]
mod tests {
    use super::simulated::Simulated;
    use super::*;

    #[test]
    fn interruptions_do_not_count_as_cost() {
        let mut clock = Simulated::new(7).with_detour(100, 1000).with_detour(5000, 40);
        assert_eq!(costs(&mut clock, Clock::now), (7.0, 7));
    }

    #[test]
    fn the_clock_of_this_machine_is_known() {
        let timer = examine().unwrap();
        assert_eq!(timer.name, Native::NAME);
        assert!(timer.ticks_per_second > 1e6, "{timer:?}");
        assert!(timer.rate_error_ppm < 20.0, "{timer:?}");
        assert!(timer.overhead_ps > 0 && timer.overhead_ps < 10_000_000, "{timer:?}");
        assert!(timer.granularity_ps > 0, "{timer:?}");
    }
}
