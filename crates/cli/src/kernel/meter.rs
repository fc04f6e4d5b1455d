//! A progress bar on stderr, for work that lasts longer than a second. Without a terminal, a line every half minute.

use crate::kernel::Console;
use crate::kernel::console::eprint_line;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use straggler_report::numbers::rounded;

/// Shorter work shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Without a terminal, long work prints its progress this often.
const LINES_EVERY: Duration = Duration::from_secs(30);

/// Counts the messages or exchanges of one or several runs, from any thread.
#[derive(Debug)]
pub struct Meter {
    shown: bool,
    started: Instant,
    expected: u64,
    unit: &'static str,
    done: AtomicU64,
    bar: OnceLock<ProgressBar>,
    /// Milliseconds after the start at which the next line is due; None if no lines are printed.
    next_line: Option<AtomicU64>,
}

impl Meter {
    /// A meter for `expected` messages in total.
    pub fn new(console: &Console, expected: u64) -> Meter {
        Meter::with_unit(console, expected, "messages")
    }

    /// A meter for `expected` units of another kind.
    pub fn with_unit(console: &Console, expected: u64, unit: &'static str) -> Meter {
        Meter {
            shown: console.may_show_progress(),
            started: Instant::now(),
            expected,
            unit,
            done: AtomicU64::new(0),
            bar: OnceLock::new(),
            next_line: console.may_write_lines().then(|| AtomicU64::new(LINES_EVERY.as_millis() as u64)),
        }
    }

    /// Adds to the count.
    pub fn advance(&self, more: u64) {
        if !self.shown && self.next_line.is_none() {
            return;
        }
        let done = self.done.fetch_add(more, Ordering::Relaxed) + more;
        if let Some(due) = &self.next_line {
            return self.line(done, due);
        }
        if self.bar.get().is_some() || self.started.elapsed() > PATIENCE {
            self.bar.get_or_init(|| new_bar(self)).set_position(done);
        }
    }
}

impl Meter {
    fn line(&self, done: u64, due: &AtomicU64) {
        let elapsed = self.started.elapsed();
        let now = elapsed.as_millis() as u64;
        let mine = due.load(Ordering::Relaxed);
        let next = now + LINES_EVERY.as_millis() as u64;
        // The thread that moves the mark prints the line.
        if now < mine || due.compare_exchange(mine, next, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
        let share = (done as f64 / self.expected.max(1) as f64).min(1.0);
        let left = Duration::from_secs_f64(elapsed.as_secs_f64() * (1.0 / share.max(1e-9) - 1.0).min(1e6));
        let (percent, expected) = (share * 100.0, rounded(self.expected as f64));
        eprint_line(&format!(
            "{percent:.0} % of {expected} {}, about {} left",
            self.unit,
            HumanDuration(left)
        ));
    }
}

fn new_bar(meter: &Meter) -> ProgressBar {
    let bar = ProgressBar::new(meter.expected).with_elapsed(meter.started.elapsed());
    let template = format!("{{wide_bar}} {{percent}} % of {{human_len}} {}, {{eta}} left", meter.unit);
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}

/// Work in stages; each stage estimates how much work remains.
#[derive(Debug)]
pub struct Stages {
    bar: Option<ProgressBar>,
    pace: Mutex<Pace>,
}

impl Stages {
    /// `rate` is the expected number of messages per second.
    pub fn new(console: &Console, rate: f64) -> Stages {
        let bar = console.may_show_progress().then(|| {
            let bar = ProgressBar::new_spinner();
            match ProgressStyle::with_template("{spinner} simulating {msg} ({elapsed} so far{prefix})") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        Stages { bar, pace: Mutex::new(Pace::new(rate)) }
    }

    /// The work ends after this many seconds at the latest: it is then cut short.
    pub fn end_after(&self, seconds: f64) {
        self.pace(|pace| pace.end_after(seconds));
    }

    /// Sets the number of remaining messages, including those of the stage that begins.
    pub fn begin(&self, what: String, ahead: u64) {
        if let Some(bar) = &self.bar {
            bar.set_message(what);
            self.pace(|pace| pace.begin(ahead));
        }
    }

    /// Adds to the number of messages done.
    pub fn advance(&self, more: u64) {
        if let Some(bar) = &self.bar {
            let left = self.pace(|pace| {
                pace.advance(more, bar.elapsed().as_secs_f64());
                pace.left()
            });
            let said =
                left.map(|left| format!(", about {} left", HumanDuration(Duration::from_secs_f64(left))));
            bar.set_prefix(said.unwrap_or_default());
            bar.tick();
        }
    }

    fn pace<T>(&self, change: impl FnOnce(&mut Pace) -> T) -> T {
        change(&mut self.pace.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

impl Drop for Stages {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

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
