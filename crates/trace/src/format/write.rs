//! Writing: calls become records, records fill a block.

use super::block::{BlockKind, HEADER, Header, seal};
use super::varint::{put, put_list, put_signed, zigzag};
use super::{attribute, field, local_comm, sites};
use crate::call::{Matched, RequestId, special};
use crate::{Function, Neighbors};

/// A call as the recorder sees it, in ticks and with its own numbers for communicators.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    pub function: Function,
    pub enter: u64,
    pub exit: u64,
    /// [`local_comm::NONE`] if there is none.
    pub comm: u32,
    pub peer: i32,
    pub tag: i32,
    pub sent: u64,
    pub received: u64,
    /// The first request that the call made, and the number of requests it made.
    pub made: Option<(RequestId, u32)>,
    pub requests: &'a [RequestId],
    pub error: i32,
    /// The stream's number for where the call was made; written by a block [with sites](CallBlock::with_sites).
    pub site: u32,
    pub attributes: &'a Attributes,
}

impl<'a> Record<'a> {
    pub fn new(function: Function, enter: u64, exit: u64, attributes: &'a Attributes) -> Record<'a> {
        Record {
            function,
            enter,
            exit,
            comm: local_comm::NONE,
            peer: special::NONE,
            tag: special::NONE,
            sent: 0,
            received: 0,
            made: None,
            requests: &[],
            error: 0,
            site: sites::NONE,
            attributes,
        }
    }
}

/// The fields of the last call of a function, which the next call is likely to repeat.
#[derive(Clone, Copy, Debug)]
pub(super) struct Last {
    pub comm: u32,
    pub peer: i32,
    pub tag: i32,
    pub sent: u64,
    pub received: u64,
}

impl Last {
    pub const NOTHING: Last =
        Last { comm: local_comm::NONE, peer: special::NONE, tag: special::NONE, sent: 0, received: 0 };
}

const _: () = assert!(Function::ALL.len() <= 256, "a function's code is one byte");

/// Fills a block with calls of one thread.
#[derive(Debug)]
pub struct CallBlock {
    bytes: Vec<u8>,
    last: Box<[Last; 256]>,
    /// The tick the next record counts from.
    time: u64,
    base: u64,
    /// The number that the next request gets if this thread makes it.
    next_request: RequestId,
    /// The length of the block without records.
    empty: usize,
    with_sites: bool,
}

impl CallBlock {
    /// The approximate size at which blocks are closed.
    pub const FULL: usize = 1 << 16;

    pub fn new() -> CallBlock {
        let last = Box::new([Last::NOTHING; 256]);
        let bytes = Vec::with_capacity(CallBlock::FULL + 4096);
        let mut block = CallBlock {
            bytes,
            last,
            time: 0,
            base: 0,
            next_request: RequestId(0),
            empty: 0,
            with_sites: false,
        };
        block.begin(0, RequestId(0));
        block
    }

    /// Creates a block that also records the calls' places.
    pub fn with_sites() -> CallBlock {
        CallBlock { with_sites: true, ..CallBlock::new() }
    }

    /// The kind of block it becomes.
    pub fn kind(&self) -> BlockKind {
        if self.with_sites { BlockKind::CallsWithSites } else { BlockKind::Calls }
    }

    /// Empties the block. Calls count from tick `base`, requests from `next_request`.
    pub fn begin(&mut self, base: u64, next_request: RequestId) {
        self.bytes.clear();
        self.bytes.resize(HEADER, 0);
        put(&mut self.bytes, u64::from(next_request.0));
        self.last.fill(Last::NOTHING);
        self.empty = self.bytes.len();
        (self.time, self.base, self.next_request) = (base, base, next_request);
    }

    /// Whether nothing has been recorded since the block began.
    pub fn is_empty(&self) -> bool {
        self.bytes.len() == self.empty
    }

    pub fn is_full(&self) -> bool {
        self.bytes.len() >= CallBlock::FULL
    }

    pub fn next_request(&self) -> RequestId {
        self.next_request
    }

    /// The tick of the last exit.
    pub fn time(&self) -> u64 {
        self.time
    }

    #[inline]
    pub fn record(&mut self, record: &Record<'_>) {
        let out = &mut self.bytes;
        let last = &mut self.last[usize::from(record.function as u16 as u8)];
        let odd_request = record.made.filter(|&(first, _)| first != self.next_request);
        let attributes = record.attributes.count + u32::from(odd_request.is_some());
        let mask = differing(record, last)
            | if record.requests.is_empty() { 0 } else { field::REQUESTS }
            | if attributes == 0 { 0 } else { field::ATTRIBUTES }
            | if record.error == 0 { 0 } else { field::ERROR };
        append(out, |start| {
            start.byte(record.function as u16 as u8);
            start.byte(mask);
            if self.with_sites {
                start.number(u64::from(record.site));
            }
            start.number(zigzag(record.enter.wrapping_sub(self.time) as i64));
            start.number(record.exit.saturating_sub(record.enter));
            start.differing(record, mask);
        });
        *last = Last {
            comm: record.comm,
            peer: record.peer,
            tag: record.tag,
            sent: record.sent,
            received: record.received,
        };
        if mask & field::REQUESTS != 0 {
            put_requests(out, record.requests, self.next_request);
        }
        if mask & field::ATTRIBUTES != 0 {
            put(out, u64::from(attributes));
            if let Some((first, _)) = odd_request {
                put_attribute(out, attribute::REQUEST, |out| put(out, u64::from(first.0)));
            }
            out.extend_from_slice(&record.attributes.bytes);
        }
        if mask & field::ERROR != 0 {
            put_signed(out, i64::from(record.error));
        }
        self.time = self.time.max(record.exit);
        if let Some((first, count)) = record.made {
            self.next_request = first.wrapping_add(count);
        }
    }

    /// The finished block, ready to be written.
    pub fn finish(&mut self, mut header: Header) -> &[u8] {
        header.base = self.base;
        seal(&mut self.bytes, &header);
        &self.bytes
    }
}

impl Default for CallBlock {
    fn default() -> Self {
        CallBlock::new()
    }
}

#[inline]
fn differing(record: &Record<'_>, last: &Last) -> u8 {
    let bit = |differs: bool, bit: u8| if differs { bit } else { 0 };
    bit(record.comm != last.comm, field::COMM)
        | bit(record.peer != last.peer, field::PEER)
        | bit(record.tag != last.tag, field::TAG)
        | bit(record.sent != last.sent, field::SENT)
        | bit(record.received != last.received, field::RECEIVED)
}

/// Appends the beginning of a record. Space is reserved once, since a vector would check its
/// capacity for every byte.
#[inline(always)]
fn append(out: &mut Vec<u8>, write: impl FnOnce(&mut Start<'_>)) {
    let before = out.len();
    out.extend_from_slice(&[0; Start::ROOM]);
    let mut length = 0;
    if let Some(bytes) = out[before..].first_chunk_mut() {
        let mut start = Start { bytes, length };
        write(&mut start);
        length = start.length;
    }
    out.truncate(before + length);
}

/// The beginning of a record, which is the same for every call.
struct Start<'a> {
    bytes: &'a mut [u8; Start::ROOM],
    length: usize,
}

impl Start<'_> {
    /// Two bytes; two numbers of up to ten bytes for the times; four of up to five and two of up to ten for
    /// the call site and the fields that differ. A power of two, so that the index needs no other check.
    const ROOM: usize = 64;

    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        self.bytes[self.length % Start::ROOM] = byte;
        self.length += 1;
    }

    #[inline(always)]
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }

    #[inline(always)]
    fn differing(&mut self, record: &Record<'_>, mask: u8) {
        if mask & field::COMM != 0 {
            self.number(u64::from(record.comm.wrapping_add(1)));
        }
        if mask & field::PEER != 0 {
            self.number(zigzag(i64::from(record.peer)));
        }
        if mask & field::TAG != 0 {
            self.number(zigzag(i64::from(record.tag)));
        }
        if mask & field::SENT != 0 {
            self.number(record.sent);
        }
        if mask & field::RECEIVED != 0 {
            self.number(record.received);
        }
    }
}

/// Writes requests as runs of consecutive numbers, each as its distance from the end of the previous run.
fn put_requests(out: &mut Vec<u8>, requests: &[RequestId], next_request: RequestId) {
    put(out, requests.len() as u64);
    let mut expected = next_request;
    let mut rest = requests;
    while let [first, ..] = *rest {
        let run = rest.windows(2).take_while(|pair| pair[0].wrapping_add(1) == pair[1]).count() + 1;
        put_signed(out, i64::from(first.0) - i64::from(expected.0));
        if rest.len() > 1 {
            put(out, run as u64 - 1);
        }
        expected = first.wrapping_add(run as u32);
        rest = &rest[run..];
    }
}

fn put_attribute(out: &mut Vec<u8>, key: u64, payload: impl FnOnce(&mut Vec<u8>)) {
    put(out, key);
    let length_at = out.len();
    out.push(0);
    payload(out);
    let length = out.len() - length_at - 1;
    if length < 0x80 {
        out[length_at] = length as u8;
    } else {
        let mut prefix = Vec::with_capacity(5);
        put(&mut prefix, length as u64);
        out.splice(length_at..=length_at, prefix);
    }
}

/// The contents of a block without calls: pairs of a key and a value, after space for the header.
#[derive(Debug)]
pub struct Pairs(Vec<u8>);

impl Pairs {
    pub fn new() -> Pairs {
        Pairs(vec![0; HEADER])
    }

    pub fn bytes(mut self, key: u64, value: &[u8]) -> Pairs {
        put_attribute(&mut self.0, key, |out| out.extend_from_slice(value));
        self
    }

    pub fn number(mut self, key: u64, value: u64) -> Pairs {
        put_attribute(&mut self.0, key, |out| put(out, value));
        self
    }

    pub fn list(mut self, key: u64, values: impl ExactSizeIterator<Item = u64>) -> Pairs {
        put_attribute(&mut self.0, key, |out| put_list(out, values));
        self
    }

    /// Adds a value that the function appends.
    pub fn value(mut self, key: u64, value: impl FnOnce(&mut Vec<u8>)) -> Pairs {
        put_attribute(&mut self.0, key, value);
        self
    }

    /// Adds names with a number each.
    pub fn names<'n>(mut self, key: u64, names: impl ExactSizeIterator<Item = (u64, &'n str)>) -> Pairs {
        put_attribute(&mut self.0, key, |out| {
            put(out, names.len() as u64);
            for (number, name) in names {
                put(out, number);
                put(out, name.len() as u64);
                out.extend_from_slice(name.as_bytes());
            }
        });
        self
    }

    /// Adds the dictionary of functions. Codes are the numbers of this version; other versions look the names up.
    pub fn functions(self) -> Pairs {
        let entries =
            Function::ALL.iter().map(|&function| (u64::from(function.makes_request()), function.name()));
        self.names(super::head::FUNCTIONS, entries)
    }

    pub fn finish(mut self, header: &Header) -> Vec<u8> {
        seal(&mut self.0, header);
        self.0
    }
}

impl Default for Pairs {
    fn default() -> Self {
        Pairs::new()
    }
}

/// The encoded attributes of one call. Reused for every call, so that calls do not allocate.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    count: u32,
    bytes: Vec<u8>,
    describes_communicator: bool,
}

/// The communicator that a call made, as seen by the rank.
#[derive(Clone, Copy, Debug)]
pub struct NewComm<'a> {
    /// The rank's own number for it.
    pub local: u32,
    /// World ranks of its members; [`u32::MAX`] for one that is not in this world.
    pub members: &'a [u32],
    pub remote: &'a [u32],
    pub neighbors: Option<&'a Neighbors>,
}

impl Attributes {
    pub const fn new() -> Attributes {
        Attributes { count: 0, bytes: Vec::new(), describes_communicator: false }
    }

    pub fn clear(&mut self) {
        self.count = 0;
        self.bytes.clear();
        self.describes_communicator = false;
    }

    /// Whether a communicator is among them; later calls refer to it.
    pub fn describes_communicator(&self) -> bool {
        self.describes_communicator
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds an attribute with any key; the function appends its payload.
    pub fn put(&mut self, key: u64, payload: impl FnOnce(&mut Vec<u8>)) {
        put_attribute(&mut self.bytes, key, payload);
        self.count += 1;
    }

    pub fn found(&mut self) {
        self.put(attribute::FOUND, |_| {});
    }

    pub fn matched(&mut self, key: u64, matched: Matched) {
        self.put(key, |out| {
            put_signed(out, i64::from(matched.peer));
            put_signed(out, i64::from(matched.tag));
        });
    }

    /// Adds the completed requests: their index in the list of requests, whom they matched, whether
    /// they were cancelled.
    pub fn completed(&mut self, completed: impl ExactSizeIterator<Item = (u32, Option<Matched>, bool)>) {
        self.put(attribute::COMPLETED, |out| {
            put(out, completed.len() as u64);
            for (place, matched, cancelled) in completed {
                let flags = u64::from(matched.is_some()) << 1 | u64::from(cancelled);
                put(out, u64::from(place) << 2 | flags);
                if let Some(Matched { peer, tag }) = matched {
                    put_signed(out, i64::from(peer));
                    put_signed(out, i64::from(tag));
                }
            }
        });
    }

    pub fn repeated(&mut self, calls: u64, inside: u64) {
        self.put(attribute::REPEATED, |out| {
            put(out, calls);
            put(out, inside);
        });
    }

    /// Adds the lengths of messages of completed receives: the index in the list of requests, and the bytes.
    pub fn lengths(&mut self, lengths: impl ExactSizeIterator<Item = (u32, u64)>) {
        self.put(attribute::LENGTHS, |out| {
            put(out, lengths.len() as u64);
            for (place, bytes) in lengths {
                put(out, u64::from(place));
                put(out, bytes);
            }
        });
    }

    pub fn sizes(&mut self, key: u64, sizes: impl ExactSizeIterator<Item = u64>) {
        self.put(key, |out| put_list(out, sizes));
    }

    pub fn number(&mut self, key: u64, number: u64) {
        self.put(key, |out| put(out, number));
    }

    pub fn text(&mut self, text: &str) {
        self.put(attribute::TEXT, |out| out.extend_from_slice(text.as_bytes()));
    }

    pub fn new_comm(&mut self, comm: &NewComm<'_>) {
        self.describes_communicator = true;
        self.put(attribute::NEW_COMM, |out| {
            put(out, u64::from(comm.local));
            put_members(out, comm.members);
            put_members(out, comm.remote);
            if let Some(neighbors) = comm.neighbors {
                put_neighbors(out, neighbors);
            }
        });
    }
}

pub(super) fn put_neighbors(out: &mut Vec<u8>, neighbors: &Neighbors) {
    for list in [&neighbors.sources, &neighbors.destinations] {
        put(out, list.len() as u64);
        list.iter().for_each(|&rank| put_signed(out, i64::from(rank)));
    }
}

/// Writes world ranks as differences from one to the next, so that regular groups become few runs.
pub(super) fn put_members(out: &mut Vec<u8>, members: &[u32]) {
    let before = std::iter::once(0).chain(members.iter().copied());
    let steps = members.iter().zip(before).map(|(&rank, before)| zigzag(i64::from(rank) - i64::from(before)));
    put_list(out, steps.collect::<Vec<_>>().into_iter());
}
