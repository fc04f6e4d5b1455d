//! The progress of every task: which replicas are finished, which are running, and when there are enough.

use super::{Batch, Plan, Task};
use std::ops::Range;
use straggler_model::Time;
use straggler_model::stats::{quantile_interval_of_sorted, quantile_of_sorted};
use straggler_model::study::{PointResult, Results};

use straggler_model::stats::CONFIDENCE;

/// The number of replicas at the first check whether there are enough; later checks come at twice the number.
const FIRST_CHECK: u32 = 16;

/// Marks missing values. No run takes this long, because engines refuse it.
const MISSING: Time = Time::NEVER;

/// The progress of all tasks of a plan.
#[derive(Debug)]
pub struct Tracks {
    tracks: Vec<Track>,
}

#[derive(Debug)]
struct Track {
    values: Vec<Time>,
    /// Replicas below this are finished or handed out.
    next: u32,
    /// Replicas handed out and not yet returned.
    open: u32,
    /// Replicas wanted up to the next check.
    target: u32,
    replicas: u32,
    until_ci: Option<f64>,
    finished: bool,
    micros: u64,
}

/// The number of replicas at the next check; none if `values`, all so far, are enough. The numbers are fixed, so the
/// final number of replicas depends only on the results.
pub fn checkpoint_after(values: &[Time], replicas: u32, until_ci: Option<f64>) -> Option<u32> {
    let count = values.len() as u32;
    if count >= replicas {
        return None;
    }
    let Some(width) = until_ci else { return Some(replicas) };
    if count > 0 && is_narrow(values, width) {
        return None;
    }
    Some(count.saturating_mul(2).max(FIRST_CHECK).min(replicas))
}

/// Whether the width of the median's interval is at most this share of the median.
fn is_narrow(values: &[Time], width: f64) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let median = quantile_of_sorted(&sorted, 0.5);
    let interval = quantile_interval_of_sorted(&sorted, 0.5, CONFIDENCE);
    median
        .zip(interval)
        .is_some_and(|(median, (low, high))| high.since(low).ps() as f64 <= width * median.ps() as f64)
}

impl Track {
    fn new(task: &Task) -> Track {
        Track {
            values: Vec::new(),
            next: 0,
            open: 0,
            target: 0,
            replicas: task.replicas,
            until_ci: task.until_ci,
            finished: false,
            micros: 0,
        }
    }

    fn is_there(&self, replica: u32) -> bool {
        self.values.get(replica as usize).is_some_and(|&value| value != MISSING)
    }

    /// Stores results. Duplicate replicas have equal values; those beyond the requested number are dropped.
    fn put(&mut self, first: u32, values: &[Time]) {
        if first >= self.replicas {
            return;
        }
        let values = values.iter().take(self.replicas.saturating_sub(first) as usize);
        let end = first as usize + values.len();
        if self.values.len() < end {
            self.values.resize(end, MISSING);
        }
        if let Some(slots) = self.values.get_mut(first as usize..end) {
            slots.iter_mut().zip(values).for_each(|(slot, &value)| *slot = value);
        }
    }

    /// Moves on to the next check once all replicas up to this one are finished.
    fn settle(&mut self) {
        while !self.finished
            && self.open == 0
            && (self.next..self.target).all(|replica| self.is_there(replica))
        {
            let so_far = self.values.get(..self.target as usize).unwrap_or(&[]);
            match checkpoint_after(so_far, self.replicas, self.until_ci) {
                Some(target) => (self.next, self.target) = (self.target, target),
                None => self.finished = true,
            }
        }
    }

    fn missing(&self) -> u32 {
        (self.next..self.target).filter(|&replica| !self.is_there(replica)).count() as u32
    }

    /// The next range of up to `most` replicas that are neither finished nor handed out.
    fn take(&mut self, most: u32) -> Option<Range<u32>> {
        while self.next < self.target && self.is_there(self.next) {
            self.next += 1;
        }
        let limit = self.next.saturating_add(most).min(self.target);
        let end = (self.next..limit).find(|&replica| self.is_there(replica)).unwrap_or(limit);
        let range = self.next..end;
        self.next = end;
        self.open += range.len() as u32;
        (!range.is_empty()).then_some(range)
    }
}

impl Tracks {
    /// The progress before the first run.
    pub fn new(plan: &Plan) -> Tracks {
        let mut tracks: Vec<Track> = plan.tasks.iter().map(Track::new).collect();
        tracks.iter_mut().for_each(Track::settle);
        Tracks { tracks }
    }

    /// Adds earlier results from a journal.
    pub fn restore(&mut self, batches: &[Batch]) {
        for batch in batches {
            if let Some(track) = self.tracks.get_mut(batch.task as usize) {
                track.put(batch.first, &batch.makespans);
                track.micros = track.micros.saturating_add(batch.micros);
            }
        }
        self.tracks.iter_mut().for_each(Track::settle);
    }

    pub(super) fn take(&mut self, task: usize, most: u32) -> Option<Range<u32>> {
        self.tracks.get_mut(task)?.take(most)
    }

    /// Stores the results of a range that was handed out.
    pub(super) fn give(&mut self, batch: &Batch) {
        if let Some(track) = self.tracks.get_mut(batch.task as usize) {
            track.put(batch.first, &batch.makespans);
            track.open = track.open.saturating_sub(batch.makespans.len() as u32);
            track.micros = track.micros.saturating_add(batch.micros);
            track.settle();
        }
    }

    /// Replicas not handed out, some of which may be finished.
    pub(super) fn left(&self, task: usize) -> u32 {
        self.tracks.get(task).map_or(0, |track| track.target.saturating_sub(track.next))
    }

    /// Unfinished replicas that are wanted and not handed out.
    pub fn missing(&self, task: usize) -> u32 {
        self.tracks.get(task).map_or(0, Track::missing)
    }

    /// Upper limit on the replicas that may still run.
    pub fn at_most(&self, task: usize) -> u32 {
        let Some(track) = self.tracks.get(task).filter(|track| !track.finished) else { return 0 };
        (0..track.replicas).filter(|&replica| !track.is_there(replica)).count() as u32
    }

    pub fn is_finished(&self) -> bool {
        self.tracks.iter().all(|track| track.finished)
    }

    /// Computing time of a task in seconds, over all sessions.
    pub fn seconds(&self, task: usize) -> f64 {
        self.tracks.get(task).map_or(0.0, |track| track.micros as f64 * 1e-6)
    }

    /// The results of all points; none if anything is missing.
    pub fn results(&self, plan: &Plan) -> Option<Results> {
        let values = |task: usize| {
            let track = self.tracks.get(task).filter(|track| track.finished)?;
            track.values.get(..track.target as usize)
        };
        let point = |point: &super::Point| {
            let quiet = *values(point.quiet)?.first()?;
            let makespans = values(point.task)?.to_vec();
            Some(PointResult { point: point.coordinates.clone(), quiet, makespans })
        };
        Some(Results { points: plan.points.iter().map(point).collect::<Option<_>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn track(replicas: u32, until_ci: Option<f64>) -> Track {
        let mut track = Track {
            values: Vec::new(),
            next: 0,
            open: 0,
            target: 0,
            replicas,
            until_ci,
            finished: false,
            micros: 0,
        };
        track.settle();
        track
    }

    fn value(replica: u32) -> Time {
        Time(1000 + u64::from(replica) * 7919 % 100)
    }

    #[test]
    fn checks_come_at_fixed_numbers() {
        let narrow = vec![Time(1000); 40];
        let wide: Vec<Time> = (0..40).map(|value| Time(1000 * value)).collect();
        assert_eq!(checkpoint_after(&[], 100, Some(0.1)), Some(16));
        assert_eq!(checkpoint_after(&[], 10, Some(0.1)), Some(10));
        assert_eq!(checkpoint_after(&[], 100, None), Some(100));
        assert_eq!(checkpoint_after(&narrow[..16], 100, Some(0.1)), None);
        assert_eq!(checkpoint_after(&wide[..16], 100, Some(0.1)), Some(32));
        assert_eq!(checkpoint_after(&wide[..32], 40, Some(0.1)), Some(40));
        assert_eq!(checkpoint_after(&wide, 40, Some(0.1)), None);
        // The interval is from the 4th to the 13th of 16 values, as in tables of the sign test: from 3 to 12 around a
        // median of 7.
        assert_eq!(checkpoint_after(&wide[..16], 100, Some(9.0 / 7.0)), None);
        let just_less = 8.9 / 7.0;
        assert_eq!(checkpoint_after(&wide[..16], 100, Some(just_less)), Some(32));
    }

    proptest! {
        /// Whatever is finished at the start and however the rest is divided, every replica runs once, and the result
        /// is the same.
        #[test]
        fn every_replica_once(
            there in prop::collection::vec((0u32..90, 1u32..20), 0..8),
            sizes in prop::collection::vec(1u32..20, 1..10),
            width in prop::option::of(0.001f64..0.2),
        ) {
            let mut plain = track(80, width);
            while let Some(range) = plain.take(80) {
                plain.put(range.start, &range.clone().map(value).collect::<Vec<_>>());
                plain.open = 0;
                plain.settle();
            }
            let mut other = track(80, width);
            let mut seen = std::collections::HashSet::new();
            for (first, count) in there {
                let range = first..first + count;
                other.put(first, &range.clone().map(value).collect::<Vec<_>>());
                seen.extend(range.filter(|&replica| replica < 80));
            }
            other.settle();
            for size in sizes.iter().cycle() {
                let missing = other.missing();
                let Some(range) = other.take(*size) else { break };
                prop_assert_eq!(other.missing(), missing - range.len() as u32);
                for replica in range.clone() {
                    prop_assert!(seen.insert(replica), "{} twice", replica);
                }
                other.put(range.start, &range.clone().map(value).collect::<Vec<_>>());
                other.open = 0;
                other.settle();
            }
            prop_assert!(plain.finished && other.finished);
            prop_assert_eq!(plain.target, other.target);
            prop_assert_eq!(&plain.values[..plain.target as usize], &other.values[..plain.target as usize]);
        }
    }
}
