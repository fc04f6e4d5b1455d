//! Traces of the PyTorch profiler (Kineto): JSON, one file per rank.

mod collectives;
mod events;
mod groups;
mod meaning;
mod operations;
mod phases;
mod stalls;
mod table;
mod values;
mod waits;

use super::json::{self, End};
use super::recorded::Recorded;
use super::{ImportError, source, words};
use crate::median::median;
use events::Events;
use std::path::Path;

pub fn read(path: &Path) -> Result<Recorded, ImportError> {
    let mut events = Events::default();
    let end = json::walk(source::open(path)?, &mut events)
        .map_err(|source| ImportError::Io { path: path.into(), source })?;
    if events.kernels.is_empty() {
        return Err(ImportError::Nothing { path: path.into(), what: no_kernels(&events, &end) });
    }
    let mut recorded = Recorded {
        path: path.into(),
        rank: events.rank,
        world: events.world,
        origin_ps: events.origin_ps.unwrap_or(0) + i128::from(events.base_ns) * 1000,
        has_clock: true,
        synthetic: events.synthetic,
        ..Recorded::default()
    };
    quality(&events, &end, &mut recorded);
    operations::build(events, &mut recorded);
    if recorded.ops.is_empty() {
        let what = "no kernel was launched within a step that was recorded whole".to_string();
        return Err(ImportError::Nothing { path: path.into(), what });
    }
    if matches!(end, End::Broken(_)) {
        without_last_step(&mut recorded);
    }
    Ok(recorded)
}

/// Where a file breaks off, the last step that has kernels lacks some, and those after it lack all. A file of one step keeps it.
fn without_last_step(recorded: &mut Recorded) {
    let Some(last) = recorded.ops.iter().map(|op| op.step).max() else { return };
    if recorded.steps.first().is_some_and(|&first| first < last) {
        recorded.steps.retain(|&step| step < last);
        recorded.left_out.push((last, "the file breaks off"));
    }
}

fn no_kernels(events: &Events, end: &End) -> String {
    let cut = match end {
        End::Broken(at) if events.count == 0 => {
            return format!("it is no JSON from byte {at} on, before any event");
        }
        End::Whole => String::new(),
        End::Broken(at) => format!(" before byte {at}, where it breaks off"),
    };
    format!(
        "it has {} events but no GPU kernel{cut}. Record with ProfilerActivity.CUDA, and let the profiler finish",
        events.count
    )
}

/// No call that launches work takes less.
const SHORTEST_CALL_PS: i64 = 100_000;

/// A sentence about times that are too short for microseconds.
fn too_short(events: &Events) -> Option<String> {
    let mut takes: Vec<i64> = events.launches.iter().filter_map(|launch| launch.takes_ps).collect();
    let middle = median(&mut takes);
    (!takes.is_empty() && middle < SHORTEST_CALL_PS).then(|| {
        format!(
            "Half of the calls that launch kernels take {} or less, and no such call is that fast: are the times in milliseconds? The \
             profiler writes microseconds.",
            words::time(middle)
        )
    })
}

/// What is wrong with the file.
fn quality(events: &Events, end: &End, recorded: &mut Recorded) {
    recorded.common_notes.extend(too_short(events));
    if let End::Broken(at) = end {
        recorded.note(&format!(
            "the JSON breaks off at byte {at}. The {} events before that are used; operations are missing.",
            events.count
        ));
    }
    if events.unreadable > 0 {
        let were = words::plural(events.unreadable, "event was", "events were");
        recorded.note(&format!("{} {were} left out: no valid time, stream or form.", events.unreadable));
    }
}
