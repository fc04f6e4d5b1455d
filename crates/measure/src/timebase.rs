//! Conversion from timer ticks to times since the start of a measurement.

use straggler_model::Time;

/// The start of a measurement and the rate of its timer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Timebase {
    /// The timer reading at the synchronised start.
    pub start_ticks: u64,
    pub ticks_per_second: f64,
}

/// A thread that measured, and the core it was pinned to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Worker {
    pub core: u32,
    /// The kernel's thread number.
    pub thread: i32,
}

impl Timebase {
    /// Converts a number of ticks to a duration.
    pub fn length(&self, ticks: u64) -> Time {
        // Ticks exceed the 53 bits of a double only after a month; a measurement takes minutes.
        Time((ticks as f64 * 1e12 / self.ticks_per_second).round() as u64)
    }

    /// Converts a reading to the time since the start; `None` before it.
    pub fn time(&self, ticks: u64) -> Option<Time> {
        ticks.checked_sub(self.start_ticks).map(|since| self.length(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_times() {
        let base = Timebase { start_ticks: 1000, ticks_per_second: 2e9 };
        assert_eq!(base.length(3), Time(1500));
        assert_eq!(base.time(1004), Some(Time(2000)));
        assert_eq!(base.time(999), None);
    }
}
