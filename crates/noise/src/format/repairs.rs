//! Repairs made to the detours of a file.

use straggler_model::Time;

/// Counts of repairs; all zero for a sound file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize)]
pub struct Repairs {
    /// Rows that follow a row with a later start.
    pub sorted: u64,
    /// Detours joined with an earlier one that had not ended.
    pub overlaps_merged: u64,
    /// Detours that start before an earlier one has ended, kept unchanged.
    pub overlaps_kept: u64,
    /// Rows dropped because of a negative number.
    pub negative_dropped: u64,
    /// Whether the stated length is rounded and ends before the last detour, so that the trace ends with that
    /// detour instead.
    pub length_extended: bool,
}

/// What to do with detours that start before an earlier one has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Overlaps {
    /// Merge them into one detour from the first start to the last end, so that noise time is counted once.
    #[default]
    Merge,
    /// Keep them: the simulated noise adds all durations.
    Keep,
}

impl Repairs {
    /// Warnings for the user, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut say = |count: u64, one: &str, many: &str, rest: &str| {
            if count > 0 {
                warnings.push(format!("{count} {}{rest}", if count == 1 { one } else { many }));
            }
        };
        let rest = " negative and ignored";
        say(self.negative_dropped, "row is", "rows are", rest);
        say(self.sorted, "row was", "rows were", " out of order: sorted");
        let rest = " before the previous one ended";
        let merged = format!("{rest}: merged with it");
        say(self.overlaps_merged, "detour starts", "detours start", &merged);
        let kept = format!("{rest}; the model continues with the later one");
        say(self.overlaps_kept, "detour starts", "detours start", &kept);
        if self.length_extended {
            warnings.push(
                "the stated measurement period is rounded and ends before the last detour; the trace ends with the \
                 last detour"
                    .into(),
            );
        }
        warnings
    }

    /// Adds the repairs of another file.
    pub fn and(self, other: Repairs) -> Repairs {
        Repairs {
            sorted: self.sorted + other.sorted,
            overlaps_merged: self.overlaps_merged + other.overlaps_merged,
            overlaps_kept: self.overlaps_kept + other.overlaps_kept,
            negative_dropped: self.negative_dropped + other.negative_dropped,
            length_extended: self.length_extended || other.length_extended,
        }
    }
}

/// Sorts by `start` and returns the number of rows that followed one with a later start.
pub(super) fn sort<T>(rows: &mut [T], start: impl Fn(&T) -> Time) -> u64 {
    let mut latest = Time::ZERO;
    let mut misplaced = 0;
    for row in rows.iter() {
        misplaced += u64::from(start(row) < latest);
        latest = latest.max(start(row));
    }
    if misplaced > 0 {
        // Stable: rows of one start keep the order of the file.
        rows.sort_by_key(start);
    }
    misplaced
}

/// Merges or counts the overlaps in a sorted list of starts and durations.
pub(super) fn overlaps(rows: Vec<(Time, Time)>, what: Overlaps, repairs: &mut Repairs) -> Vec<(Time, Time)> {
    let mut list: Vec<(Time, Time)> = Vec::with_capacity(rows.len());
    let mut busy_until = Time::ZERO;
    for (start, duration) in rows {
        let overlap = start < busy_until;
        busy_until = busy_until.max(start + duration);
        match (what, list.last_mut()) {
            (Overlaps::Merge, Some(last)) if overlap => {
                last.1 = busy_until.since(last.0);
                repairs.overlaps_merged += 1;
            }
            _ => {
                repairs.overlaps_kept += u64::from(overlap);
                list.push((start, duration));
            }
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(list: &[(u64, u64)]) -> Vec<(Time, Time)> {
        list.iter().map(|&(start, duration)| (Time(start), Time(duration))).collect()
    }

    #[test]
    fn what_overlaps_is_joined_or_kept() {
        let rows = times(&[(5, 10), (7, 1), (14, 4), (18, 2), (100, 10)]);
        let mut repairs = Repairs::default();
        let joined = overlaps(rows.clone(), Overlaps::Merge, &mut repairs);
        assert_eq!(joined, times(&[(5, 13), (18, 2), (100, 10)]));
        assert_eq!(repairs, Repairs { overlaps_merged: 2, ..Repairs::default() });
        let mut repairs = Repairs::default();
        assert_eq!(overlaps(rows.clone(), Overlaps::Keep, &mut repairs), rows);
        assert_eq!(repairs, Repairs { overlaps_kept: 2, ..Repairs::default() });
    }

    #[test]
    fn rows_out_of_place_are_counted() {
        let mut rows = times(&[(5, 1), (9, 1), (7, 1), (8, 1), (9, 2)]);
        assert_eq!(sort(&mut rows, |row| row.0), 2);
        assert_eq!(rows, times(&[(5, 1), (7, 1), (8, 1), (9, 1), (9, 2)]));
        assert_eq!(sort(&mut rows, |row| row.0), 0);
    }

    #[test]
    fn repairs_are_counted_in_words() {
        let repairs = Repairs { sorted: 1, overlaps_kept: 2, negative_dropped: 3, ..Repairs::default() };
        let expected = [
            "3 rows are negative and ignored",
            "1 row was out of order: sorted",
            "2 detours start before the previous one ended; the model continues with the later one",
        ];
        assert_eq!(repairs.warnings(), expected);
        assert_eq!(repairs.and(repairs).sorted, 2);
        assert!(Repairs::default().warnings().is_empty());
    }
}
