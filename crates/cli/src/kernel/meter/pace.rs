//! How fast work proceeds, and how much time is left.

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

    /// The share of the work that is done.
    pub fn share(&self) -> f64 {
        let all = self.all as f64 + self.ahead as f64;
        if all > 0.0 { self.all as f64 / all } else { 0.0 }
    }

    /// Remaining seconds.
    pub fn left(&self) -> f64 {
        (self.ahead as f64 / self.rate()).min((self.end - self.now).max(0.0))
    }
}

/// Before this share of the work and this many seconds no time left is told: the first runs are small and dominated
/// by start-up.
const ENOUGH: f64 = 0.03;
const ENOUGH_SECONDS: f64 = 2.0;

/// The times that are told, in seconds.
const STEPS: [u32; 32] = [
    1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 90, 120, 180, 240, 300, 360, 480, 600, 900,
    1200, 1800, 2700, 3600, 5400, 7200, 10800,
];

/// A time is corrected upwards only if it is exceeded by this much, and by one step in a second.
const EXCEEDED: f64 = 1.2;

/// The time left as people read it: it falls step by step, and does not jump.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeLeft {
    /// A position in `STEPS`, and when it was last raised.
    told: Option<(usize, f64)>,
}

impl TimeLeft {
    /// "about 20 s left", when `share` of the work is done, `left` seconds are estimated, and `now` have passed.
    pub fn tell(&mut self, share: f64, left: f64, now: f64) -> Option<String> {
        if share < ENOUGH || now < ENOUGH_SECONDS {
            return None;
        }
        let exact = STEPS.iter().position(|&step| f64::from(step) >= left).unwrap_or(STEPS.len() - 1);
        self.told = Some(match self.told {
            Some((told, raised)) if exact > told => {
                let is_due = left > EXCEEDED * f64::from(STEPS[told]) && now - raised >= 1.0;
                if is_due { (told + 1, now) } else { (told, raised) }
            }
            Some((_, raised)) => (exact, raised),
            None => (exact, now),
        });
        self.told.map(|(step, _)| format!("about {} left", in_words(STEPS[step])))
    }
}

/// "20 s", "8 min", "1.5 h".
fn in_words(seconds: u32) -> String {
    match seconds {
        0..=90 => format!("{seconds} s"),
        91..=2700 => format!("{} min", seconds / 60),
        _ => format!("{} h", f64::from(seconds) / 3600.0),
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
                if pace.share() >= ENOUGH {
                    let left = pace.left();
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
        assert_eq!(pace.left(), 10.0);
        pace.advance(1, 41.0);
        assert_eq!(pace.left(), 0.0);
    }

    #[test]
    fn nothing_is_said_too_early() {
        let mut left = TimeLeft::default();
        assert_eq!(left.tell(0.02, 100.0, 5.0), None);
        assert_eq!(left.tell(0.5, 1.0, 1.0), None);
        assert_eq!(left.tell(0.1, 18.0, 2.0).as_deref(), Some("about 20 s left"));
        assert_eq!(left.tell(0.2, 500.0, 2.5).as_deref(), Some("about 20 s left"), "not yet");
        assert_eq!(left.tell(0.2, 21.0, 9.0).as_deref(), Some("about 20 s left"), "not much more");
        assert_eq!(left.tell(0.9, 2.5, 9.5).as_deref(), Some("about 3 s left"));
    }

    /// Work whose second half takes five times as long per unit, and that turns out to be twice as much.
    #[test]
    fn what_is_told_does_not_jump() {
        let (mut pace, mut left, mut all) = (Pace::new(1e6), TimeLeft::default(), Vec::new());
        pace.begin(1_000_000);
        for step in 0..1000 {
            let (half, now) = if step < 500 {
                (0.0, f64::from(step) * 0.01)
            } else {
                (5.0, 5.0 + f64::from(step - 500) * 0.05)
            };
            if half > 0.0 && step == 500 {
                pace.begin(1_000_000);
            }
            pace.advance(1000, now);
            left.tell(pace.share(), pace.left(), now);
            all.extend(left.told.map(|(step, _)| step));
        }
        assert!(all.len() > 600, "{}", all.len());
        assert!(all.windows(2).all(|two| two[1] <= two[0] + 1), "{all:?}");
        let rises = all.windows(2).filter(|two| two[1] > two[0]).count();
        assert!((1..10).contains(&rises), "{rises}: {all:?}");
    }

    #[test]
    fn times_are_short() {
        assert_eq!(
            [1, 90, 120, 2700, 3600, 5400].map(in_words),
            ["1 s", "90 s", "2 min", "45 min", "1 h", "1.5 h"]
        );
        assert!(STEPS.is_sorted());
    }
}
