//! How long work takes, very roughly: said before it is begun.

use indicatif::HumanDuration;
use std::time::Duration;

/// Messages that a core delivers in a second, about; `straggler bench` measures it.
pub const MESSAGES_A_SECOND: f64 = 1e7;

/// How long so many messages take, very roughly.
pub fn seconds_for(messages: f64, threads: usize) -> f64 {
    messages / MESSAGES_A_SECOND / threads.max(1) as f64
}

/// "90 seconds", "5 hours".
pub fn in_words(seconds: f64) -> String {
    // A number that no duration can hold is longer than anybody waits.
    HumanDuration(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)).to_string()
}

/// Work that lasts longer is announced, in seconds.
pub const LONG_SECONDS: f64 = 600.0;
