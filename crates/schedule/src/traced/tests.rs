//! Small traces and the schedules they should become, worked out by hand.

mod calls;
mod faults;
mod requests;

use super::{Building, Options, Playback, TraceError, TracedRun};
use crate::Graph;
use crate::goal::{self, text_write};
use std::sync::Arc;
use straggler_model::Time;
use straggler_trace::{
    Call, CommId, Communicator, Completed, Details, Function, Matched, RankTrace, Rare, RequestId, Trace,
};

/// A call that begins and ends at these nanoseconds.
fn call(function: Function, enter: u64, exit: u64) -> Call {
    Call { comm: CommId(0), ..Call::new(function, Time::from_ns(enter), Time::from_ns(exit)) }
}

/// A call with a peer, a tag, and the bytes sent or received.
fn message(function: Function, enter: u64, exit: u64, peer: i32, tag: i32, bytes: u64) -> Call {
    Call { peer, tag, sent: bytes, received: bytes, ..call(function, enter, exit) }
}

fn with_request(request: RequestId, call: Call) -> Call {
    Call { request, ..call }
}

fn requests(requests: &[RequestId]) -> Details {
    Details { requests: requests.into(), found: true, ..Details::default() }
}

fn completed(request: RequestId, matched: Option<(i32, i32)>) -> Completed {
    let matched = matched.map(|(peer, tag)| Matched { peer, tag });
    Completed { request, matched, cancelled: false }
}

/// A rank made of calls, each with or without details.
fn rank(calls: Vec<(Call, Option<Details>)>) -> RankTrace {
    let mut rank = RankTrace::default();
    for (call, details) in calls {
        match details {
            Some(details) => rank.push_with(call, details),
            None => rank.push(call),
        }
    }
    rank
}

fn plain(call: Call) -> (Call, Option<Details>) {
    (call, None)
}

fn with(call: Call, details: Details) -> (Call, Option<Details>) {
    (call, Some(details))
}

fn traced(ranks: Vec<RankTrace>) -> Trace {
    let communicators = vec![Communicator::world(ranks.len() as u32)];
    Trace { ranks, communicators, ..Trace::default() }
}

fn record(trace: &Trace) -> Result<TracedRun, TraceError> {
    TracedRun::from_trace(trace, &Options::default())
}

fn played(trace: &Trace, options: &Options, copies: u32) -> Graph {
    let recording = TracedRun::from_trace(trace, options).unwrap();
    let playback = Playback::new(Arc::new(recording), copies, &Building::default()).unwrap();
    playback.materialise().unwrap()
}

/// The lines of a schedule as text, sorted within each rank.
fn lines(graph: &Graph) -> Vec<Vec<String>> {
    let mut out = Vec::new();
    text_write::write(graph, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let ranks = text.split("rank ").map(|rank| {
        let mut lines: Vec<String> = rank.lines().map(str::to_string).collect();
        lines.sort_unstable();
        lines
    });
    ranks.collect()
}

/// Compares a graph with GOAL text.
fn assert_goal(graph: &Graph, expected: &str) {
    let expected = goal::parse(expected.as_bytes()).unwrap();
    assert_eq!(lines(graph), lines(&expected));
}
