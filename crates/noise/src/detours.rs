//! A noise trace with an index over its time: look-ups take constant time on average.

use straggler_model::Time;

/// Detours sorted by start, repeating after `length`.
///
/// The index cuts the length into about as many equal slots as there are detours; `slots[i]` is the
/// first detour that starts at or after the beginning of slot i. A look-up reads one slot and walks
/// the few detours in it. `before[i]` sums the durations of the detours in front of detour i, so
/// that an interval over many detours costs two look-ups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detours {
    starts: Vec<u64>,
    /// One longer than `starts`.
    before: Vec<u64>,
    length: u64,
    slots: Vec<u32>,
    slot_shift: u32,
}

/// The arrays of [`Detours`]; its documentation says what they hold.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    pub starts: &'a [u64],
    pub before: &'a [u64],
    pub slots: &'a [u32],
    pub slot_shift: u32,
}

/// Why a list of detours is not a valid noise trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DetoursError {
    #[error("detour {index} starts at {start} ps, before the previous one: sort the trace by start time")]
    Unsorted { index: usize, start: u64 },
    #[error("detour {index} starts at {start} ps, after the stated length of the trace, {length} ps")]
    BeyondLength { index: usize, start: u64, length: u64 },
    #[error("the trace has detours, but its length is 0: state the measurement period")]
    NoLength,
    #[error("the sum of the durations exceeds the range of simulated time (213 days)")]
    TooLong,
    #[error("{count} detours are too many: a trace holds at most 4,294,967,295")]
    TooMany { count: usize },
}

impl Detours {
    /// `length` is the stated measurement period, else the end of the last detour.
    pub fn new(detours: &[(Time, Time)], length: Option<Time>) -> Result<Detours, DetoursError> {
        let count = detours.len();
        if u32::try_from(count).is_err() {
            return Err(DetoursError::TooMany { count });
        }
        let mut starts = Vec::with_capacity(count);
        let mut before = Vec::with_capacity(count + 1);
        before.push(0);
        let (mut sum, mut end) = (0u64, 0u64);
        for (index, &(Time(start), Time(duration))) in detours.iter().enumerate() {
            if starts.last().is_some_and(|&last| start < last) {
                return Err(DetoursError::Unsorted { index, start });
            }
            sum = sum.checked_add(duration).ok_or(DetoursError::TooLong)?;
            end = end.max(start.checked_add(duration).ok_or(DetoursError::TooLong)?);
            starts.push(start);
            before.push(sum);
        }
        let length = length.map_or(end, Time::ps);
        if let Some((index, &start)) = starts.iter().enumerate().find(|&(_, &start)| start >= length) {
            return Err(match length {
                0 => DetoursError::NoLength,
                _ => DetoursError::BeyondLength { index, start, length },
            });
        }
        let (slots, slot_shift) = index_slots(&starts, length);
        Ok(Detours { starts, before, length, slots, slot_shift })
    }

    pub fn length(&self) -> Time {
        Time(self.length)
    }

    pub fn len(&self) -> usize {
        self.starts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (Time, Time)> + '_ {
        (0..self.len()).map(|i| (Time(self.starts[i]), Time(self.duration(i))))
    }

    /// The sum of all durations.
    pub fn total(&self) -> Time {
        Time(self.before[self.len()])
    }

    /// The trace and its index as flat arrays, for engines that look things up themselves.
    pub fn columns(&self) -> Columns<'_> {
        Columns {
            starts: &self.starts,
            before: &self.before,
            slots: &self.slots,
            slot_shift: self.slot_shift,
        }
    }

    /// The share of its length that the trace takes from a CPU.
    pub fn share(&self) -> f64 {
        if self.length == 0 { 0.0 } else { self.before[self.len()] as f64 / self.length as f64 }
    }

    fn duration(&self, index: usize) -> u64 {
        self.before[index + 1] - self.before[index]
    }

    /// Counts the detours that start at or before `position`, which lies inside the length.
    fn started_by(&self, position: u64) -> usize {
        let mut index = self.slots[(position >> self.slot_shift) as usize] as usize;
        while index < self.starts.len() && self.starts[index] <= position {
            index += 1;
        }
        index
    }

    /// The remainder, at `position` of the endless repetition, of the detour that started last.
    fn residual(&self, position: u64, started: usize) -> u64 {
        let within = position % self.length;
        let (start, duration) = match started.checked_sub(1) {
            Some(last) => (self.starts[last], self.duration(last)),
            // The last detour of the previous turn, unless this is the first turn.
            None if position >= self.length => {
                let last = self.len() - 1;
                let end = self.starts[last] + self.duration(last);
                return end.saturating_sub(within + self.length);
            }
            None => return 0,
        };
        (start + duration).saturating_sub(within)
    }

    /// noise(a, b) of the model for positions `x <= y` of the endless repetition.
    pub fn between(&self, x: u64, y: u64) -> Time {
        if self.is_empty() {
            return Time::ZERO;
        }
        let started_x = self.started_by(x % self.length);
        let residual = self.residual(x, started_x);
        if y <= x {
            return Time(residual);
        }
        // Detours that start in (x, y) are those started by y - 1 less those started by x.
        let last = y - 1;
        let started_y = self.started_by(last % self.length);
        let turns = last / self.length - x / self.length;
        let whole = u128::from(turns) * u128::from(self.before[self.len()])
            + u128::from(self.before[started_y])
            - u128::from(self.before[started_x]);
        Time(u64::try_from(whole + u128::from(residual)).unwrap_or(u64::MAX))
    }

    /// If no detour is in progress at `position`, the position where the next one starts.
    pub fn quiet_from(&self, position: u64) -> Option<u64> {
        if self.is_empty() {
            return Some(u64::MAX);
        }
        let within = position % self.length;
        let started = self.started_by(within);
        if self.residual(position, started) > 0 {
            return None;
        }
        let turn = position - within;
        Some(match self.starts.get(started) {
            Some(&start) => turn.saturating_add(start),
            None => turn.saturating_add(self.length).saturating_add(self.starts[0]),
        })
    }
}

fn index_slots(starts: &[u64], length: u64) -> (Vec<u32>, u32) {
    let wanted = (starts.len() as u64).clamp(1, 1 << 22);
    let mut shift = 0;
    while (length >> shift) > wanted {
        shift += 1;
    }
    let count = (length >> shift) as usize + 1;
    let mut slots = Vec::with_capacity(count);
    let mut index = 0;
    for slot in 0..count as u64 {
        while index < starts.len() && starts[index] < slot << shift {
            index += 1;
        }
        slots.push(index as u32);
    }
    (slots, shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The model's definition, applied literally to an unrolled trace.
    fn by_definition(detours: &[(u64, u64)], length: u64, x: u64, y: u64) -> u64 {
        let turns = y / length + 1;
        let unrolled: Vec<(u64, u64)> =
            (0..=turns).flat_map(|turn| detours.iter().map(move |&(s, d)| (s + turn * length, d))).collect();
        let in_progress = unrolled.iter().rfind(|&&(s, _)| s <= x);
        let left = in_progress.map_or(0, |&(s, d)| (s + d).saturating_sub(x));
        left + unrolled.iter().filter(|&&(s, _)| s > x && s < y).map(|&(_, d)| d).sum::<u64>()
    }

    fn build(detours: &[(u64, u64)], length: u64) -> Detours {
        let list: Vec<_> = detours.iter().map(|&(s, d)| (Time(s), Time(d))).collect();
        Detours::new(&list, Some(Time(length))).unwrap()
    }

    proptest! {
        #[test]
        fn equals_the_definition(
            mut starts in prop::collection::vec(0u64..1000, 1..40),
            durations in prop::collection::vec(0u64..60, 40),
            x in 0u64..4000,
            span in 0u64..3000,
        ) {
            starts.sort_unstable();
            let detours: Vec<_> = starts.into_iter().zip(durations).collect();
            let trace = build(&detours, 1000);
            prop_assert_eq!(trace.between(x, x + span).ps(), by_definition(&detours, 1000, x, x + span));
        }

        #[test]
        fn quiet_means_no_noise(
            mut starts in prop::collection::vec(0u64..1000, 1..10),
            durations in prop::collection::vec(1u64..60, 10),
            x in 0u64..3000,
        ) {
            starts.sort_unstable();
            starts.dedup();
            let detours: Vec<_> = starts.into_iter().zip(durations).collect();
            let trace = build(&detours, 1000);
            match trace.quiet_from(x) {
                None => prop_assert!(trace.between(x, x) > Time::ZERO),
                Some(next) => {
                    prop_assert_eq!(trace.between(x, next), Time::ZERO);
                    prop_assert!(trace.between(x, next + 1) > Time::ZERO);
                }
            }
        }
    }

    #[test]
    fn refuses_what_is_no_trace() {
        let t = |s, d| (Time(s), Time(d));
        assert_eq!(
            Detours::new(&[t(5, 1), t(4, 1)], None),
            Err(DetoursError::Unsorted { index: 1, start: 4 })
        );
        assert_eq!(
            Detours::new(&[t(5, 1)], Some(Time(5))),
            Err(DetoursError::BeyondLength { index: 0, start: 5, length: 5 })
        );
        assert_eq!(Detours::new(&[t(0, 0)], None), Err(DetoursError::NoLength));
        assert_eq!(Detours::new(&[t(0, u64::MAX), t(1, 1)], None), Err(DetoursError::TooLong));
    }
}
