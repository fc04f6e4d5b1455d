//! A progress bar on stderr, for work that lasts longer than a second.

use crate::console::Console;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use straggler_sim::Progress;

/// Shorter work shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Counts messages of one or several runs, from any thread.
#[derive(Debug)]
pub struct Meter {
    shown: bool,
    started: Instant,
    expected: u64,
    done: AtomicU64,
    bar: OnceLock<ProgressBar>,
}

impl Meter {
    /// `expected` messages will be counted in all.
    pub fn new(console: &Console, expected: u64) -> Meter {
        Meter {
            shown: console.may_show_progress(),
            started: Instant::now(),
            expected,
            done: AtomicU64::new(0),
            bar: OnceLock::new(),
        }
    }

    /// A counter for one run, which tells how many messages it has seen so far.
    pub fn run(&self) -> impl FnMut(Progress) + '_ {
        let mut seen = 0;
        move |progress| {
            if self.shown {
                self.advance(progress.messages.saturating_sub(seen));
                seen = progress.messages;
            }
        }
    }

    fn advance(&self, messages: u64) {
        let done = self.done.fetch_add(messages, Ordering::Relaxed) + messages;
        if self.bar.get().is_some() || self.started.elapsed() > PATIENCE {
            self.bar.get_or_init(|| new_bar(self.expected, self.started)).set_position(done);
        }
    }
}

fn new_bar(expected: u64, started: Instant) -> ProgressBar {
    let bar = ProgressBar::new(expected).with_elapsed(started.elapsed());
    let template = "{wide_bar} {percent} % of {human_len} messages, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
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
