//! The clock of the events and the timer of the measurement.

use crate::Timebase;

/// One instant on both clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// The timer before and after.
    pub ticks: (u64, u64),
    /// The clock of the events in between.
    pub event: u64,
}

impl Mark {
    /// Of marks (timer, events, timer) the one whose readings of the timer are closest.
    pub fn tightest(marks: impl Iterator<Item = (u64, u64, u64)>) -> Option<Mark> {
        let marks = marks.map(|(start, event, end)| Mark { ticks: (start, end), event });
        marks.min_by_key(|mark| mark.ticks.1.saturating_sub(mark.ticks.0))
    }

    fn middle(&self) -> u64 {
        self.ticks.0 + self.ticks.1.saturating_sub(self.ticks.0) / 2
    }

    /// Whether both clocks may be the same.
    fn same(&self) -> bool {
        (self.ticks.0..=self.ticks.1).contains(&self.event)
    }
}

/// The conversion from the clock of the events to the timer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tie {
    event: u64,
    ticks: u64,
    ticks_per_unit: f64,
    ticks_per_ns: f64,
}

impl Tie {
    pub fn new(before: Mark, after: Option<Mark>, timebase: &Timebase) -> Tie {
        let ticks_per_ns = timebase.ticks_per_second / 1e9;
        if before.same() && after.is_none_or(|after| after.same()) {
            return Tie { event: 0, ticks: 0, ticks_per_unit: 1.0, ticks_per_ns };
        }
        let rate = after.and_then(|after| {
            let events = after.event.checked_sub(before.event).filter(|&units| units > 0)?;
            let ticks = after.middle().checked_sub(before.middle())?;
            Some(ticks as f64 / events as f64)
        });
        // Clocks that do not count ticks count nanoseconds.
        let ticks_per_unit = rate.unwrap_or(ticks_per_ns);
        Tie { event: before.event, ticks: before.middle(), ticks_per_unit, ticks_per_ns }
    }

    /// The timer's reading at a time of the events' clock.
    pub fn ticks(&self, event: u64) -> u64 {
        if self.ticks_per_unit == 1.0 {
            return self.ticks.wrapping_add(event.wrapping_sub(self.event));
        }
        let since = |units: u64| (units as f64 * self.ticks_per_unit).round() as u64;
        match event.checked_sub(self.event) {
            Some(units) => self.ticks.saturating_add(since(units)),
            None => self.ticks.saturating_sub(since(self.event - event)),
        }
    }

    /// Units of the events' clock per nanosecond.
    pub fn units_per_ns(&self) -> f64 {
        self.ticks_per_ns / self.ticks_per_unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Timebase = Timebase { start_ticks: 0, ticks_per_second: 2e9 };

    fn mark(start: u64, event: u64, end: u64) -> Mark {
        Mark { ticks: (start, end), event }
    }

    #[test]
    fn one_clock_stays_as_it_is() {
        let tie = Tie::new(mark(100, 105, 110), Some(mark(900, 905, 910)), &BASE);
        assert_eq!((tie.ticks(u64::MAX), tie.ticks(3), tie.units_per_ns()), (u64::MAX, 3, 2.0));
    }

    #[test]
    fn two_clocks_are_tied_by_two_marks() {
        // Nanoseconds with another start; the timer actually runs at 2.2 GHz.
        let tie = Tie::new(mark(1000, 50_000, 1020), Some(mark(23_000, 60_000, 23_020)), &BASE);
        assert_eq!((tie.ticks(50_000), tie.ticks(55_000), tie.ticks(49_995)), (1010, 12_010, 999));
        assert!((tie.units_per_ns() - 2.0 / 2.2).abs() < 1e-12);
        // With one mark the nominal rate must do.
        let tie = Tie::new(mark(1000, 50_000, 1020), None, &BASE);
        assert_eq!(tie.ticks(50_010), 1030);
    }

    #[test]
    fn the_tightest_mark_counts() {
        let marks = [(0, 5, 100), (200, 210, 220), (300, 310, 330)];
        assert_eq!(Mark::tightest(marks.into_iter()), Some(mark(200, 210, 220)));
        assert_eq!(Mark::tightest(std::iter::empty()), None);
    }
}
