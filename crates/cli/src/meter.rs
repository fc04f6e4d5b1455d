//! A progress bar on stderr, for work that lasts longer than a second.

use crate::console::Console;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use straggler_sim::Progress;

/// Shorter work shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Counts what is done in one or several runs, from any thread: messages, or exchanges.
#[derive(Debug)]
pub struct Meter {
    shown: bool,
    started: Instant,
    expected: u64,
    unit: &'static str,
    done: AtomicU64,
    bar: OnceLock<ProgressBar>,
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
        }
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
        if !self.shown {
            return;
        }
        let done = self.done.fetch_add(more, Ordering::Relaxed) + more;
        if self.bar.get().is_some() || self.started.elapsed() > PATIENCE {
            self.bar.get_or_init(|| new_bar(self)).set_position(done);
        }
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

impl Drop for Meter {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}
