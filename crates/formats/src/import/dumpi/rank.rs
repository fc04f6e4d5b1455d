//! The file of one rank, as calls and as events that create groups and communicators.
//!
//! Communicators are still numbers of this rank; [`super::communicators`] replaces them.

use super::stream::{Cursor, Header, Index, MAGIC, Record, Status, Wrong, calls, header, sizes};
use super::table::PROGRAM_FUNCTIONS;
use super::types::Types;
use crate::import::Source;
use crate::import::arguments::{Arguments, bytes, push};
use crate::import::requests::{Meant, Requests};
use std::collections::{BTreeMap, HashMap};
use straggler_model::Time;
use straggler_trace::call::{Call, CommId, Completed, Details, Matched, NO_COMM, special};
use straggler_trace::{Class, Function, HowMany, RankTrace, RequestId, Start};

/// DUMPI's numbers for invalid and null requests.
const REQUEST_ERROR: i32 = 0;
const REQUEST_NULL: i32 = 1;

/// A call that creates a group or a communicator, with DUMPI's numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Event {
    /// How many calls the rank had made, including this one.
    pub after: usize,
    pub record: Record,
}

/// The contents of one file.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub header: Header,
    pub program: Vec<String>,
    pub rank: RankTrace,
    /// Enter and exit in nanoseconds since the clock's zero.
    pub times: Vec<[i64; 2]>,
    pub events: Vec<Event>,
    pub counts: Counts,
}

/// Counts for the notes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    pub truncated: u64,
    pub unmatched: u64,
    pub unknown_types: u64,
    pub no_wall: u64,
    pub strange_requests: u64,
    pub unrecorded: u64,
}

struct Reader {
    stream: Stream,
    functions: HashMap<u16, Function>,
    types: Types,
    requests: Requests<i32>,
    /// Active wildcard receives, with the index of the call that made them.
    open: HashMap<RequestId, usize>,
    offsets: [i64; 2],
    laps: i64,
    last_second: i64,
    /// Number of records by function.
    seen: HashMap<u16, u64>,
}

pub(super) fn read(source: &Source) -> Result<Stream, Wrong> {
    let bytes = &source.bytes;
    if !bytes.starts_with(&MAGIC) {
        return Err(Wrong { offset: 0, what: "this is not the start of a DUMPI file".into() });
    }
    let index = Index::new(bytes);
    let place = index.unwrap_or(Index { body: 8, ..Index::default() });
    let header = if place.header > 0 { header(bytes, place.header)? } else { LATEST };
    let table = if place.sizes > 0 { sizes(bytes, place.sizes)? } else { vec![] };
    let called = if place.footer > 0 { calls(bytes, place.footer)? } else { vec![] };
    let mut cursor = Cursor::new(bytes, place.body);
    let offsets = [i64::from(cursor.i32()?), i64::from(cursor.i32()?)];
    let version = header.version;
    let mut reader = Reader {
        stream: Stream { header, ..Stream::default() },
        functions: HashMap::new(),
        types: Types::new(table),
        requests: Requests::new(Meant::Oldest),
        open: HashMap::new(),
        offsets,
        laps: 0,
        last_second: 0,
        seen: HashMap::new(),
    };
    loop {
        match Record::read(&mut cursor, version) {
            Ok(Some(record)) => reader.record(&record),
            Ok(None) => break,
            // Without an index the program ended early, and the file is incomplete.
            Err(wrong) if index.is_none() && cursor.at > 16 && !wrong.what.starts_with("unknown") => {
                reader.stream.counts.truncated = 1;
                break;
            }
            Err(wrong) => return Err(wrong),
        }
    }
    reader.stream.counts.unknown_types = reader.types.unknown;
    reader.stream.counts.unrecorded = reader.unrecorded(&called);
    Ok(reader.stream)
}

/// The defaults for a file without a header.
const LATEST: Header = Header { version: [1, 1, 0], host: String::new() };

impl Reader {
    fn record(&mut self, record: &Record) {
        self.types.learn(record);
        *self.seen.entry(record.code).or_default() += 1;
        if !record.program.is_empty() {
            self.stream.program = record.program.clone();
        }
        let name = record.name();
        let function = *self
            .functions
            .entry(record.code)
            .or_insert_with(|| Function::named(&format!("MPI_{name}")).unwrap_or(Function::Unknown));
        let times = self.times(record);
        if function == Function::Unknown {
            let name =
                if PROGRAM_FUNCTIONS.contains(&record.code) { "functions of the program" } else { name };
            *self.stream.rank.unknown.entry(format!("MPI_{name}")).or_default() += 1;
        } else {
            self.call(function, record);
            self.stream.times.push(times);
        }
        if record.number(b'G').is_some() || record.number(b'C').is_some() {
            self.stream.events.push(Event { after: self.stream.rank.calls.len(), record: record.clone() });
        }
    }

    /// Number of calls that the tracer counted but did not record.
    fn unrecorded(&self, called: &[i32]) -> u64 {
        let missing = |(code, &calls): (u16, &i32)| {
            u64::try_from(calls).unwrap_or(0).saturating_sub(self.seen.get(&code).copied().unwrap_or(0))
        };
        (0..).zip(called).map(missing).sum()
    }

    /// The times of a record. Seconds have 16 bits and restart at zero after 18 hours.
    fn times(&mut self, record: &Record) -> [i64; 2] {
        let [processor, wall] = self.offsets;
        let (times, offset) = match (record.wall, record.processor) {
            (Some(wall_times), _) => (wall_times, wall),
            (None, Some(processor_times)) => (processor_times, processor),
            (None, None) => ([(0, 0); 2], 0),
        };
        self.stream.counts.no_wall += u64::from(record.wall.is_none());
        times.map(|(second, nanosecond)| {
            let second = i64::from(second);
            if self.last_second - second > 1 << 15 {
                self.laps += 1 << 16;
            } else if second - self.last_second > 1 << 15 && self.laps > 0 {
                self.laps -= 1 << 16;
            }
            self.last_second = second;
            (offset + self.laps + second).saturating_mul(1_000_000_000).saturating_add(i64::from(nanosecond))
        })
    }

    fn call(&mut self, function: Function, record: &Record) {
        let mut call = Call::new(function, Time::ZERO, Time::ZERO);
        let mut details = Details::default();
        call.thread = record.thread;
        self.arguments(function, record).fill(&mut call, &mut details);
        call.comm = record.number(b'c').map_or(NO_COMM, |comm| CommId(comm as u32));
        if let Some(window) = record.number(b'q').and_then(|window| u32::try_from(window).ok()) {
            details.rare.window = Some(window);
        }
        if let Some(handle) = record.number(b'r').filter(|_| function.makes_request()) {
            call.request = self.made(&call, handle);
        } else {
            self.requests_of(&mut call, &mut details, record);
        }
        self.matched(&mut call, &mut details, record);
        if matches!(function.class(), Class::NewComm { .. }) {
            // The communicator it created is filled in later.
            self.stream.rank.push_with(call, details);
        } else {
            push(&mut self.stream.rank, call, details);
        }
    }

    fn arguments(&mut self, function: Function, record: &Record) -> Arguments {
        let class = function.class();
        let receives = matches!(class, Class::Recv(_) | Class::Probe { .. });
        let rooted = matches!(class, Class::Collective(..));
        let mut amount = |count, kind| {
            let (count, kind) = (record.number(count)?, record.number(kind)?);
            Some(bytes(i64::from(count), self.types.size(kind)))
        };
        let sent = amount(b'n', b'd').unwrap_or(0);
        let both = rooted || matches!(class, Class::Sendrecv(_));
        let received = amount(b'N', b'D').unwrap_or(if both { sent } else { 0 });
        let sent_sizes = self.sizes(record, [b'v', b'd', b'w']);
        let received_sizes = self.sizes(record, [b'V', b'D', b'W']);
        Arguments {
            peer: record.number(b'p').map(|raw| if rooted { root(raw) } else { peer(raw, receives) }),
            tag: record.number(b't').map(tag),
            source: record.number(b'P').map(|raw| peer(raw, true)),
            source_tag: record.number(b'T').map(tag),
            sent,
            received,
            sent_sizes,
            received_sizes,
        }
    }

    fn sizes(&mut self, record: &Record, [counts, one, several]: [u8; 3]) -> Vec<u64> {
        let Some(counts) = record.list(counts) else { return vec![] };
        let types = record.list(several).unwrap_or_default();
        let one = record.number(one);
        let size = |(at, &count): (usize, &i32)| {
            let kind = types.get(at).copied().or(one).unwrap_or(0);
            bytes(i64::from(count), self.types.size(kind))
        };
        counts.iter().enumerate().map(size).collect()
    }

    fn made(&mut self, call: &Call, handle: i32) -> RequestId {
        let request = match call.function.class() {
            Class::Send(_, Start::Persistent) | Class::Recv(Start::Persistent) => {
                self.requests.prepared(handle)
            }
            _ => self.requests.made(handle),
        };
        let open = call.peer == special::ANY || call.tag == special::ANY;
        if open && matches!(call.function.class(), Class::Recv(_)) {
            self.open.insert(request, self.stream.rank.calls.len());
        }
        request
    }

    /// Records what a call does with the requests it names.
    fn requests_of(&mut self, call: &mut Call, details: &mut Details, record: &Record) {
        let one = record.number(b'r').map(|handle| vec![handle]);
        let Some(handles) = one.or_else(|| record.list(b'R').map(<[i32]>::to_vec)) else { return };
        let class = call.function.class();
        if class == Class::Begin {
            return self.begun(call, details, &handles);
        }
        if call.function == Function::Request_free {
            details.requests = handles.iter().filter_map(|handle| self.requests.freed(*handle)).collect();
            return;
        }
        let listed = self.requests.listed(&handles);
        let null = |handle: &&i32| matches!(**handle, REQUEST_NULL | REQUEST_ERROR);
        let named =
            handles.iter().zip(&listed).filter(|(handle, found)| found.is_none() && !null(handle)).count();
        self.stream.counts.strange_requests += named as u64;
        details.requests = listed.iter().copied().flatten().collect();
        let (how, found) = match class {
            Class::Wait(how) => (how, true),
            Class::Test(how) => (how, record.number(b'f').is_none_or(|flag| flag != 0)),
            _ => return,
        };
        let places = done(how, record, handles.len());
        details.found =
            found && !(how == HowMany::Some && places.is_empty() && matches!(class, Class::Test(_)));
        if found {
            details.completed = self.completed(how, &handles, &listed, &places, &record.statuses).into();
        }
    }

    fn begun(&mut self, call: &mut Call, details: &mut Details, handles: &[i32]) {
        let both: Vec<_> = handles.iter().filter_map(|handle| self.requests.begun(*handle)).collect();
        for (prepared, begun) in &both {
            if let Some(place) = self.open.get(prepared).copied() {
                self.open.insert(*begun, place);
            }
        }
        details.requests = both.iter().map(|(prepared, _)| *prepared).collect();
        call.request = both.first().map_or(Call::NO_REQUEST, |(_, begun)| *begun);
    }

    fn completed(
        &mut self,
        how: HowMany,
        handles: &[i32],
        listed: &[Option<RequestId>],
        places: &[usize],
        statuses: &[Status],
    ) -> Vec<Completed> {
        let mut completed = Vec::new();
        for (nth, &place) in places.iter().enumerate() {
            let (Some(&handle), Some(&Some(request))) = (handles.get(place), listed.get(place)) else {
                continue;
            };
            self.requests.completed(handle, request);
            let status = statuses.get(nth);
            let matched = self.open.remove(&request).and_then(|call| self.who(status, Some(call)));
            let cancelled = status.is_some_and(|status| status.cancelled);
            if how != HowMany::All || matched.is_some() || cancelled {
                completed.push(Completed { request, matched, cancelled });
            }
        }
        completed
    }

    /// The sender that a wildcard receive matched. A receive from MPI_PROC_NULL matches none; some
    /// libraries use the number for it that others use for any source.
    fn who(&mut self, status: Option<&Status>, call: Option<usize>) -> Option<Matched> {
        let Some(status) = status.filter(|status| !status.cancelled) else {
            self.stream.counts.unmatched += u64::from(status.is_none());
            return None;
        };
        let call = call.and_then(|at| self.stream.rank.calls.get_mut(at));
        if status.source < 0 {
            call.into_iter().for_each(|call| call.peer = special::NOBODY);
            return None;
        }
        let asked = call.map_or(special::ANY, |call| call.tag);
        Some(Matched { peer: status.source, tag: status.tag.unwrap_or(asked) })
    }

    /// Records whom a blocking call received from.
    fn matched(&mut self, call: &mut Call, details: &mut Details, record: &Record) {
        let class = call.function.class();
        if let Class::Probe { blocking, .. } = class {
            details.found = blocking || record.number(b'f').is_some_and(|flag| flag != 0);
        }
        let (peer, tag) = match (class, details.receive) {
            (Class::Recv(Start::Blocking), _) => (call.peer, call.tag),
            (Class::Probe { .. }, _) if details.found => (call.peer, call.tag),
            (Class::Sendrecv(_), Some(half)) => (half.peer, half.tag),
            _ => return,
        };
        if peer != special::ANY && tag != special::ANY {
            return;
        }
        let status = record.statuses.first();
        details.matched = self.who(status, None);
        if status.is_some_and(|status| status.source < 0 && !status.cancelled) {
            match &mut details.receive {
                Some(half) => half.peer = special::NOBODY,
                None => call.peer = special::NOBODY,
            }
        }
    }
}

/// Which requests a call found completed, by their index.
fn done(how: HowMany, record: &Record, requests: usize) -> Vec<usize> {
    match how {
        HowMany::One | HowMany::All => (0..requests).collect(),
        HowMany::Any => {
            record.number(b'k').and_then(|index| usize::try_from(index).ok()).into_iter().collect()
        }
        HowMany::Some => record
            .list(b'K')
            .unwrap_or_default()
            .iter()
            .filter_map(|index| usize::try_from(*index).ok())
            .collect(),
    }
}

/// DUMPI writes −1 for any source; other negative numbers are the MPI library's own for MPI_PROC_NULL.
fn peer(raw: i32, receives: bool) -> i32 {
    match raw {
        0.. => raw,
        -1 if receives => special::ANY,
        _ => special::NOBODY,
    }
}

/// Negative roots occur only on intercommunicators: −3 and −4 are MPI_ROOT in MPICH and Open MPI.
fn root(raw: i32) -> i32 {
    match raw {
        0.. => raw,
        -4 | -3 => special::ROOT,
        _ => special::NOBODY,
    }
}

fn tag(raw: i32) -> i32 {
    if raw < 0 { special::ANY } else { raw }
}

/// Sums up the calls that were left out, by name.
pub(super) fn unknown(streams: &[Stream]) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (name, count) in streams.iter().flat_map(|stream| &stream.rank.unknown) {
        *all.entry(name.clone()).or_default() += count;
    }
    all
}
