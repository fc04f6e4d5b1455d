//! Spans of activities that are reported at their end with a net duration, as by the osnoise tracer.

use super::{CoreSpans, Span};
use crate::sources::ftrace_text::{Activity, Event, FtraceKind};
use crate::sources::names::{self, Names};

/// Processes the events of one core, sorted by their ends.
///
/// The activity that ended last ran last, except while others interrupted it, and those ended earlier. So the
/// net duration is laid back from the end over the time not yet assigned. Assigned time is kept as blocks,
/// which are merged, so that each is traversed once.
pub fn resolve_net(
    events: &[Event<'_>],
    worker: Option<i32>,
    units_per_ns: f64,
    names: &mut Names,
) -> CoreSpans {
    let mut found = CoreSpans::default();
    let mut blocks: Vec<(u64, u64)> = Vec::new();
    for event in events {
        let FtraceKind::Took { activity, nanoseconds, .. } = event.what else { continue };
        let name = name_of(&activity, worker, names);
        let units = (nanoseconds as f64 * units_per_ns) as u64;
        lay_back(event.at, units, &mut blocks, |start, end| {
            if let Some(name) = name {
                found.spans.push(Span { start, end, name });
            }
        });
    }
    found.spans.sort_unstable_by_key(|span| span.start);
    found
}

/// The measuring thread's own runs take time, but are not noise.
fn name_of(activity: &Activity<'_>, worker: Option<i32>, names: &mut Names) -> Option<u32> {
    match activity {
        Activity::Thread { thread, .. } if Some(*thread) == worker => None,
        Activity::Thread { thread: 0, .. } => Some(names.number(names::QUOTA)),
        _ => Some(names.activity(activity)),
    }
}

/// Invariant: blocks are sorted and disjoint, and end at or before `end` or are cut there.
fn lay_back(end: u64, mut units: u64, blocks: &mut Vec<(u64, u64)>, mut take: impl FnMut(u64, u64)) {
    let mut at = end;
    let mut block_end = end;
    while units > 0 {
        let (taken_from, taken_to) = blocks.last().copied().unwrap_or((0, 0));
        block_end = block_end.max(taken_to);
        let free_from = taken_to.min(at);
        let length = units.min(at - free_from);
        if length > 0 {
            take(at - length, at);
        }
        units -= length;
        at -= length;
        if at > taken_to || blocks.pop().is_none() {
            break;
        }
        at = at.min(taken_from);
    }
    if at < block_end {
        blocks.push((at, block_end));
    }
}
