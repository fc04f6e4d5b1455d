//! The speed of a core over time, in as few stretches as possible.
//!
//! Pieces arrive in order of time, each with the work done in it. Neighbours of about the same speed become
//! one stretch, and so do all neighbours that are not slow. Whether a stretch was slow is decided only at the
//! end, when the best speed is known: a measurement may begin in a slow phase.

use super::{SLOW, has_room, touched};

/// Slow neighbours whose speeds differ by less than this factor are one phase.
const ALIKE: f64 = 1.25;

/// The most stretches that are kept; when full, pairs of neighbours are joined.
const MOST: usize = 1 << 14;

/// A stretch of one speed.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Stretch {
    pub start: u64,
    pub end: u64,
    /// Duration of an iteration relative to the best.
    pub slowdown: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    start: u64,
    end: u64,
    /// Undisturbed time, in ticks, and the iterations done in it.
    time: f64,
    iterations: f64,
}

impl Piece {
    /// Ticks per iteration.
    fn pace(&self) -> f64 {
        if self.iterations > 0.0 { self.time / self.iterations } else { 0.0 }
    }

    fn append(&mut self, other: Piece) {
        self.end = other.end;
        self.time += other.time;
        self.iterations += other.iterations;
    }
}

/// Collects the pieces of one core.
#[derive(Debug)]
pub struct Profile {
    pieces: Vec<Piece>,
    /// Ticks of an iteration at the best speed so far.
    best: f64,
}

impl Profile {
    pub fn new() -> Profile {
        Profile { pieces: touched(MOST), best: f64::INFINITY }
    }

    /// Ticks of an iteration at the best speed so far.
    pub fn best(&self) -> f64 {
        self.best
    }

    /// Updates the best speed.
    pub fn consider(&mut self, pace: f64) {
        if pace > 0.0 {
            self.best = self.best.min(pace);
        }
    }

    /// Duration of an iteration relative to the best; 1 unless it is slow.
    pub fn slowdown(&self, pace: f64) -> f64 {
        if self.is_slow(pace) { pace / self.best } else { 1.0 }
    }

    fn is_slow(&self, pace: f64) -> bool {
        pace > SLOW * self.best
    }

    /// Adds a piece from `start` to `end` in which an iteration took `time / iterations` ticks. Returns
    /// whether pieces had to be joined to make room, which takes much longer than usual.
    pub fn push(&mut self, start: u64, end: u64, time: f64, iterations: f64) -> bool {
        let piece = Piece { start, end, time, iterations };
        if end <= start || iterations <= 0.0 {
            return false;
        }
        let (best, pace) = (self.best, piece.pace());
        if let Some(last) = self.pieces.last_mut() {
            let (slow, was_slow) = (pace > SLOW * best, last.pace() > SLOW * best);
            let alike = pace < ALIKE * last.pace() && last.pace() < ALIKE * pace;
            if slow == was_slow && (!slow || alike) {
                last.append(piece);
                return false;
            }
        }
        let full = !has_room(&self.pieces);
        if full {
            self.halve();
        }
        self.pieces.push(piece);
        full
    }

    /// Joins pairs of neighbours. The gaps between them are assumed to have had the best speed.
    fn halve(&mut self) {
        let mut kept = 0;
        for index in (0..self.pieces.len()).step_by(2) {
            let mut piece = self.pieces[index];
            if let Some(&next) = self.pieces.get(index + 1) {
                let between = next.start.saturating_sub(piece.end) as f64;
                piece.time += between;
                piece.iterations += if self.best > 0.0 { between / self.best } else { 0.0 };
                piece.append(next);
            }
            self.pieces[kept] = piece;
            kept += 1;
        }
        self.pieces.truncate(kept);
    }

    /// The stretches that were slow compared with the best speed.
    pub fn slow(&self) -> Vec<Stretch> {
        let slow = self.pieces.iter().filter(|piece| self.is_slow(piece.pace()));
        let stretch = |piece: &Piece| Stretch {
            start: piece.start,
            end: piece.end,
            slowdown: piece.pace() / self.best,
        };
        slow.map(stretch).collect()
    }
}

impl Default for Profile {
    fn default() -> Profile {
        Profile::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of 100 ticks with the given numbers of iterations.
    fn profile(iterations: &[f64]) -> Profile {
        let mut profile = Profile::new();
        for (index, &iterations) in iterations.iter().enumerate() {
            profile.consider(100.0 / iterations);
            let start = index as u64 * 100;
            profile.push(start, start + 100, 100.0, iterations);
        }
        profile
    }

    #[test]
    fn slow_neighbours_are_one_phase() {
        let slow = profile(&[10.0, 9.0, 5.0, 5.5, 10.0, 1.0, 10.0]).slow();
        assert_eq!(slow.len(), 2);
        assert_eq!((slow[0].start, slow[0].end), (200, 400));
        assert!((slow[0].slowdown - 20.0 / 10.5).abs() < 1e-9, "{slow:?}");
        assert_eq!(slow[1], Stretch { start: 500, end: 600, slowdown: 10.0 });
    }

    #[test]
    fn different_slow_speeds_are_told_apart() {
        let slow = profile(&[10.0, 5.0, 1.0, 1.0, 10.0]).slow();
        let slowdowns: Vec<f64> = slow.iter().map(|stretch| stretch.slowdown).collect();
        assert_eq!(slowdowns, [2.0, 10.0]);
    }

    #[test]
    fn a_slow_beginning_is_seen_later() {
        let slow = profile(&[1.0, 1.0, 10.0, 10.0]).slow();
        assert_eq!(slow, [Stretch { start: 0, end: 200, slowdown: 10.0 }]);
    }

    #[test]
    fn memory_is_bounded_and_time_is_kept() {
        let alternating: Vec<f64> = (0..5 * MOST).map(|i| if i % 2 == 0 { 10.0 } else { 2.0 }).collect();
        let profile = profile(&alternating);
        assert!(profile.pieces.len() <= MOST);
        let time: f64 = profile.pieces.iter().map(|piece| piece.time).sum();
        assert_eq!(time, 100.0 * alternating.len() as f64);
        let iterations: f64 = profile.pieces.iter().map(|piece| piece.iterations).sum();
        assert_eq!(iterations, alternating.iter().sum::<f64>());
    }
}
