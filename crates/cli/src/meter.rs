//! A progress bar on stderr, for work that lasts longer than a second.

mod pace;

use crate::console::{Console, tell};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use pace::Pace;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use straggler_report::numbers::rounded;
use straggler_sim::Progress;

/// Shorter work shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where there is no terminal, work that lasts says this often how far it is.
const LINES_EVERY: Duration = Duration::from_secs(30);

/// Counts what is done in one or several runs, from any thread: messages, or exchanges.
#[derive(Debug)]
pub struct Meter {
    shown: bool,
    started: Instant,
    expected: u64,
    unit: &'static str,
    done: AtomicU64,
    bar: OnceLock<ProgressBar>,
    /// Milliseconds after the start at which the next line is due; nothing if there are no lines.
    next_line: Option<AtomicU64>,
}

impl Meter {
    /// `expected` messages will be counted in all.
    pub fn new(console: &Console, expected: u64) -> Meter {
        Meter::of(console, expected, "messages")
    }

    /// `expected` of something else will be counted.
    pub fn of(console: &Console, expected: u64, unit: &'static str) -> Meter {
        Meter {
            shown: console.may_show_progress(),
            started: Instant::now(),
            expected,
            unit,
            done: AtomicU64::new(0),
            bar: OnceLock::new(),
            next_line: None,
        }
    }

    /// Where there is no terminal, a line is written every half minute.
    pub fn with_lines(mut self, console: &Console) -> Meter {
        let due = AtomicU64::new(LINES_EVERY.as_millis() as u64);
        self.next_line = console.may_write_lines().then_some(due);
        self
    }

    /// A counter for one run, which tells how many messages it has seen so far.
    pub fn run(&self) -> impl FnMut(Progress) + '_ {
        let mut seen = 0;
        move |progress| {
            self.advance(progress.messages.saturating_sub(seen));
            seen = progress.messages;
        }
    }

    /// So many more are done.
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
        // Whoever moves the mark writes the line.
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

/// Work in stages of which each tells how much is ahead, which is a guess.
#[derive(Debug)]
pub struct Stages {
    bar: Option<ProgressBar>,
    pace: Mutex<Pace>,
}

impl Stages {
    /// `rate` is how many messages a second are expected.
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

    /// The work ends after so many seconds at the latest, because less of it is done then.
    pub fn end_after(&self, seconds: f64) {
        self.pace(|pace| pace.end_after(seconds));
    }

    /// So many messages are ahead, those of what begins included.
    pub fn begin(&self, what: String, ahead: u64) {
        if let Some(bar) = &self.bar {
            bar.set_message(what);
            self.pace(|pace| pace.begin(ahead));
        }
    }

    /// So many messages more are done.
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
