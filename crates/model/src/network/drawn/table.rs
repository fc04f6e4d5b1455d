//! A distribution as a look-up table for random numbers.

use super::{DrawnError, Measured, Weighted};
use crate::Time;

/// A distribution of times. Larger random numbers give larger times, so two distributions sampled with the
/// same numbers can be compared draw by draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Sorted by time. Each entry covers the random numbers up to its `last`.
    entries: Vec<Entry>,
    /// Indexed by the leading bits of a random number: the first entry that can cover it.
    guide: Vec<u32>,
    /// How far to shift a random number to get its index in `guide`.
    shift: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    last: u64,
    time: Time,
}

/// The longest plausible time.
const DAY: Time = Time(86_400_000_000_000_000);

impl Table {
    /// The most distinct times in one table.
    pub const MOST: usize = 1 << 24;

    pub(super) fn of_measured(measured: &Measured, class: &str) -> Result<Table, DrawnError> {
        let class = || class.to_owned();
        if let Some(&(time, _)) = measured.times.iter().find(|(time, _)| *time > DAY) {
            return Err(DrawnError::TooLong { class: class(), time });
        }
        let times = merged(&measured.times).ok_or_else(|| DrawnError::TooOften { class: class() })?;
        if times.is_empty() {
            return Err(DrawnError::Empty { class: class() });
        }
        if times.len() > Table::MOST {
            return Err(DrawnError::TooMany { class: class(), distinct: times.len() });
        }
        Ok(Table::of_merged(&times))
    }

    /// A table that always returns the same time.
    pub fn constant(time: Time) -> Table {
        Table::of_merged(&[(time, 1)])
    }

    /// Builds a table from distinct times in ascending order, with weights above 0 whose sum is below 2^64.
    fn of_merged(times: &[Weighted]) -> Table {
        let total: u64 = times.iter().map(|(_, weight)| weight).sum();
        let mut below = 0u64;
        let mut entries: Vec<Entry> = Vec::with_capacity(times.len());
        for &(time, weight) in times {
            below += weight;
            // The last random number in the entry's share of 2^64.
            let last = ((u128::from(below) << 64) / u128::from(total.max(1))).saturating_sub(1);
            entries.push(Entry { last: u64::try_from(last).unwrap_or(u64::MAX), time });
        }
        Table::of_entries(entries)
    }

    fn of_entries(entries: Vec<Entry>) -> Table {
        let bits = entries.len().next_power_of_two().ilog2();
        let shift = 64 - bits.max(1);
        let mut guide = Vec::with_capacity(1 << bits.max(1));
        let mut place = 0;
        for cell in 0..1u64 << bits.max(1) {
            while entries[place].last < cell << shift {
                place += 1;
            }
            guide.push(place as u32);
        }
        Table { entries, guide, shift }
    }

    /// Returns the time for a random number.
    #[inline(always)]
    pub fn at(&self, random: u64) -> Time {
        let mut place = self.guide[(random >> self.shift) as usize] as usize;
        while self.entries[place].last < random {
            place += 1;
        }
        self.entries[place].time
    }

    pub fn smallest(&self) -> Time {
        self.entries[0].time
    }

    pub fn median(&self) -> Time {
        self.at((1 << 63) - 1)
    }

    pub fn largest(&self) -> Time {
        self.entries[self.entries.len() - 1].time
    }

    /// Number of distinct times.
    pub fn distinct(&self) -> usize {
        self.entries.len()
    }

    /// The share of times below this one.
    pub(super) fn share_below(&self, time: Time) -> f64 {
        let below = self.entries.partition_point(|entry| entry.time < time);
        below.checked_sub(1).map_or(0.0, |place| self.entries[place].last as f64 / u64::MAX as f64)
    }

    /// Subtracts a time from every entry, stopping at 0.
    pub(super) fn without(&self, time: Time) -> Table {
        let mut entries = self.entries.clone();
        entries.iter_mut().for_each(|entry| entry.time = entry.time.since(time));
        // Keep only the last of the entries that became 0: it covers the numbers of all of them.
        entries.reverse();
        entries.dedup_by_key(|entry| entry.time);
        entries.reverse();
        Table::of_entries(entries)
    }
}

/// Merges equal times, sorts them, and drops those of weight 0; `None` if the sum of the weights overflows.
fn merged(times: &[Weighted]) -> Option<Vec<Weighted>> {
    let mut sorted: Vec<Weighted> = times.iter().copied().filter(|(_, weight)| *weight > 0).collect();
    sorted.sort_unstable_by_key(|(time, _)| *time);
    sorted.iter().try_fold(0u64, |sum, (_, weight)| sum.checked_add(*weight))?;
    sorted.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            earlier.1 += later.1;
        }
        same
    });
    Some(sorted)
}
