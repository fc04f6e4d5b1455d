//! The clock file that the probe writes next to a table: `rank-00003.clock` has the host of rank 3, and how far the wall clock
//! was ahead of the monotonic clock at the beginning and at the end.
//!
//! Times of a table are those of the monotonic clock plus this difference at the beginning. If the wall clock was set during the
//! recording, it was wrong before, and so the times may be wrong. Nothing is corrected here, because it is unknown when the clock
//! was set. Clock offsets are found from transfers.

use crate::words;
use std::collections::BTreeMap;
use std::path::Path;

/// A wall clock that moved by less was not set, in nanoseconds.
const SET_NS: i64 = 1_000_000;
/// The maximum size of the file.
const MOST_BYTES: u64 = 4096;

/// How far the clocks of a rank moved against each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clock {
    pub host: String,
    /// How far the wall clock moved relative to the monotonic one, in nanoseconds.
    pub moved_ns: i64,
    /// What the recorder could not separate.
    pub caveat: Option<String>,
}

impl Clock {
    /// The clock file next to a table, if any. One that cannot be read is ignored.
    pub fn beside(table: &Path) -> Option<Clock> {
        let path = table.with_extension("clock");
        if !std::fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() <= MOST_BYTES) {
            return None;
        }
        Clock::parse(&std::fs::read_to_string(path).ok()?)
    }

    fn parse(text: &str) -> Option<Clock> {
        let value = |name: &str| {
            let lines = text.lines().filter_map(|line| line.split_once(':'));
            lines
                .map(|(key, value)| (key, value.trim()))
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value)
        };
        let ns = |name: &str| -> Option<i64> {
            let (seconds, rest) = value(name)?.split_once('.')?;
            let rest: i64 = rest.parse().ok().filter(|_| rest.len() == 9)?;
            seconds.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(rest)
        };
        let host = value("host").filter(|host| !host.is_empty())?.to_string();
        let begin = ns("wall_minus_monotonic_at_start");
        let end = ns("wall_minus_monotonic_at_last_flush");
        let moved_ns = begin.zip(end).and_then(|(begin, end)| end.checked_sub(begin)).unwrap_or(0);
        let caveat = value("caveat").map(str::to_string);
        Some(Clock { host, moved_ns, caveat })
    }
}

/// A sentence about what recorders could not separate: then a rank that is slow may make all ranks look slow.
pub fn caveat(clocks: &BTreeMap<u32, Clock>) -> Option<String> {
    let said = || clocks.iter().filter_map(|(rank, clock)| Some((*rank, clock.caveat.as_ref()?)));
    let (_, first) = said().next()?;
    let ranks: Vec<u32> = said().map(|(rank, _)| rank).collect();
    Some(format!(
        "the recorder of {} says: {first}. Ranks that wait for a slow one then look slow, too",
        words::named("rank", &ranks)
    ))
}

/// A sentence about clocks that were set.
pub fn note(clocks: &BTreeMap<u32, Clock>) -> Option<String> {
    let set = clocks.iter().filter(|(_, clock)| clock.moved_ns.saturating_abs() >= SET_NS);
    let (rank, clock) = set.clone().max_by_key(|(_, clock)| clock.moved_ns.saturating_abs())?;
    let count = set.count();
    Some(format!(
        "the wall {} set during the recording, by up to {} (rank {rank}, {}): its times may be off by as much",
        if count == 1 { "clock of 1 rank was".to_string() } else { format!("clocks of {count} ranks were") },
        words::time(clock.moved_ns.saturating_mul(1000)),
        clock.host
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_as_the_probe_writes_them() {
        let text = "host: node-7\nwall_minus_monotonic_at_start: 1700000000.000000001\n\
                    wall_minus_monotonic_at_last_flush: 1699999999.750000000\n";
        let clock = Clock::parse(text).unwrap();
        assert_eq!(clock, Clock { host: "node-7".into(), moved_ns: -250_000_001, caveat: None });
        let still = Clock { moved_ns: 999_999, ..clock.clone() };
        let note = |clocks: [Clock; 2]| super::note(&[3, 5].into_iter().zip(clocks).collect());
        assert_eq!(note([still.clone(), still.clone()]), None);
        let says = note([still, clock]).unwrap();
        assert!(
            says.starts_with(
                "the wall clock of 1 rank was set during the recording, by up to -250.0 ms (rank 5"
            ),
            "{says}"
        );
        let text = format!("{text}caveat: backward includes waits for other ranks: no model was given\n");
        let clocks = [(4, Clock::parse(&text).unwrap())].into_iter().collect();
        assert_eq!(
            caveat(&clocks).as_deref(),
            Some(
                "the recorder of rank 4 says: backward includes waits for other ranks: no model was given. Ranks that wait for a \
                 slow one then look slow, too"
            )
        );
        assert_eq!(Clock::parse("host:\n"), None);
        assert_eq!(Clock::parse("host: a\nwall_minus_monotonic_at_start: 1").unwrap().moved_ns, 0);
    }
}
