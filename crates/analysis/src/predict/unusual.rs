//! Collectives that took far longer than similar ones after all members had arrived.
//!
//! Connections set up at first use, or a disturbed network, can make a call many times as long as the next one. No
//! parameters explain both. The model treats such a call as a normal one, so its extra time is missing from the
//! prediction, and a note says so.

use super::joints::{Joint, joints};
use std::collections::BTreeMap;
use straggler_model::Time;
use straggler_model::stats::median_in_place;
use straggler_trace::{Class, Function, Trace};

/// This many times as long as usual.
const FACTOR: u64 = 10;

/// Calls shorter than the run divided by this are not reported.
const PART: u64 = 100;

/// Notes on unusual collectives, one sentence per function.
pub(super) fn unusual(trace: &Trace) -> Vec<String> {
    let least = Time(run(trace).ps() / PART).max(Time(1));
    let mut found: BTreeMap<Function, (u64, Time)> = BTreeMap::new();
    for joints in joints(trace) {
        for joint in joints.iter().filter(|joint| joint.span >= least && is_unusual(joint, &joints)) {
            let (calls, time) = found.entry(joint.function).or_default();
            *calls += 1;
            *time += joint.span;
        }
    }
    let say = |(function, (calls, time))| {
        format!(
            "{calls} × {function}, {time} in total, took more than {FACTOR} times as long as others with as much \
             data: the model treats them as usual ones"
        )
    };
    found.into_iter().map(say).collect()
}

/// From the time the first rank left MPI_Init to the end.
pub(super) fn run(trace: &Trace) -> Time {
    let started = trace.ranks.iter().filter_map(|rank| {
        let init = rank.calls.iter().find(|call| call.function.class() == Class::Init);
        init.map(|call| call.exit).or(rank.calls.first().map(|call| call.enter))
    });
    let ended = trace.ranks.iter().flat_map(|rank| rank.calls.iter().map(|call| call.exit)).max();
    ended.unwrap_or_default().since(started.min().unwrap_or_default())
}

/// Whether similar calls with at least as much data usually take far less.
fn is_unusual(joint: &Joint, all: &[Joint]) -> bool {
    let bytes = |joint: &Joint| joint.sent.max(joint.received);
    let like = all.iter().filter(|other| other.function == joint.function && bytes(other) >= bytes(joint));
    let mut spans: Vec<u64> = like.map(|other| other.span.ps()).collect();
    let enough = spans.len() > 4;
    enough && median_in_place(&mut spans).is_some_and(|usual| joint.span.ps() / FACTOR > usual)
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_trace::{Call, Communicator, RankTrace, WORLD};

    /// Two ranks, one of them 40 µs late; collectives given by bytes and microseconds.
    fn traced(calls: &[(u64, u64)]) -> Trace {
        let mut ranks = vec![RankTrace::default(), RankTrace::default()];
        let mut now = Time::ZERO;
        for &(bytes, length) in calls {
            let last = now + Time::from_ns(40_000);
            let exit = last + Time::from_ns(length * 1_000);
            for (rank, enter) in ranks.iter_mut().zip([now, last]) {
                rank.push(Call { comm: WORLD, sent: bytes, ..Call::new(Function::Alltoall, enter, exit) });
            }
            now = exit + Time::from_ns(100_000);
        }
        Trace { ranks, communicators: vec![Communicator::world(2)], ..Trace::default() }
    }

    #[test]
    fn what_took_far_longer_than_its_like_is_told() {
        let usual = [(8, 5), (8, 6), (1024, 7), (8, 5), (8, 4)];
        assert_eq!(unusual(&traced(&usual)), [] as [&str; 0]);
        let slow = [&[(8, 20_000)], &usual[..]].concat();
        let told = unusual(&traced(&slow));
        assert!(told.len() == 1 && told[0].starts_with("1 × MPI_Alltoall, 20 ms in total"), "{told:?}");
        // More data than any other call: the usual time is unknown.
        let large = [&[(1 << 20, 20_000)], &usual[..]].concat();
        assert_eq!(unusual(&traced(&large)), [] as [&str; 0]);
    }
}
