//! Traces of SST's DUMPI: one binary file per rank, and a text file `.meta` beside them.
//!
//! There is one record per call, with its times of entry and exit, all arguments, and the statuses
//! that the library returned (`stream.rs`, `table.rs`): these tell who sent to a wildcard and what
//! completed. Datatypes are known by size (`types.rs`). Each rank numbers its communicators itself;
//! they are replayed from the calls that made them (`communicators.rs`). The clocks are those of
//! the nodes; the format has no data to align them.

mod communicators;
mod rank;
mod stream;
mod table;
mod types;

use super::{ImportError, Source};
use rank::Stream;
use std::collections::BTreeMap;
use straggler_model::Time;
use straggler_trace::{Meta, Trace};

/// Whether a file begins like a DUMPI file.
pub fn looks_like(head: &[u8]) -> bool {
    head.starts_with(&stream::MAGIC)
}

/// Whether a text is the description of a DUMPI trace.
pub fn is_meta(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    ["numprocs=", "fileprefix="].iter().all(|key| text.lines().any(|line| line.trim_start().starts_with(key)))
}

/// Reads the files of all ranks, in order of rank, and the description, if there is one.
pub fn read(sources: &[Source], meta: Option<&Source>) -> Result<Trace, ImportError> {
    let more = meta.map(|meta| pairs(&meta.bytes)).unwrap_or_default();
    if let Some(ranks) = more.get("numprocs").and_then(|ranks| ranks.parse().ok())
        && ranks != sources.len() as u64
    {
        return Err(ImportError::MissingRank { rank: sources.len() as u64, ranks });
    }
    let mut streams = Vec::with_capacity(sources.len());
    for (rank, source) in sources.iter().enumerate() {
        let failed = |wrong: stream::Wrong| ImportError::Byte {
            file: source.name.clone(),
            rank,
            offset: wrong.offset,
            what: wrong.what,
        };
        streams.push(rank::read(source).map_err(failed)?);
    }
    let replay = communicators::replay(&mut streams);
    let notes = notes(&streams, &replay);
    set_times(&mut streams);
    let first = streams.first();
    let version = first.map(|stream| stream.header.version.map(|part| part.to_string()).join("."));
    let meta = Meta {
        format: format!("DUMPI {}", version.unwrap_or_default()),
        program: first.map(|stream| stream.program.join(" ")).unwrap_or_default(),
        library: String::new(),
        more,
    };
    let ranks = streams.into_iter().map(|stream| stream.rank).collect();
    Ok(Trace { meta, ranks, communicators: replay.communicators, notes, ..Trace::default() })
}

fn pairs(text: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(text);
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(key, value)| (key.trim().to_string(), value.trim().to_string())).collect()
}

/// Sets the times of all calls, counted from the earliest of the run.
fn set_times(streams: &mut [Stream]) {
    let zero = streams.iter().flat_map(|stream| &stream.times).map(|[enter, _]| *enter).min().unwrap_or(0);
    let after = |moment: i64| {
        let nanoseconds = u64::try_from(i128::from(moment) - i128::from(zero)).unwrap_or(0);
        Time::from_ns(nanoseconds)
    };
    for stream in streams {
        for (call, [enter, exit]) in stream.rank.calls.iter_mut().zip(&stream.times) {
            (call.enter, call.exit) = (after(*enter), after(*exit.max(enter)));
        }
        stream.rank.calls.sort_by_key(|call| call.enter);
        stream.rank.host = std::mem::take(&mut stream.header.host);
    }
}

fn notes(streams: &[Stream], replay: &communicators::Replay) -> Vec<String> {
    let mut notes = vec!["clocks are those of the nodes; the format has no data to align them".to_string()];
    let total =
        |count: fn(&rank::Counts) -> u64| streams.iter().map(|stream| count(&stream.counts)).sum::<u64>();
    let mut say = |count: u64, what: &str| {
        if count > 0 {
            notes.push(format!("{count} {what}"));
        }
    };
    say(
        total(|counts| counts.truncated),
        "files have no index: their programs ended early, they are read as far as possible",
    );
    say(total(|counts| counts.no_wall), "calls have no wall-clock times; CPU times are used, or none");
    say(
        total(|counts| counts.unmatched),
        "receives from any source without a status: the sender is not recorded",
    );
    say(total(|counts| counts.unknown_types), "uses of datatypes of unknown size; their bytes are zero");
    say(
        total(|counts| counts.strange_requests),
        "waits name requests that no call created; they are ignored",
    );
    say(total(|counts| counts.unrecorded), "calls were only counted by the tracer, as configured");
    say(
        replay.lost_communicators,
        "communicators with unknown members (between groups, of spawned processes, or not created by all)",
    );
    say(replay.lost_calls, "calls on such communicators are kept as calls of unknown functions");
    let unknown: Vec<String> =
        rank::unknown(streams).iter().map(|(name, count)| format!("{count} {name}")).collect();
    if !unknown.is_empty() {
        notes.push(format!("ignored, they neither communicate nor wait: {}", unknown.join(", ")));
    }
    notes
}
