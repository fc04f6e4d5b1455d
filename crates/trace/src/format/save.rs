//! Converts a trace in memory back to streams: one tick is a picosecond, and communicators keep the
//! numbers of the run.

use super::block::{BlockKind, Header};
use super::directory::file_name;
use super::varint::put;
use super::write::{Attributes, CallBlock, Pairs, Record, put_members, put_neighbors};
use super::{attribute, end, head, sites};
use crate::call::{Call, Details};
use crate::private;
use crate::sites::SiteId;
use crate::trace::{Communicator, RankTrace, Trace, Usage};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use straggler_model::Time;
use straggler_model::replace::TemporaryFolder;

/// The stream of one rank.
pub fn stream(trace: &Trace, rank: u32) -> Vec<u8> {
    let empty = RankTrace::default();
    let of_rank = trace.ranks.get(rank as usize).unwrap_or(&empty);
    let mut out = Output { bytes: Vec::new(), sequence: 0 };
    out.push_pairs(BlockKind::Head, head_of(trace, of_rank, rank));
    let threads = of_rank.calls.iter().map(|call| call.thread).max().unwrap_or(0);
    let places = Places::new(trace, of_rank);
    if let Some(places) = &places {
        out.push_pairs(BlockKind::Sites, places.pairs(trace));
    }
    for thread in 0..=threads {
        out.calls(of_rank, thread, places.as_ref());
    }
    let unknown = of_rank.unknown.iter().map(|(name, &count)| (count, name.as_str()));
    let mut pairs = Pairs::new().names(end::UNKNOWN, unknown).number(end::HOW, 0);
    if let Some(usage) = &of_rank.usage {
        pairs = put_usage(pairs, usage);
    }
    out.push_pairs(BlockKind::End, pairs);
    out.bytes
}

/// Adds the processor usage of a process.
pub fn put_usage(pairs: Pairs, usage: &Usage) -> Pairs {
    let nanoseconds = |time: Time| time.ps() / 1000;
    let pairs = pairs
        .number(end::WALL, nanoseconds(usage.wall))
        .number(end::CPU, nanoseconds(usage.cpu))
        .number(end::PREEMPTIONS, usage.preemptions);
    match usage.waiting {
        Some(waiting) => pairs.number(end::WAITING, nanoseconds(waiting)),
        None => pairs,
    }
}

/// Writes a trace as a folder of streams. The folder must not exist or must be empty; it gets its
/// final name when everything is written.
pub fn save(trace: &Trace, folder: &Path) -> io::Result<()> {
    let unfinished = TemporaryFolder::beside(folder)?;
    for rank in 0..trace.processes() {
        private::write(&unfinished.path().join(file_name(rank)), &stream(trace, rank))?;
    }
    unfinished.persist(folder)
}

fn head_of(trace: &Trace, of_rank: &RankTrace, rank: u32) -> Pairs {
    let run = trace.meta.more.get("run").map(|run| from_hex(run)).unwrap_or_default();
    let started = trace.meta.more.get("started_ns").and_then(|ns| ns.parse().ok()).unwrap_or(0);
    let mut pairs = Pairs::new()
        .bytes(head::RUN, &run)
        .number(head::RANK, u64::from(rank))
        .number(head::SIZE, u64::from(trace.processes()))
        .bytes(head::HOST, of_rank.host.as_bytes())
        .bytes(head::BOOT, b"one clock")
        .bytes(head::PROGRAM, trace.meta.program.as_bytes())
        .bytes(head::LIBRARY, trace.meta.library.as_bytes())
        .bytes(head::FORMAT, trace.meta.format.as_bytes())
        .bytes(head::TICK_PS, &1f64.to_le_bytes())
        .list(head::CORES, of_rank.cores.iter().map(|&core| u64::from(core)))
        .number(head::STARTED, started)
        .functions();
    if rank == 0 {
        let notes = trace.notes.iter().map(|note| (0, note.as_str()));
        pairs = pairs.names(head::NOTES, notes).value(head::COMMUNICATORS, |out| {
            put_communicators(out, &trace.communicators);
        });
    }
    pairs
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks_exact(2);
    digits.filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

fn put_communicators(out: &mut Vec<u8>, communicators: &[Communicator]) {
    put(out, communicators.len() as u64);
    for comm in communicators {
        put_members(out, &comm.members);
        put_members(out, &comm.remote);
        put(out, comm.neighbors.len() as u64);
        comm.neighbors.iter().for_each(|neighbors| put_neighbors(out, neighbors));
        put(out, comm.parent.map_or(0, |parent| u64::from(parent.0) + 1));
        put(out, comm.name.len() as u64);
        out.extend_from_slice(comm.name.as_bytes());
    }
}

struct Output {
    bytes: Vec<u8>,
    sequence: u32,
}

impl Output {
    fn header(&mut self, kind: BlockKind, thread: u16) -> Header {
        self.sequence += 1;
        let sequence = self.sequence - 1;
        Header { kind, sequence, thread: u32::from(thread), ticks: 0, clock_ns: 0, base: 0 }
    }

    fn push_pairs(&mut self, kind: BlockKind, pairs: Pairs) {
        let header = self.header(kind, 0);
        self.bytes.extend_from_slice(&pairs.finish(&header));
    }

    fn calls(&mut self, of_rank: &RankTrace, thread: u16, places: Option<&Places>) {
        let mut block = if places.is_some() { CallBlock::with_sites() } else { CallBlock::new() };
        let (mut attributes, nothing) = (Attributes::new(), Details::default());
        for (number, call) in of_rank.calls.iter().enumerate().filter(|(_, call)| call.thread == thread) {
            let details = of_rank.details(call).unwrap_or(&nothing);
            attributes.clear();
            put_details(&mut attributes, details);
            let site = places.map_or(sites::NONE, |places| places.number(of_rank.site(number)));
            block.record(&Record { site, ..record(call, details, &attributes) });
            if block.is_full() {
                self.close(&mut block, thread);
            }
        }
        if !block.is_empty() {
            self.close(&mut block, thread);
        }
    }

    fn close(&mut self, block: &mut CallBlock, thread: u16) {
        let header = self.header(block.kind(), thread);
        self.bytes.extend_from_slice(block.finish(header));
        block.begin(block.time(), block.next_request());
    }
}

/// The places that a rank calls from. In its stream they have the numbers of the run plus 1.
struct Places(BTreeSet<SiteId>);

impl Places {
    /// Returns `None` if places were not recorded.
    fn new(trace: &Trace, of_rank: &RankTrace) -> Option<Places> {
        let used = (0..of_rank.sites.len()).filter_map(|call| of_rank.site(call));
        let used: BTreeSet<SiteId> = used.filter(|&site| trace.call_sites.get(site).is_some()).collect();
        (!of_rank.sites.is_empty()).then_some(Places(used))
    }

    fn number(&self, site: Option<SiteId>) -> u32 {
        site.filter(|site| self.0.contains(site)).map_or(sites::NONE, |site| site + 1)
    }

    fn pairs(&self, trace: &Trace) -> Pairs {
        let all = &trace.call_sites;
        let used: Vec<_> = self.0.iter().map(|&site| (site + 1, all.sites[site as usize])).collect();
        let modules: BTreeSet<u32> = used.iter().map(|(_, site)| site.module).collect();
        let pairs = modules.into_iter().fold(Pairs::new(), |pairs, module| {
            sites::put_module(pairs, module, &all.modules[module as usize])
        });
        used.into_iter().fold(pairs, |pairs, (number, site)| sites::put_site(pairs, number, site))
    }
}

fn record<'a>(call: &Call, details: &'a Details, attributes: &'a Attributes) -> Record<'a> {
    let made = if call.request == Call::NO_REQUEST {
        None
    } else if call.function.class() == crate::Class::Begin {
        Some((call.request, details.requests.len() as u32))
    } else {
        Some((call.request, 1))
    };
    Record {
        comm: call.comm.0,
        peer: call.peer,
        tag: call.tag,
        sent: call.sent,
        received: call.received,
        made,
        requests: &details.requests,
        error: details.error.unwrap_or(0),
        ..Record::new(call.function, call.enter.0, call.exit.0, attributes)
    }
}

fn put_details(out: &mut Attributes, details: &Details) {
    if !details.completed.is_empty() {
        let place = |request| details.requests.iter().position(|&known| known == request).unwrap_or(0) as u32;
        let completed = details.completed.iter();
        out.completed(completed.map(|one| (place(one.request), one.matched, one.cancelled)));
    }
    if !details.lengths.is_empty() {
        let place = |request| details.requests.iter().position(|&known| known == request).unwrap_or(0) as u32;
        out.lengths(details.lengths.iter().map(|&(request, bytes)| (place(request), bytes)));
    }
    if let Some(recording) = details.recording {
        out.number(attribute::RECORDING, u64::from(recording));
    }
    if details.found {
        out.found();
    }
    if let Some(matched) = details.matched {
        out.matched(attribute::MATCHED, matched);
    }
    if let Some(receive) = details.receive {
        out.matched(attribute::RECEIVE, receive);
    }
    if let Some(repeated) = details.repeated {
        out.repeated(repeated.calls, repeated.inside.0);
    }
    if !details.sent_sizes.is_empty() {
        out.sizes(attribute::SENT_SIZES, details.sent_sizes.iter().copied());
    }
    if !details.received_sizes.is_empty() {
        out.sizes(attribute::RECEIVED_SIZES, details.received_sizes.iter().copied());
    }
    if let Some(comm) = details.new_comm {
        // The table in the head lists its members.
        out.put(attribute::NEW_COMM, |out| {
            put(out, u64::from(comm.0));
            put_members(out, &[]);
            put_members(out, &[]);
        });
    }
    if !details.group.is_empty() {
        out.sizes(attribute::GROUP, details.group.iter().map(|&rank| u64::from(rank)));
    }
    let numbers = [(attribute::MESSAGE, details.message), (attribute::WINDOW, details.window)];
    for (key, number) in numbers {
        if let Some(number) = number {
            out.number(key, u64::from(number));
        }
    }
    if let Some(text) = &details.text {
        out.text(text);
    }
}
