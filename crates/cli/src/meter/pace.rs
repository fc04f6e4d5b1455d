//! Estimates the remaining time of work whose amount is uncertain and whose speed changes.

/// Below this share of the work no estimate is given: the first runs are small and dominated by start-up.
const ENOUGH: f64 = 0.05;

/// Weight of the expected rate: it counts like this many seconds of measured work.
const PRIOR: f64 = 1.0;

#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Expected messages per second.
    expected: f64,
    /// Messages and seconds so far.
    all: u64,
    now: f64,
    ahead: u64,
    /// Time limit in seconds after the start; the remaining work is cut short then.
    end: f64,
}

impl Pace {
    /// Work at this expected rate.
    pub fn new(expected: f64) -> Pace {
        Pace { expected: expected.max(1.0), all: 0, now: 0.0, ahead: 0, end: f64::INFINITY }
    }

    /// The work ends at the latest this many seconds after the start.
    pub fn end_after(&mut self, seconds: f64) {
        self.end = seconds;
    }

    /// Sets the number of remaining messages, as known now.
    pub fn begin(&mut self, ahead: u64) {
        self.ahead = ahead;
    }

    /// Adds messages that are done, at this number of seconds after the start.
    pub fn advance(&mut self, more: u64, now: f64) {
        self.all = self.all.saturating_add(more);
        self.ahead = self.ahead.saturating_sub(more);
        self.now = now.max(0.0);
    }

    /// Messages per second over all work so far. The cost of a message differs so much between collectives that the
    /// latest rate predicts the next worse than the average does.
    fn rate(&self) -> f64 {
        (PRIOR * self.expected + self.all as f64) / (PRIOR + self.now)
    }

    /// Remaining seconds, once enough work is done for an estimate.
    pub fn left(&self) -> Option<f64> {
        let all = self.all as f64 + self.ahead as f64;
        let left = (self.ahead as f64 / self.rate()).min(1e6).min((self.end - self.now).max(0.0));
        (self.all as f64 >= ENOUGH * all && all > 0.0).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scales that double: small ones take ten times as long per message, large ones, with noise, three times. The estimate
    /// must stay within a factor of four of the truth; a plain extrapolation starts at more than an hour.
    #[test]
    fn what_is_left_is_near_what_comes() {
        let stages: Vec<(u64, f64)> = (0..24)
            .map(|scale| {
                let messages = 10u64 << scale;
                let cost = if scale < 12 {
                    1e-6
                } else if scale > 20 {
                    3e-7
                } else {
                    1e-7
                };
                (messages, cost)
            })
            .collect();
        let whole: f64 = stages.iter().map(|&(messages, cost)| messages as f64 * cost).sum();
        let (mut pace, mut now, mut told) = (Pace::new(2e7), 0.0, 0);
        for (index, &(messages, cost)) in stages.iter().enumerate() {
            pace.begin(stages[index..].iter().map(|stage| stage.0).sum());
            for _ in 0..100 {
                now += (messages / 100) as f64 * cost;
                pace.advance(messages / 100, now);
                if let Some(left) = pace.left() {
                    told += 1;
                    let comes = whole - now;
                    assert!(left < 4.0 * comes + 2.0 && left > comes / 4.0 - 2.0, "{left} {comes}");
                }
            }
        }
        assert!(told > 300, "{told}");
    }

    /// Work with a time limit never lasts longer than that, however slow it is.
    #[test]
    fn what_is_cut_is_not_left() {
        let mut pace = Pace::new(1e7);
        pace.end_after(40.0);
        pace.begin(1_000_000_000);
        pace.advance(60_000_000, 30.0);
        assert_eq!(pace.left(), Some(10.0));
        pace.advance(1, 41.0);
        assert_eq!(pace.left(), Some(0.0));
    }

    #[test]
    fn nothing_is_said_too_early() {
        let mut pace = Pace::new(1e7);
        pace.begin(1_000_000);
        pace.advance(10_000, 5.0);
        assert_eq!(pace.left(), None);
        pace.advance(90_000, 6.0);
        assert!(pace.left().is_some());
    }
}
