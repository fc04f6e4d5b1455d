//! A progress bar on stderr, for work that lasts longer than a second. Without a terminal, a line every half minute.

mod pace;

use crate::console::Console;
use crate::stderr::tell;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use pace::Pace;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use straggler_report::numbers::rounded;
use straggler_sim::Progress;

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
        Meter::of(console, expected, "messages")
    }

    /// A meter for `expected` units of another kind.
    pub fn of(console: &Console, expected: u64, unit: &'static str) -> Meter {
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

    /// A counter for one run, which reports its total number of messages so far.
    pub fn run(&self) -> impl FnMut(Progress) + '_ {
        let mut seen = 0;
        move |progress| {
            self.advance(progress.messages.saturating_sub(seen));
            seen = progress.messages;
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
        tell(&format!("{percent:.0} % of {expected} {}, about {} left", self.unit, HumanDuration(left)));
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
