//! The message sizes of a traced program.

use serde::Serialize;
use straggler_model::units::Bytes;
use straggler_trace::profile::{Profile, SizeClass};

/// Messages of one kind between two powers of two, as JSON.
#[derive(Serialize)]
pub struct SizeAnswer {
    /// `point-to-point`, the blocking form of a collective, or a function of one-sided communication.
    pub kind: &'static str,
    pub least_bytes: u64,
    /// The largest size in this range.
    pub most_bytes: u64,
    pub messages: u64,
    pub bytes: u64,
}

impl SizeAnswer {
    /// "4 KiB up to 8 KiB", excluding the upper bound.
    pub fn label(&self) -> String {
        match self.least_bytes {
            0 | 1 => Bytes(self.least_bytes).to_string(),
            least => format!("{} up to {}", Bytes(least), Bytes(self.most_bytes.saturating_add(1))),
        }
    }
}

pub fn answers(profile: &Profile) -> Vec<SizeAnswer> {
    let answer = |&SizeClass { kind, least, most, messages, bytes }: &SizeClass| SizeAnswer {
        kind,
        least_bytes: least,
        most_bytes: most,
        messages,
        bytes,
    };
    profile.sizes.iter().map(answer).collect()
}
