//! Perfetto's own format, which ui.perfetto.dev and its trace processor open: binary, a tenth the
//! size of Chrome's JSON.
//!
//! A rank is a process with one track per thread. A call is a slice that carries its arguments, and so is a region; a
//! message is a flow from the call that sends it to its arrival. Times are whole nanoseconds, the
//! finest unit of the format. `perfetto/packets.rs` holds the few protobuf messages that are needed.

mod packets;

use packets::{Event, EventKind, Fields, Value, process, thread, track};
use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};
use straggler_model::{Rank, Time};
use straggler_trace::call::{Call, Details, NO_COMM, special};
use straggler_trace::messages::{Message, Messages};
use straggler_trace::timeline::RegionSpan;
use straggler_trace::trace::{RankTrace, Trace};
use straggler_trace::{Class, Function};

/// Writes a trace.
pub fn write<W: Write>(trace: &Trace, out: W) -> io::Result<()> {
    let messages = Messages::of_trace(trace).matched;
    let mut writer = Writer { out };
    let flows = Flows::new(&messages);
    for (rank, of_rank) in (0..).zip(&trace.ranks) {
        let tracks = Tracks { rank, ranks: trace.processes() };
        tracks.describe(of_rank, &mut writer)?;
        let threads: BTreeSet<u16> = of_rank.calls.iter().map(|call| call.thread).collect();
        let regions = RegionSpan::new(of_rank);
        for thread in threads {
            Slices { trace, rank, of_rank, flows: &flows, regions: &regions, track: tracks.thread(thread) }
                .write(thread, &mut writer)?;
        }
    }
    writer.out.flush()
}

struct Writer<W> {
    out: W,
}

impl<W: Write> Writer<W> {
    fn packet(&mut self, packet: &Fields) -> io::Result<()> {
        self.out.write_all(&packet.as_packet())
    }

    fn event(&mut self, time: Time, event: &Event) -> io::Result<()> {
        self.packet(&event.at(time.ps() / 1000))
    }
}

/// Track numbers: that of a process, then those of its threads. Process 0 means the idle process,
/// so ranks count from 1 there.
#[derive(Clone, Copy)]
struct Tracks {
    rank: Rank,
    ranks: u32,
}

impl Tracks {
    fn process(self) -> u64 {
        u64::from(self.rank) + 1
    }

    fn thread(self, thread: u16) -> u64 {
        self.process() + u64::from(self.ranks) * (1 + u64::from(thread))
    }

    fn describe<W: Write>(self, of_rank: &RankTrace, writer: &mut Writer<W>) -> io::Result<()> {
        let host = if of_rank.host.is_empty() { String::new() } else { format!(" on {}", of_rank.host) };
        let (uuid, name) = (self.process(), format!("rank {}{host}", self.rank));
        writer.packet(&track(&process(uuid, uuid, &name)))?;
        let threads: BTreeSet<u16> = of_rank.calls.iter().map(|call| call.thread).collect();
        for number in threads {
            let id = self.thread(number);
            writer.packet(&track(&thread(id, uuid, (uuid, id), &format!("thread {number}"))))?;
        }
        Ok(())
    }
}

/// The messages that a call sends, and those that have arrived at its end, as indices into `messages`.
struct Flows<'a> {
    messages: &'a [Message],
    sent: HashMap<(Rank, u32), Vec<usize>>,
    received: HashMap<(Rank, u32), Vec<usize>>,
}

impl<'a> Flows<'a> {
    fn new(messages: &'a [Message]) -> Flows<'a> {
        let mut flows = Flows { messages, sent: HashMap::new(), received: HashMap::new() };
        for (index, message) in messages.iter().enumerate() {
            let Some(received) = message.received_in() else { continue };
            let place = message.sent.place;
            flows.sent.entry((place.rank, place.call)).or_default().push(index);
            flows.received.entry((received.rank, received.call)).or_default().push(index);
        }
        flows
    }
}

/// The slices of one thread.
struct Slices<'a> {
    trace: &'a Trace,
    rank: Rank,
    of_rank: &'a RankTrace,
    flows: &'a Flows<'a>,
    /// By the call that enters each.
    regions: &'a [RegionSpan<'a>],
    track: u64,
}

impl Slices<'_> {
    /// Writes calls and regions as slices, nested or side by side. A slice that would cross the end of the
    /// one around it is cut off there.
    fn write<W: Write>(&self, thread: u16, writer: &mut Writer<W>) -> io::Result<()> {
        let mut open: Vec<(Time, u32)> = Vec::new();
        let calls = (0..).zip(&self.of_rank.calls).filter(|(_, call)| call.thread == thread);
        for (number, call) in calls {
            while let Some((exit, begun)) = open.pop_if(|(exit, _)| *exit <= call.enter) {
                self.end(exit, begun, writer)?;
            }
            let around = open.last().map_or(Time::NEVER, |(exit, _)| *exit);
            let region = self.regions.binary_search_by_key(&number, |region| region.call);
            let region = region.ok().and_then(|place| self.regions.get(place));
            match (call.function, region) {
                (_, Some(region)) => {
                    let event = self.event(EventKind::SliceBegin).named(region.name, "region");
                    writer.event(call.enter, &event)?;
                    open.push((region.end.min(around), number));
                }
                (Function::RegionLeave, _) => {}
                (function, _) if function.class() == Class::Mark => self.mark(call, writer)?,
                _ => {
                    self.begin(number, call, writer)?;
                    open.push((call.exit.max(call.enter).min(around), number));
                }
            }
        }
        while let Some((exit, begun)) = open.pop() {
            self.end(exit, begun, writer)?;
        }
        Ok(())
    }

    fn event(&self, kind: EventKind) -> Event {
        Event::new(kind, self.track)
    }

    fn begin<W: Write>(&self, number: u32, call: &Call, writer: &mut Writer<W>) -> io::Result<()> {
        let flows = self.flows.sent.get(&(self.rank, number)).into_iter().flatten();
        let event =
            self.event(EventKind::SliceBegin).named(&name(self.of_rank, call), category(call.function));
        let event = event.with(&self.annotations(number, call)).begins(flows.map(|&index| flow(index)));
        writer.event(call.enter, &event)
    }

    /// Arrivals are written at the end of the call that received them, since a flow must not end before it begins.
    fn end<W: Write>(&self, exit: Time, number: u32, writer: &mut Writer<W>) -> io::Result<()> {
        for &index in self.flows.received.get(&(self.rank, number)).into_iter().flatten() {
            let Some(Message { sent, .. }) = self.flows.messages.get(index) else { continue };
            let event = self.event(EventKind::Instant).named("message received", "message").with(&[
                ("from", Value::Number(sent.place.rank.into())),
                ("tag", Value::Integer(sent.tag.into())),
                ("bytes", Value::Number(sent.bytes)),
            ]);
            writer.event(exit, &event.ends(flow(index)))?;
        }
        writer.event(exit, &self.event(EventKind::SliceEnd))
    }

    /// Writes a mark of the program as an instant event.
    fn mark<W: Write>(&self, call: &Call, writer: &mut Writer<W>) -> io::Result<()> {
        let event = self.event(EventKind::Instant).named(&name(self.of_rank, call), "mark");
        writer.event(call.enter, &event)
    }

    fn annotations(&self, number: u32, call: &Call) -> Vec<(&'static str, Value)> {
        let mut found = vec![("call", Value::Number(u64::from(number)))];
        if call.comm != NO_COMM {
            found.push(("comm", Value::Number(u64::from(call.comm.0))));
        }
        let comm = self.trace.communicators.get(call.comm.index());
        match (call.peer, comm.and_then(|comm| comm.world_rank(self.rank, call.peer))) {
            (special::NONE, _) => {}
            (_, Some(rank)) => found.push(("peer", Value::Number(u64::from(rank)))),
            (other, None) => found.push(("peer", Value::Word(word(other)))),
        }
        match call.tag {
            special::NONE => {}
            tag if tag < 0 => found.push(("tag", Value::Word(word(tag)))),
            tag => found.push(("tag", Value::Integer(i64::from(tag)))),
        }
        for (key, bytes) in [("sent_bytes", call.sent), ("received_bytes", call.received)] {
            if bytes > 0 {
                found.push((key, Value::Number(bytes)));
            }
        }
        found.extend(self.of_rank.details(call).map(more).into_iter().flatten());
        found
    }
}

fn more(details: &Details) -> Vec<(&'static str, Value)> {
    let mut found = Vec::new();
    if !details.requests.is_empty() {
        found.push(("requests", Value::Number(details.requests.len() as u64)));
    }
    if let Some(repeated) = details.repeated {
        found.push(("calls", Value::Number(repeated.calls)));
    }
    if let Some(error) = details.error {
        found.push(("error", Value::Integer(i64::from(error))));
    }
    found
}

fn word(special: i32) -> &'static str {
    match special {
        special::ANY => "any",
        special::NOBODY => "nobody",
        special::ROOT => "root",
        _ => "?",
    }
}

/// The flow of a message. Flow 0 means none.
fn flow(message: usize) -> u64 {
    message as u64 + 1
}

fn name(of_rank: &RankTrace, call: &Call) -> String {
    let text = of_rank.details(call).and_then(|details| details.text.as_deref());
    match (call.function, text) {
        (Function::Unknown, Some(name)) => name.into(),
        (function, Some(text)) if function.class() == Class::Mark => format!("{function} {text}"),
        (function, _) => function.name().into(),
    }
}

fn category(function: Function) -> &'static str {
    match function.class() {
        Class::Send(..) | Class::Recv(_) | Class::Sendrecv(_) | Class::MatchedRecv(_) | Class::Begin => {
            "point-to-point"
        }
        Class::Wait(_) | Class::Test(_) | Class::Probe { .. } => "wait",
        Class::Collective(..) | Class::Neighbor(..) => "collective",
        Class::OneSided | Class::Epoch { .. } => "one-sided",
        _ => "other",
    }
}
