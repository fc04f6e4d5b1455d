//! Progress of several simulations, and their estimated time.

use crate::console::Console;
use std::time::{Duration, Instant};
use straggler_report::numbers::{counted, seconds};

/// Announces many simulations, and reports each long one.
pub struct Several<'a> {
    console: &'a Console,
    count: usize,
    done: usize,
    began: Instant,
    /// The expected time of one.
    one: Duration,
}

/// Shorter runs are not announced.
const LONG: Duration = Duration::from_secs(2);

impl<'a> Several<'a> {
    pub fn new(console: &'a Console, count: usize, one: Duration) -> Several<'a> {
        let all = one * u32::try_from(count).unwrap_or(u32::MAX);
        if all > LONG {
            let many = counted(count as u64, "hypothesis", "hypotheses");
            console.note(&format!("{many}, about {} in all", seconds(all.as_secs_f64())));
        }
        Several { console, count, done: 0, began: Instant::now(), one }
    }

    /// Starts the next one.
    pub fn next(&mut self, name: &str) {
        self.done += 1;
        // What a search finds may suggest more.
        self.count = self.count.max(self.done);
        if self.one * 3 > LONG {
            let passed = if self.done > 1 { self.began.elapsed() / (self.done as u32 - 1) } else { self.one };
            let left = passed * (self.count - self.done + 1) as u32;
            self.console.note(&format!(
                "{} of {}: {name}, about {} left",
                self.done,
                self.count,
                seconds(left.as_secs_f64())
            ));
        }
    }
}
