//! Judging a block: which of its long iterations were detours, and which only slow?
//!
//! A detour is one long iteration among undisturbed ones. In a slow phase everything is long. Two rules
//! distinguish them:
//! 1. *Moderately slow.* The undisturbed iterations of the block took, on average, more than [`SLOW`] times
//!    as long as at the best speed. The threshold of the block grows in proportion.
//! 2. *Very slow.* Iterations exceed the threshold one after the other: [`MANY`] long ones with at most
//!    [`BETWEEN`] others between neighbours. The shortest of them is then the undisturbed iteration of that
//!    stretch, and the threshold is scaled to it.
//!
//! Long iterations below the scaled threshold are discarded: they belong to the speed profile, not to the
//! noise. A stretch of the second kind may cross the end of a block; its beginning then waits for the next.

use super::{Long, Profile, Seen, Settings, Span, has_room, touched};
#[cfg(doc)]
use crate::kernels::SLOW;

/// This many long iterations close together are not detours.
pub(super) const MANY: usize = 16;

/// The most other iterations between two of them.
const BETWEEN: u64 = 3;

/// With fewer undisturbed iterations a block tells nothing about speed.
const ENOUGH: u64 = 32;

/// The number of long iterations that can be judged in less time than a threshold.
const FEW: usize = 8;

/// A finished block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub start: u64,
    pub end: u64,
    pub iterations: u64,
    /// Index of its first staged iteration; those before were left over from earlier blocks.
    pub fresh: usize,
}

/// The findings so far.
#[derive(Debug)]
pub(super) struct Book {
    /// Ticks of an undisturbed iteration at the best speed, as assessed.
    t_min: u64,
    /// The threshold as a multiple of t_min.
    factor: f64,
    threshold: u64,
    assessed: f64,
    detours: Vec<Span>,
    lost: u64,
    lost_ticks: u64,
    profile: Profile,
    /// The last iteration of a very slow stretch, which may go on, and its undisturbed length.
    slow_until: Option<(u64, u64)>,
    /// Time to settle an ordinary block, including the reading after it.
    usual: Option<u64>,
    /// How slow the core was at the end of the last block.
    slowdown: f64,
    /// Whether the profile had to join pieces to make room in the last block, which takes a while.
    halved: bool,
}

impl Book {
    pub fn new(settings: &Settings) -> Book {
        Book {
            t_min: settings.t_min,
            factor: settings.threshold as f64 / settings.t_min.max(1) as f64,
            threshold: settings.threshold,
            assessed: f64::INFINITY,
            detours: touched(settings.capacity),
            lost: 0,
            lost_ticks: 0,
            profile: Profile::new(),
            slow_until: None,
            usual: None,
            slowdown: 1.0,
            halved: false,
        }
    }

    /// Discards the findings, but keeps the best speed.
    pub fn restart(&mut self) {
        self.detours.clear();
        let best = self.profile.best();
        self.profile = Profile::new();
        self.profile.consider(best);
        self.assessed = best;
        (self.lost, self.lost_ticks, self.slow_until) = (0, 0, None);
    }

    /// The threshold for the next block.
    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    /// Detours so far, kept or not.
    pub fn found(&self) -> u64 {
        self.detours.len() as u64 + self.lost
    }

    /// Judges a block; `iteration` is the number of iterations so far. Iterations that cannot be judged yet
    /// stay staged, unless this is the last block.
    pub fn settle(&mut self, staged: &mut Vec<Long>, block: Block, iteration: u64, last: bool) {
        let pace = self.pace(staged, block);
        if let Some(pace) = pace {
            self.profile.consider(pace);
            self.follow();
        }
        let slowdown = pace.map_or(1.0, |pace| self.profile.slowdown(pace));
        (self.slowdown, self.halved) = (slowdown, false);
        let (mut done, mut from) = (0, block.start);
        while done < staged.len() {
            let close = close_together(&staged[done..]);
            let open =
                done + close == staged.len() && iteration - staged[done + close - 1].iteration <= BETWEEN;
            let group = &staged[done..done + close];
            let before = self.slow_until.filter(|&(until, _)| group[0].iteration <= until + 1 + BETWEEN);
            if close >= MANY || before.is_some() {
                self.profile_of_block(from, group[0].start, pace);
                from = self.very_slow(group, from, before);
            } else if open && !last {
                break;
            } else {
                self.judge(group, slowdown);
            }
            done += close;
        }
        self.profile_of_block(from, block.end, pace);
        staged.drain(..done);
    }

    /// Judges the leftovers of a run that ends before its deadline.
    pub fn settle_rest(&mut self, staged: &mut Vec<Long>) {
        self.judge(staged, 1.0);
        staged.clear();
    }

    /// Ticks of an undisturbed iteration in this block.
    fn pace(&self, staged: &[Long], block: Block) -> Option<f64> {
        let own = staged.get(block.fresh..).unwrap_or_default();
        let long: u64 = own.iter().map(|long| long.ticks).sum();
        let time = block.end.saturating_sub(block.start).saturating_sub(long);
        let iterations = block.iterations.saturating_sub(own.len() as u64);
        (iterations >= ENOUGH).then(|| time as f64 / iterations as f64)
    }

    fn profile_of_block(&mut self, start: u64, end: u64, pace: Option<f64>) {
        let Some(pace) = pace else { return };
        let time = end.saturating_sub(start) as f64;
        self.halved |= self.profile.push(start, end, time, time / pace);
    }

    /// Lowers the threshold if the core turns out to be faster than assessed.
    fn follow(&mut self) {
        let best = self.profile.best();
        if self.assessed.is_finite() && best * crate::kernels::SLOW < self.assessed {
            let faster = best / self.assessed;
            self.t_min = ((self.t_min as f64 * faster).round() as u64).max(1);
            self.threshold = ((self.t_min as f64 * self.factor).round() as u64).max(self.t_min + 1);
            self.assessed = best;
        }
    }

    /// Rule 1: iterations above the block's threshold are detours.
    fn judge(&mut self, group: &[Long], slowdown: f64) {
        let undisturbed = (self.t_min as f64 * slowdown).round() as u64;
        let threshold = (self.threshold as f64 * slowdown).round() as u64;
        for long in group {
            if long.ticks > threshold {
                self.keep(long, undisturbed);
            }
        }
    }

    /// Rule 2: the shortest iteration is the undisturbed one, including those before the end of the last
    /// block if the stretch continues from there. Returns until when the profile is then known.
    fn very_slow(&mut self, group: &[Long], from: u64, before: Option<(u64, u64)>) -> u64 {
        let least = group.iter().map(|long| long.ticks).chain(before.map(|(_, least)| least)).min();
        let least = least.unwrap_or(self.t_min);
        let threshold = (least as f64 * self.factor).round() as u64;
        let (mut time, mut iterations) = (0.0, 0.0);
        for long in group {
            if long.ticks > threshold {
                self.keep(long, least);
            } else {
                time += long.ticks as f64;
                iterations += 1.0;
            }
        }
        let Some((first, last)) = group.first().zip(group.last()) else { return from };
        let end = last.start + last.ticks;
        self.halved |= self.profile.push(first.start.max(from), end, time, iterations);
        self.slowdown = least as f64 / self.profile.best();
        self.slow_until = Some((last.iteration, least));
        end.max(from)
    }

    fn keep(&mut self, long: &Long, undisturbed: u64) {
        let length = long.ticks.saturating_sub(undisturbed);
        if has_room(&self.detours) {
            self.detours.push(Span { start: long.start, length });
        } else {
            self.lost += 1;
            self.lost_ticks += length;
        }
    }

    /// Takes the time of settling and the reading after it. If it was disturbed, returns the length of the
    /// equivalent iteration. The number of judged iterations determines how long settling may take by itself.
    pub fn settled_in(&mut self, took: u64, judged: usize) -> Option<u64> {
        if self.halved {
            return None;
        }
        let scaled = |ticks: u64| (ticks as f64 * self.slowdown).round() as u64;
        let usual = self.usual.unwrap_or(took);
        // A few are judged in no time, many take some nanoseconds each.
        let allowed = if judged > FEW { judged as u64 * self.t_min.div_ceil(2) } else { 0 };
        let ticks = took.saturating_sub(scaled(usual)) + scaled(self.t_min);
        let disturbed = ticks > scaled(self.threshold + allowed);
        self.usual = Some(usual.min(took));
        disturbed.then_some(ticks)
    }

    /// Returns the findings.
    pub fn close(self) -> Seen {
        Seen {
            iteration: self.profile.best(),
            slow: self.profile.slow(),
            detours: self.detours,
            lost: self.lost,
            lost_ticks: self.lost_ticks,
            ..Seen::default()
        }
    }
}

/// Number of iterations at the front that are close together.
fn close_together(staged: &[Long]) -> usize {
    let close = |pair: &[Long]| pair[1].iteration <= pair[0].iteration + 1 + BETWEEN;
    1 + staged.windows(2).take_while(|pair| close(pair)).count()
}
