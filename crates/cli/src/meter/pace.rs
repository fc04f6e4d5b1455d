//! How long work will last whose amount is a guess and whose speed changes.

/// Before this share is done, what was seen says little about the rest: the first runs are small and mostly start.
const ENOUGH: f64 = 0.05;

/// How many seconds at the expected rate count as if they had been seen.
const PRIOR: f64 = 1.0;

#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Messages a second, as expected.
    expected: f64,
    /// Messages so far, and seconds.
    all: u64,
    now: f64,
    ahead: u64,
    /// In seconds after the start; what is ahead is cut then.
    end: f64,
}

impl Pace {
    /// Work that is expected to go at this rate.
    pub fn new(expected: f64) -> Pace {
        Pace { expected: expected.max(1.0), all: 0, now: 0.0, ahead: 0, end: f64::INFINITY }
    }

    /// It ends so many seconds after the start at the latest.
    pub fn end_after(&mut self, seconds: f64) {
        self.end = seconds;
    }

    /// So many are ahead, as far as is known now.
    pub fn begin(&mut self, ahead: u64) {
        self.ahead = ahead;
    }

    /// So many more are done, so many seconds after the start.
    pub fn advance(&mut self, more: u64, now: f64) {
        self.all = self.all.saturating_add(more);
        self.ahead = self.ahead.saturating_sub(more);
        self.now = now.max(0.0);
    }

    /// Messages a second, of everything so far: what a message costs differs so much between collectives that the last
    /// ones say less about the next than all of them.
    fn rate(&self) -> f64 {
        (PRIOR * self.expected + self.all as f64) / (PRIOR + self.now)
    }

    /// Seconds that are left, once enough is done to tell.
    pub fn left(&self) -> Option<f64> {
        let all = self.all as f64 + self.ahead as f64;
        let left = (self.ahead as f64 / self.rate()).min(1e6).min((self.end - self.now).max(0.0));
        (self.all as f64 >= ENOUGH * all && all > 0.0).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scales that double: the small ones take ten times as long a message, the large ones, with noise, three times. What
    /// is said must stay within a factor of four of what comes; a plain extrapolation says more than an hour at first.
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

    /// Work that is cut when its time is up never lasts longer than that, however slow it goes.
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
