//! A progress bar on stderr, for work that lasts longer than a second. Without a terminal, a line every half minute.
//! Progress is a percentage and the time left, in all commands.

mod pace;

use crate::{kernel::Console, kernel::console::eprint_line};
use indicatif::{ProgressBar, ProgressStyle};
use pace::{Pace, TimeLeft};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// Shorter work shows no bar; after that, the bar changes this often.
const PATIENCE: Duration = Duration::from_secs(1);
const BAR_EVERY: Duration = Duration::from_millis(100);

/// Without a terminal, long work prints its progress this often.
const LINES_EVERY: Duration = Duration::from_secs(30);

/// Counts the messages or exchanges of one or several runs, from any thread.
#[derive(Debug)]
pub struct Meter {
    /// Whether progress is a bar, or a line from time to time.
    has_bar: bool,
    started: Instant,
    expected: u64,
    done: AtomicU64,
    bar: OnceLock<ProgressBar>,
    left: Mutex<TimeLeft>,
    /// Milliseconds after the start at which progress is shown next; None if it is not shown.
    next: Option<AtomicU64>,
}

impl Meter {
    /// A meter for `expected` messages, or other units of work, in total.
    pub fn new(console: &Console, expected: u64) -> Meter {
        let has_bar = console.may_show_progress();
        let first = if has_bar { PATIENCE } else { LINES_EVERY };
        Meter {
            has_bar,
            started: Instant::now(),
            expected,
            done: AtomicU64::new(0),
            bar: OnceLock::new(),
            left: Mutex::default(),
            next: (has_bar || console.may_write_lines()).then(|| AtomicU64::new(first.as_millis() as u64)),
        }
    }

    /// Adds to the count.
    pub fn advance(&self, more: u64) {
        let Some(next) = &self.next else { return };
        let done = self.done.fetch_add(more, Ordering::Relaxed) + more;
        let now = self.started.elapsed().as_millis() as u64;
        let due = next.load(Ordering::Relaxed);
        let every = if self.has_bar { BAR_EVERY } else { LINES_EVERY }.as_millis() as u64;
        // The thread that moves the mark shows the progress.
        if now < due || next.compare_exchange(due, now + every, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return;
        }
        let progress = self.progress(done);
        if self.has_bar {
            let bar = self.bar.get_or_init(|| new_bar(self.expected));
            bar.set_message(progress);
            bar.set_position(done);
        } else {
            eprint_line(&progress);
        }
    }

    /// "43 %, about 20 s left".
    fn progress(&self, done: u64) -> String {
        let (now, share) = (self.started.elapsed().as_secs_f64(), self.share(done));
        let left = now * (1.0 / share.max(1e-9) - 1.0);
        let left = locked(&self.left).tell(share, left, now);
        format!("{:.0} %{}", share * 100.0, left.map_or_else(String::new, |left| format!(", {left}")))
    }

    fn share(&self, done: u64) -> f64 {
        (done as f64 / self.expected.max(1) as f64).min(1.0)
    }
}

fn new_bar(expected: u64) -> ProgressBar {
    let bar = ProgressBar::new(expected);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {msg}") {
        bar.set_style(style);
    }
    bar
}

/// Work in stages; each stage estimates how much work remains.
#[derive(Debug)]
pub struct Stages {
    bar: Option<ProgressBar>,
    pace: Mutex<Pace>,
    left: Mutex<TimeLeft>,
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
        Stages { bar, pace: Mutex::new(Pace::new(rate)), left: Mutex::default() }
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
            let now = bar.elapsed().as_secs_f64();
            let (share, left) = self.pace(|pace| {
                pace.advance(more, now);
                (pace.share(), pace.left())
            });
            let left = locked(&self.left).tell(share, left, now);
            bar.set_prefix(left.map_or_else(String::new, |left| format!(", {left}")));
            bar.tick();
        }
    }

    fn pace<T>(&self, change: impl FnOnce(&mut Pace) -> T) -> T {
        change(&mut locked(&self.pace))
    }
}

/// What a mutex holds, even if another thread panicked with it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
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
