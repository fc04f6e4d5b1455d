//! The tight loop of Hoefler et al. (SC10, section II): reads the clock, compares with the previous reading,
//! and records iterations longer than a threshold.
//!
//! ```text
//!  assess ─► t_min, threshold ─► block ─► settle ─► block ─► settle ─► …
//!                                  │        └ the block's own speed; detours are kept or taken back
//!                                  └ two comparisons an iteration: longer than the threshold? block over?
//! ```
//! As in the paper, t_min is assessed in a separate step, so that the loop need not track it, and the
//! threshold is 9·t_min unless given, which excludes the cache misses of recording. The paper does not deal
//! with cores whose speed changes: there a single t_min turns every iteration of a slow phase into a detour.
//! So time is cut into blocks, and `settle` judges each one by its own speed.

mod settle;

use super::{Profile, Seen, Span, Threshold, has_room, touched};
use crate::timer::Clock;
use settle::Book;
use straggler_model::Time;

/// The default threshold as a multiple of t_min, as in the paper.
pub const FACTOR: f64 = 9.0;

/// Length of a block: short compared with the tens of milliseconds of a slow phase, long compared with the
/// time to settle it.
pub const BLOCK: Time = Time::from_ns(250_000);

/// An iteration longer than the threshold that has not been judged yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Long {
    pub start: u64,
    pub ticks: u64,
    /// Its number in the run, from 1.
    pub iteration: u64,
}

/// Parameters of the loop, in ticks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    pub threshold: u64,
    pub t_min: u64,
    pub block: u64,
    /// Number of detours that are kept. Of further ones only the number and total time are.
    pub capacity: usize,
}

/// Why the loop cannot measure with the given threshold.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
#[error("the threshold of {threshold} ticks is not above the {t_min} ticks of an undisturbed iteration")]
pub struct ThresholdTooLow {
    pub threshold: u64,
    pub t_min: u64,
}

impl Settings {
    /// `ticks` turns a time into ticks.
    pub fn new(
        threshold: Threshold,
        t_min: u64,
        capacity: usize,
        ticks: impl Fn(Time) -> u64,
    ) -> Result<Settings, ThresholdTooLow> {
        let threshold = match threshold {
            Threshold::Factor(factor) => (factor * t_min as f64).round() as u64,
            Threshold::Time(time) => ticks(time),
        };
        if threshold <= t_min {
            return Err(ThresholdTooLow { threshold, t_min });
        }
        let block = ticks(BLOCK).max(2 * threshold).max(1);
        Ok(Settings { threshold, t_min, block, capacity })
    }
}

/// The least time of an iteration until `deadline`: the separate step of the paper.
pub fn assess<C: Clock>(clock: &mut C, deadline: u64) -> u64 {
    let mut least = u64::MAX;
    let mut previous = clock.now();
    while previous < deadline {
        let now = clock.now();
        // A coarse clock may stand still between two reads.
        if now > previous {
            least = least.min(now - previous);
        }
        previous = now;
    }
    if least == u64::MAX { 1 } else { least }
}

/// The loop and its memory, which is allocated before the measurement.
#[derive(Debug)]
pub struct Kernel {
    settings: Settings,
    book: Book,
    staged: Vec<Long>,
}

impl Kernel {
    pub fn new(settings: Settings) -> Kernel {
        // Every long iteration takes more than the threshold, so that a block cannot have more than this; a
        // few may be left over from the block before.
        let most = settings.block / settings.threshold.max(1) + 2 + settle::MANY as u64 * 2;
        Kernel { settings, book: Book::new(&settings), staged: touched(most as usize) }
    }

    /// Runs the loop until `deadline` to warm up caches and branch predictors, and to learn the best speed.
    /// Discards the findings.
    pub fn warm_up<C: Clock>(&mut self, clock: &mut C, deadline: u64) {
        let start = clock.now();
        self.go(clock, start, deadline, &mut |_| false);
        self.book.restart();
    }

    /// Measures from `start`, which is about now, until `deadline`, or until `enough` returns true for the
    /// number of detours found.
    pub fn run<C: Clock>(
        mut self,
        clock: &mut C,
        start: u64,
        deadline: u64,
        mut enough: impl FnMut(u64) -> bool,
    ) -> Seen {
        let (end, iterations) = self.go(clock, start, deadline, &mut enough);
        let Settings { t_min, threshold, .. } = self.settings;
        Seen { start, end, t_min, threshold, iterations, ..self.book.close() }
    }

    fn go<C: Clock>(
        &mut self,
        clock: &mut C,
        start: u64,
        deadline: u64,
        enough: &mut dyn FnMut(u64) -> bool,
    ) -> (u64, u64) {
        let (mut begin, mut iterations) = (start, 0);
        loop {
            let (fresh, before, threshold) = (self.staged.len(), iterations, self.book.threshold());
            let block_end = begin.saturating_add(self.block_length()).min(deadline);
            let last = block(clock, begin, block_end, threshold, &mut iterations, &mut self.staged);
            let over = last >= deadline;
            let block = settle::Block { start: begin, end: last, iterations: iterations - before, fresh };
            let judged = self.staged.len();
            self.book.settle(&mut self.staged, block, iterations, over);
            if over || enough(self.book.found()) {
                if !over {
                    self.book.settle_rest(&mut self.staged);
                }
                return (last, iterations);
            }
            // A settling time above the usual was a detour, too.
            let after = clock.now();
            iterations += 1;
            if let Some(ticks) = self.book.settled_in(after.saturating_sub(last), judged) {
                self.stage(Long { start: last, ticks, iteration: iterations });
            }
            begin = after;
        }
    }

    /// Limits the block to what the free memory can hold: every long iteration takes more than the threshold,
    /// which may have decreased since the memory was allocated.
    fn block_length(&self) -> u64 {
        let free = (self.staged.capacity() - self.staged.len()).saturating_sub(2).max(1) as u64;
        self.settings.block.min(free.saturating_mul(self.book.threshold()))
    }

    fn stage(&mut self, long: Long) {
        if has_room(&self.staged) {
            self.staged.push(long);
        }
    }
}

/// Runs one block, staging iterations longer than the threshold. Returns the last reading.
///
/// Nothing else happens in here: the counter, the two comparisons and the copy of a register hide behind the
/// latency of reading the clock. Both branches are taken so rarely that they are predicted correctly.
#[inline(never)]
fn block<C: Clock>(
    clock: &mut C,
    begin: u64,
    end: u64,
    threshold: u64,
    iterations: &mut u64,
    staged: &mut Vec<Long>,
) -> u64 {
    let mut previous = begin;
    let mut iteration = *iterations;
    loop {
        let now = clock.now();
        let ticks = now.wrapping_sub(previous);
        iteration = iteration.wrapping_add(1);
        if ticks > threshold || now >= end {
            // A reading smaller than the previous one wraps around; no iteration takes half of all time.
            if ticks > threshold && ticks < u64::MAX / 2 && has_room(staged) {
                staged.push(Long { start: previous, ticks, iteration });
            }
            if now >= end {
                *iterations = iteration;
                return now;
            }
        }
        previous = now;
    }
}

#[cfg(test)]
mod tests;
