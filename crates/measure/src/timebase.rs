//! From ticks of a timer to times since the start of a measurement.

use straggler_model::Time;

/// Where a measurement began and how fast its timer runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Timebase {
    /// What the timer said at the synchronised start.
    pub start_ticks: u64,
    pub ticks_per_second: f64,
}

/// A thread that measured, and the core it was pinned to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Worker {
    pub core: u32,
    /// As the kernel numbers it.
    pub thread: i32,
}

impl Timebase {
    /// A number of ticks as a length of time.
    pub fn length(&self, ticks: u64) -> Time {
        // A u64 of ticks needs more than the 53 bits of a double after a month; a measurement takes minutes.
        Time((ticks as f64 * 1e12 / self.ticks_per_second).round() as u64)
    }

    /// A reading as time since the start; nothing before it.
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
