//! Traces of the PyTorch profiler (Kineto): JSON, one file per rank.

mod collectives;
mod events;
mod groups;
mod host;
mod idle;
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
        rank: events.rank.or_else(|| source::rank_in_name(path)),
        rank_from_name: events.rank.is_none(),
        is_placed: true,
        world: events.world,
        host: source::host_in_name(path),
        gpu: events.gpu(),
        origin_ps: events.origin_ps.unwrap_or(0) + i128::from(events.base_ns) * 1000,
        has_clock: true,
        synthetic: events.synthetic,
        ..Recorded::default()
    };
    quality(&events, &end, &mut recorded);
    let untimed = events.untimed.len();
    operations::build(events, &mut recorded);
    if recorded.ops.is_empty() {
        let what = match untimed {
            0 => "no kernel was launched within a completely recorded step".into(),
            _ => format!(
                "no step is completely recorded: {untimed} {} an invalid time",
                words::plural(untimed, "event has", "events have")
            ),
        };
        return Err(ImportError::Nothing { path: path.into(), what });
    }
    if matches!(end, End::Broken(_)) {
        without_last_step(&mut recorded);
    }
    Ok(recorded)
}

/// Drops the incomplete steps of a truncated file: the last step with kernels lacks some of them, and later steps
/// lack all. A file with only one step keeps it.
fn without_last_step(recorded: &mut Recorded) {
    let Some(last) = recorded.ops.iter().map(|op| op.step).max() else { return };
    if recorded.steps.first().is_some_and(|&first| first < last) {
        recorded.steps.retain(|&step| step < last);
        recorded.left_out.push((last, "the file is truncated"));
    }
}

fn no_kernels(events: &Events, end: &End) -> String {
    let cut = match end {
        End::Broken(at) if events.count == 0 => {
            return format!("it is not valid JSON from byte {at} on, before the first event");
        }
        End::Whole => String::new(),
        End::Broken(at) => format!(" before byte {at}, where it is truncated or damaged"),
    };
    format!(
        "it has {} events but no GPU kernel{cut}. Record with ProfilerActivity.CUDA, and let the profiler finish",
        events.count
    )
}

/// Every call that launches work takes longer than this, and few take as long as the longest.
const SHORTEST_CALL_PS: i64 = 100_000;
const LONGEST_CALL_PS: i64 = 1_000_000_000;

/// Returns a note if calls are too short or too long for times in microseconds.
fn other_unit(events: &Events) -> Option<String> {
    let mut takes: Vec<i64> = events.launches.iter().filter_map(|launch| launch.takes_ps).collect();
    takes.sort_unstable();
    // Calls wait where the GPU has too much to do, but not nearly all of them.
    let (middle, short) = (*takes.get(takes.len() / 2)?, takes[takes.len() / 10]);
    let (calls, unit) = if middle < SHORTEST_CALL_PS {
        (
            format!("Half of the calls that launch kernels take {} or less", words::time(middle)),
            ["fast", "milli"],
        )
    } else if short > LONGEST_CALL_PS && takes.len() >= 10 {
        (
            format!("Nine of ten calls that launch kernels take {} or more", words::time(short)),
            ["slow", "nano"],
        )
    } else {
        return None;
    };
    let [fast, unit] = unit;
    Some(format!(
        "{calls}, which is implausibly {fast}: are the times in {unit}seconds? The profiler writes microseconds."
    ))
}

/// Adds notes about damage to the file.
fn quality(events: &Events, end: &End, recorded: &mut Recorded) {
    recorded.common_notes.extend(other_unit(events));
    if let End::Broken(at) = end {
        recorded.note(&format!(
            "the JSON is truncated or damaged at byte {at}. The {} events before that are used; operations are missing.",
            events.count
        ));
    }
    if let Some(at) = events.first_damaged {
        recorded.note(&format!(
            "{} not valid JSON, the first at byte {at}: {} left out, and what {} recorded is missing. Was the file damaged \
             when it was copied?",
            match events.damaged {
                1 => "one place is".into(),
                count => format!("{count} places are"),
            },
            words::plural(events.damaged, "the event there is", "the events there are"),
            words::plural(events.damaged, "it", "they"),
        ));
    }
    if events.unreadable > 0 {
        let were = words::plural(events.unreadable, "event was", "events were");
        recorded.note(&format!("{} {were} left out: invalid time, stream or form.", events.unreadable));
    }
}
