//! Derives detours from quanta, for the fixed-work and fixed-time kernels.
//!
//! Both keep every sample and judge them all afterwards. A quantum that took much longer, or did much less,
//! than the best was disturbed; if [`MANY`] in a row are, the core was slow, and they are compared with the
//! faster ones among them.

use super::{SLOW, Span, Stretch};
use std::ops::Range;

/// This many disturbed quanta in a row are a slow phase.
const MANY: usize = 16;

/// A quantum slower than this stood still because another program had the core. That is a detour, however
/// long.
const STILL: f64 = 64.0;

/// The quanta of a kernel.
pub(super) trait Quanta {
    fn count(&self) -> usize;
    fn start(&self, index: usize) -> u64;
    fn end(&self, index: usize) -> u64;
    /// Duration of the same work relative to the best of all quanta.
    fn slowdown(&self, index: usize) -> f64;
    /// Ticks lost in a quantum if undisturbed work ran slower by this factor.
    fn lost(&self, index: usize, slowdown: f64) -> u64;
}

/// Detours of more than `least` ticks, and slow stretches.
pub(super) fn judge(quanta: &impl Quanta, least: u64) -> (Vec<Span>, Vec<Stretch>) {
    let (mut detours, mut slow) = (Vec::new(), Vec::new());
    for run in runs(quanta) {
        let is_slow = run.len() >= MANY && is_slow(quanta, run.start);
        let slowdown = if is_slow { pace(quanta, run.clone()) } else { 1.0 };
        if is_slow {
            slow.push(Stretch { start: quanta.start(run.start), end: quanta.end(run.end - 1), slowdown });
        }
        // In slow phases the threshold is scaled.
        let least = (least as f64 * slowdown).round() as u64;
        for index in run {
            let length = quanta.lost(index, slowdown);
            if length > least {
                detours.push(Span { start: quanta.start(index), length });
            }
        }
    }
    (detours, slow)
}

/// Neighbours that are all slow, or all not.
fn runs(quanta: &impl Quanta) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for index in 0..quanta.count() {
        match runs.last_mut() {
            Some(run) if is_slow(quanta, run.start) == is_slow(quanta, index) => run.end = index + 1,
            _ => runs.push(index..index + 1),
        }
    }
    runs
}

fn is_slow(quanta: &impl Quanta, index: usize) -> bool {
    let slowdown = quanta.slowdown(index);
    slowdown > SLOW && slowdown < STILL
}

/// The pace of a slow phase: that of its faster quarter. Not the best, because the phase may have begun or
/// ended within a quantum.
fn pace(quanta: &impl Quanta, run: Range<usize>) -> f64 {
    let mut slowdowns: Vec<f64> = run.map(|index| quanta.slowdown(index)).collect();
    let quarter = slowdowns.len() / 4;
    *slowdowns.select_nth_unstable_by(quarter, f64::total_cmp).1
}
