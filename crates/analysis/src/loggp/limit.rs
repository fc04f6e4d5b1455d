//! Finds S, the size of the largest eager message: its send does not wait for a late receiver.

use super::{Probe, Receiver, Train};
use straggler_model::Time;
use straggler_model::stats::median_in_place;

/// The receiver is late by this multiple of the time of a message, within these bounds.
const MANY: u64 = 20;
const LATE: Time = Time::from_ns(200_000);
const LATEST: Time = Time::from_ns(1_000_000_000);

/// The fastest of this many messages shows how long one takes on its own.
const TRIES: usize = 3;

/// Sends that are tested for waiting; the majority decides.
const VOTES: usize = 5;

/// The same for the final check of the two sizes next to the limit.
const FINAL_VOTES: usize = 11;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Limit {
    /// None if even the largest messages do not wait.
    pub bytes: Option<u64>,
    /// Whether the final check gave the same answers.
    pub certain: bool,
    /// The largest message that may be measured.
    pub largest: u64,
}

impl Limit {
    pub fn is_eager(&self, bytes: u64) -> bool {
        self.bytes.is_none_or(|limit| bytes <= limit)
    }
}

/// Doubles the size until a send waits, then bisects to the smallest size that does.
pub(super) fn find<P: Probe>(probe: &mut P, largest: u64, receiver: Receiver) -> Result<Limit, P::Error> {
    let mut is_late = |bytes, votes| is_late(probe, bytes, votes, receiver);
    let (mut eager, mut waits) = (0, None);
    let mut bytes = 1;
    while waits.is_none() {
        if is_late(bytes, VOTES)? {
            waits = Some(bytes);
        } else {
            eager = bytes;
            if bytes == largest {
                break;
            }
            bytes = bytes.saturating_mul(2).min(largest);
        }
    }
    let Some(mut first) = waits else {
        let certain = !is_late(largest, FINAL_VOTES)?;
        return Ok(Limit { bytes: None, certain, largest });
    };
    while first - eager > 1 {
        let middle = eager + (first - eager) / 2;
        if is_late(middle, VOTES)? { first = middle } else { eager = middle }
    }
    let certain = is_late(first, FINAL_VOTES)? && (eager == 0 || !is_late(eager, FINAL_VOTES)?);
    Ok(Limit { bytes: Some(eager), certain, largest })
}

/// Whether most sends of this size wait for their late receiver.
fn is_late<P: Probe>(probe: &mut P, bytes: u64, votes: usize, receiver: Receiver) -> Result<bool, P::Error> {
    let mut usual = Time::NEVER;
    for _ in 0..TRIES {
        usual = usual.min(probe.round_trip(Train { count: 1, delay: Time::ZERO, bytes })?.back);
    }
    let late = Time(usual.ps().saturating_mul(MANY)).clamp(LATE, LATEST);
    let mut times = Vec::with_capacity(votes);
    for _ in 0..votes {
        times.push(probe.send(bytes, late, receiver)?);
    }
    Ok(median_in_place(&mut times).is_some_and(|time| time.ps() > late.ps() / 2))
}
