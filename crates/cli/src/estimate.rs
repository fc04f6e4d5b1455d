//! Rough estimates of how long work takes, announced before it starts.

use indicatif::HumanDuration;
use std::time::Duration;

/// Messages that a core delivers per second, roughly; `straggler bench` measures it.
pub const MESSAGES_A_SECOND: f64 = 1e7;

/// Rough time that this many messages take.
pub fn seconds_for(messages: f64, threads: usize) -> f64 {
    messages / MESSAGES_A_SECOND / threads.max(1) as f64
}

/// "90 seconds", "5 hours", "less than a second".
pub fn in_words(seconds: f64) -> String {
    if seconds < 1.0 {
        return "less than a second".into();
    }
    // Saturates if no `Duration` can hold the number.
    HumanDuration(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)).to_string()
}

/// Work that takes longer than this is announced.
pub const LONG_SECONDS: f64 = 600.0;
