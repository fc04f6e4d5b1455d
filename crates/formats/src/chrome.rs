//! Chrome's trace-event format, which Perfetto's and Chrome's viewers open.
//!
//! A process of the run is a process of the viewer; its CPUs and the two sides of its NICs are
//! threads. Times are microseconds with six decimals, which keeps picoseconds exact. Noise is a
//! slice of its own at the end of the slice it lengthened. A region is a slice around those of its thread. A message is a
//! flow arrow. Calls of a
//! traced run are named after their functions, all other slices after their kind.

mod read;

pub use read::{BEGINNING, ReadError, Run, read};

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{self, Write};
use straggler_model::{Rank, Time};
use straggler_trace::Function;
use straggler_trace::timeline::{Activity, Arrow, Kind, Lane, RegionSpan, Timeline};

#[derive(Serialize)]
struct Slice<'a> {
    ph: &'static str,
    name: &'a str,
    cat: &'static str,
    pid: u32,
    tid: u32,
    ts: Box<RawValue>,
    dur: Box<RawValue>,
    args: Value,
}

/// One end of a message's arrow.
#[derive(Serialize)]
struct FlowEnd {
    ph: &'static str,
    bp: &'static str,
    name: &'static str,
    cat: &'static str,
    id: usize,
    pid: u32,
    tid: u32,
    ts: Box<RawValue>,
    args: Value,
}

/// Writes `timeline` as one JSON object. `about` goes into the trace's metadata.
pub fn write<W: Write>(timeline: &Timeline, about: &Value, out: W) -> io::Result<()> {
    write_with_regions(timeline, &[], about, out)
}

/// The same with the regions of each rank.
pub fn write_with_regions<W: Write>(
    timeline: &Timeline,
    regions: &[Vec<RegionSpan<'_>>],
    about: &Value,
    mut out: W,
) -> io::Result<()> {
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[")?;
    let mut first = true;
    let mut event = |value: &str| -> io::Result<()> {
        out.write_all(if std::mem::take(&mut first) { b"\n" } else { b",\n" })?;
        out.write_all(value.as_bytes())
    };
    for name in lane_names(timeline) {
        event(&name.to_string())?;
    }
    for (rank, of_rank) in (0..).zip(regions) {
        for region in of_rank {
            event(&serde_json::to_string(&region_slice(rank, region))?)?;
        }
    }
    for activity in &timeline.activities {
        for slice in slices(activity) {
            event(&serde_json::to_string(&slice)?)?;
        }
    }
    for (id, arrow) in timeline.arrows.iter().enumerate() {
        for end in flow(id, arrow) {
            event(&serde_json::to_string(&end)?)?;
        }
    }
    out.write_all(b"\n]}\n")?;
    out.flush()
}

fn thread(lane: Lane) -> u32 {
    match lane {
        Lane::Cpu(cpu) => u32::from(cpu),
        Lane::Send(nic) => 1000 + 2 * u32::from(nic),
        Lane::Receive(nic) => 1001 + 2 * u32::from(nic),
    }
}

/// The inverse of [`thread`].
fn lane_of(thread: u32) -> Option<Lane> {
    match thread {
        0..=255 => Some(Lane::Cpu(thread as u8)),
        1000..1512 if thread.is_multiple_of(2) => Some(Lane::Send(((thread - 1000) / 2) as u8)),
        1000..1512 => Some(Lane::Receive(((thread - 1001) / 2) as u8)),
        _ => None,
    }
}

fn lane_name(lane: Lane) -> String {
    match lane {
        Lane::Cpu(cpu) => format!("CPU {cpu}"),
        Lane::Send(nic) => format!("NIC {nic} send"),
        Lane::Receive(nic) => format!("NIC {nic} receive"),
    }
}

/// The names of processes and threads, once each.
fn lane_names(timeline: &Timeline) -> Vec<Value> {
    let lanes: BTreeSet<(u32, Lane)> = timeline.activities.iter().map(|a| (a.rank, a.lane)).collect();
    let ranks: BTreeSet<u32> = lanes.iter().map(|&(rank, _)| rank).collect();
    let process = |rank: u32| {
        let name = format!("rank {rank}");
        [
            json!({"ph": "M", "name": "process_name", "pid": rank, "args": {"name": name}}),
            json!({"ph": "M", "name": "process_sort_index", "pid": rank, "args": {"sort_index": rank}}),
        ]
    };
    let lane = |(rank, lane): (u32, Lane)| json!({"ph": "M", "name": "thread_name", "pid": rank, "tid": thread(lane), "args": {"name": lane_name(lane)}});
    ranks.into_iter().flat_map(process).chain(lanes.into_iter().map(lane)).collect()
}

/// Picoseconds as microseconds, exactly: a JSON number with more digits than a float can hold.
fn microseconds(time: Time) -> Box<RawValue> {
    let text = format!("{}.{:06}", time.ps() / 1_000_000, time.ps() % 1_000_000);
    // Digits with a point are always a number; the fallback keeps the function total.
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn slices(activity: &Activity) -> Vec<Slice<'static>> {
    let (name, cat) = match activity.kind {
        Kind::Compute => ("compute", "compute"),
        Kind::Send => ("send", "overhead"),
        Kind::Receive => ("receive", "overhead"),
        Kind::Gap => ("gap", "gap"),
        Kind::Wait => ("wait", "call"),
        Kind::Collective => ("collective", "call"),
        Kind::Other => ("other", "call"),
    };
    let name = activity.function.map_or(name, Function::name);
    let args = match activity.kind {
        Kind::Compute => json!({}),
        _ if activity.peer == Rank::MAX => json!({"tag": activity.tag, "bytes": activity.bytes}),
        _ => json!({"peer": activity.peer, "tag": activity.tag, "bytes": activity.bytes}),
    };
    let slice = |name, cat, start: Time, end: Time, args| Slice {
        ph: "X",
        name,
        cat,
        pid: activity.rank,
        tid: thread(activity.lane),
        ts: microseconds(start),
        dur: microseconds(end.since(start)),
        args,
    };
    let mut list = vec![slice(name, cat, activity.start, activity.end, args)];
    if activity.noise > Time::ZERO {
        let start = Time(activity.end.ps().saturating_sub(activity.noise.ps()));
        list.push(slice("noise", "noise", start, activity.end, json!({})));
    }
    list
}

/// A region, around the calls of its thread.
fn region_slice<'a>(rank: Rank, region: &RegionSpan<'a>) -> Slice<'a> {
    Slice {
        ph: "X",
        name: region.name,
        cat: REGION,
        pid: rank,
        tid: thread(Lane::Cpu(region.thread.min(255) as u8)),
        ts: microseconds(region.start),
        dur: microseconds(region.end.since(region.start)),
        args: json!({}),
    }
}

/// The category of regions.
const REGION: &str = "region";

/// Both ends of a message's arrow.
fn flow(id: usize, arrow: &Arrow) -> [FlowEnd; 2] {
    let end = |ph, rank: u32, cpu: u8, time: Time| FlowEnd {
        ph,
        bp: "e",
        name: "message",
        cat: "message",
        id,
        pid: rank,
        tid: thread(Lane::Cpu(cpu)),
        ts: microseconds(time),
        args: json!({"bytes": arrow.bytes, "tag": arrow.tag}),
    };
    [end("s", arrow.from, arrow.from_cpu, arrow.sent), end("f", arrow.to, arrow.to_cpu, arrow.received)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loses_no_picosecond() {
        assert_eq!(microseconds(Time(1_234_567_890_001)).get(), "1234567.890001");
        assert_eq!(microseconds(Time(5)).get(), "0.000005");
    }

    #[test]
    fn writes_one_json_object_with_noise_and_arrows() {
        let activity = Activity {
            rank: 3,
            lane: Lane::Cpu(0),
            kind: Kind::Send,
            function: None,
            start: Time(1_000_000),
            end: Time(3_500_000),
            noise: Time(500_000),
            bytes: 8,
            peer: 4,
            tag: 1,
        };
        let arrow = Arrow {
            from: 3,
            from_cpu: 0,
            to: 4,
            to_cpu: 0,
            sent: Time(1_000_000),
            received: Time(9_000_000),
            bytes: 8,
            tag: 1,
        };
        let call =
            Activity { kind: Kind::Wait, function: Some(Function::Waitall), peer: Rank::MAX, ..activity };
        let timeline = Timeline { activities: vec![activity, call], arrows: vec![arrow] };
        let mut text = Vec::new();
        write(&timeline, &json!({"seed": 1}), &mut text).unwrap();
        let value: Value = serde_json::from_slice(&text).unwrap();
        let events = value["traceEvents"].as_array().unwrap();
        let named = |name: &str| events.iter().filter(|event| event["name"] == name).collect::<Vec<_>>();
        assert_eq!(named("send")[0]["dur"].as_f64(), Some(2.5));
        assert_eq!(named("noise")[0]["ts"].as_f64(), Some(3.0));
        assert_eq!(named("MPI_Waitall")[0]["args"], json!({"tag": 1, "bytes": 8}));
        assert_eq!(named("message").len(), 2);
        assert_eq!(named("thread_name")[0]["args"]["name"], "CPU 0");
    }

    #[test]
    fn regions_are_slices() {
        let mut rank = straggler_trace::RankTrace::default();
        for (function, time, name) in [
            (Function::RegionEnter, 5, "solve"),
            (Function::RegionEnter, 6, "inner"),
            (Function::RegionLeave, 9, "solve"),
        ] {
            rank.push_with(
                straggler_trace::Call::new(function, Time(time), Time(time)),
                straggler_trace::Details::named(name),
            );
        }
        let regions = [Vec::new(), RegionSpan::new(&rank)];
        let mut text = Vec::new();
        write_with_regions(&Timeline::default(), &regions, &json!({}), &mut text).unwrap();
        let value: Value = serde_json::from_slice(&text).unwrap();
        let slices = value["traceEvents"].as_array().unwrap();
        let of = |slice: &Value| {
            let number = |key: &str| slice[key].as_f64().unwrap();
            (slice["name"].as_str().unwrap().to_owned(), number("pid"), number("ts"), number("dur"))
        };
        // The inner region is never left: it lasts to the end.
        let expected = [("solve".to_owned(), 1.0, 5e-6, 4e-6), ("inner".to_owned(), 1.0, 6e-6, 3e-6)];
        assert_eq!(slices.iter().map(of).collect::<Vec<_>>(), expected);
        assert_eq!(read(&text[..]).unwrap().timeline, Timeline::default());
    }
}
