//! Decodes records into calls.

use super::super::block::{Block, BlockKind};
use super::super::varint::{Cursor, Cut, unzigzag};
use super::super::write::Last;
use super::super::{attribute, field, local_comm, sites};
use super::{Made, Stream};
use crate::call::{Call, CommId, Completed, Details, Matched, Repeated, RequestId, Requests};
use crate::option_box::OptionBox;
use crate::trace::{Communicator, Neighbors};
use crate::{Class, Function};
use std::collections::{BTreeMap, HashMap};
use straggler_model::{Rank, Time};

/// Where in the payload a record is malformed, and which part of it.
type Malformed = (usize, &'static str);

/// Upper bound for the length of any list, which limits what a damaged length can allocate.
const MOST: u64 = 1 << 26;

struct Record {
    site: u32,
    call: Call,
    details: Option<Details>,
}

/// Appends the calls of a block to the stream.
pub(super) fn read_block(block: &Block<'_>, stream: &mut Stream) -> Result<(), Malformed> {
    let mut cursor = Cursor::new(block.payload);
    let next = cursor.fitting().map_err(|_| (0, "number of the next request"))?;
    let with_sites = block.header.kind == BlockKind::CallsWithSites;
    if with_sites {
        stream.sites.resize(stream.calls.len(), sites::NONE);
    }
    let time = block.header.base;
    let mut state = State { last: vec![Last::NOTHING; 256], time, next_request: RequestId(next), with_sites };
    while !cursor.is_empty() {
        let at = cursor.position();
        let mut record = state.record(&mut cursor, stream).map_err(|part| (at, part))?;
        record.call.thread = block.header.thread as u16;
        if let Some(details) = record.details {
            record.call.details = stream.marks.place(record.call.function, details, &mut stream.details);
        }
        if with_sites {
            stream.sites.push(record.site);
        }
        stream.calls.push(record.call);
    }
    Ok(())
}

/// Sorts the calls by time and determines, for each communicator, its parent and its index among
/// those made from it: that is how ranks agree on their communicators.
pub(super) fn link(stream: &mut Stream) {
    sort(stream);
    let mut children: BTreeMap<(CommId, bool), u32> = BTreeMap::new();
    // Programs may make hundreds of thousands of communicators. A number that occurs twice stands for the first.
    let mut places: HashMap<u32, usize> = HashMap::new();
    for (place, made) in stream.made.iter().enumerate() {
        places.entry(made.local).or_insert(place);
    }
    for call in &stream.calls {
        let Class::NewComm { collective } = call.function.class() else { continue };
        let details = stream.details.get(call.details as usize);
        if details.is_some_and(|details| details.error.is_some()) {
            continue;
        }
        let index = children.entry((call.comm, collective)).or_default();
        let place = details.and_then(|details| places.get(&details.new_comm?.0));
        if let Some(made) = place.and_then(|&place| stream.made.get_mut(place)) {
            (made.parent, made.function, made.index) = (call.comm.0, call.function, *index);
        }
        *index += 1;
    }
}

/// Sorts the calls and their places by time.
fn sort(stream: &mut Stream) {
    if !stream.sites.is_empty() {
        stream.sites.resize(stream.calls.len(), sites::NONE);
    }
    if stream.calls.is_sorted_by_key(|call| call.enter) {
        return;
    }
    if !stream.sites.is_empty() {
        let mut order: Vec<u32> = (0..stream.calls.len() as u32).collect();
        order.sort_by_key(|&call| stream.calls[call as usize].enter);
        stream.sites = order.iter().map(|&call| stream.sites[call as usize]).collect();
    }
    stream.calls.sort_by_key(|call| call.enter);
}

struct State {
    last: Vec<Last>,
    time: u64,
    next_request: RequestId,
    with_sites: bool,
}

impl State {
    fn record(&mut self, cursor: &mut Cursor<'_>, stream: &mut Stream) -> Result<Record, &'static str> {
        let code = cursor.byte().map_err(|_| "function")?;
        let entry = stream.head.functions.get(usize::from(code));
        let (function, makes_request) =
            entry.map_or((Function::Unknown, false), |entry| (entry.function, entry.makes_request));
        let unknown =
            (function == Function::Unknown).then(|| entry.map(|entry| entry.name.clone())).flatten();
        let mask = cursor.byte().map_err(|_| "mask of fields")?;
        let site =
            if self.with_sites { cursor.fitting().map_err(|_| "place of the call")? } else { sites::NONE };
        let gap = cursor.signed().map_err(|_| "time before")?;
        let duration = cursor.number().map_err(|_| "duration")?;
        let enter = self.time.wrapping_add_signed(gap);
        let exit = enter.saturating_add(duration);
        self.time = self.time.max(exit);
        let mut call = Call::new(function, Time(enter), Time(exit));
        self.fields(cursor, mask, code, &mut call)?;
        let mut details = Details::default();
        if mask & field::REQUESTS != 0 {
            details.requests = requests(cursor, self.next_request).map_err(|_| "list of requests")?;
        }
        let mut first = self.next_request;
        if mask & field::ATTRIBUTES != 0 {
            first = attributes(cursor, &mut details, &mut stream.made, first).map_err(|_| "attributes")?;
        }
        if mask & field::ERROR != 0 {
            details.rare.error = Some(cursor.fitting_signed().map_err(|_| "return code")?);
        }
        let made = if function.class() == Class::Begin {
            details.requests.len() as u32
        } else {
            u32::from(makes_request)
        };
        if made > 0 {
            call.request = first;
            self.next_request = first.wrapping_add(made);
        }
        if unknown.is_some() && details.text.is_none() {
            details.rare.text = unknown;
        }
        let details = (details != Details::default()).then_some(details);
        Ok(Record { site, call, details })
    }

    fn fields(
        &mut self,
        cursor: &mut Cursor<'_>,
        mask: u8,
        code: u8,
        call: &mut Call,
    ) -> Result<(), &'static str> {
        let last = &mut self.last[usize::from(code)];
        if mask & field::COMM != 0 {
            last.comm = cursor.fitting::<u32>().map_err(|_| "communicator")?.wrapping_sub(1);
        }
        if mask & field::PEER != 0 {
            last.peer = cursor.fitting_signed().map_err(|_| "peer")?;
        }
        if mask & field::TAG != 0 {
            last.tag = cursor.fitting_signed().map_err(|_| "tag")?;
        }
        if mask & field::SENT != 0 {
            last.sent = cursor.number().map_err(|_| "bytes sent")?;
        }
        if mask & field::RECEIVED != 0 {
            last.received = cursor.number().map_err(|_| "bytes received")?;
        }
        (call.comm, call.peer, call.tag) = (CommId(last.comm), last.peer, last.tag);
        (call.sent, call.received) = (last.sent, last.received);
        Ok(())
    }
}

fn requests(cursor: &mut Cursor<'_>, next_request: RequestId) -> Result<Requests, Cut> {
    let count = cursor.number()?;
    if count > MOST {
        return Err(Cut);
    }
    let mut found = Requests::new();
    let mut expected = next_request;
    while (found.len() as u64) < count {
        let left = count - found.len() as u64;
        let first = expected.wrapping_add(cursor.fitting_signed::<i32>()? as u32);
        let run = if left > 1 { cursor.number()?.saturating_add(1) } else { 1 };
        if run > left {
            return Err(Cut);
        }
        found.extend((0..run as u32).map(|place| first.wrapping_add(place)));
        expected = first.wrapping_add(run as u32);
    }
    Ok(found)
}

/// Reads attributes into `details` and communicators into `made`. Returns the first request made,
/// which is `expected` unless an attribute says otherwise.
fn attributes(
    cursor: &mut Cursor<'_>,
    details: &mut Details,
    made: &mut Vec<Made>,
    expected: RequestId,
) -> Result<RequestId, Cut> {
    let mut first = expected;
    for _ in 0..cursor.number()? {
        let (key, length) = (cursor.number()?, cursor.number()?);
        let bytes = cursor.slice(length)?;
        let mut value = Cursor::new(bytes);
        match key {
            attribute::COMPLETED => details.completed = completed(&mut value, &details.requests)?,
            attribute::FOUND => details.found = true,
            attribute::MATCHED => details.matched = Some(matched(&mut value)?),
            attribute::RECEIVE => details.receive = Some(matched(&mut value)?),
            attribute::REPEATED => {
                details.rare.repeated =
                    Some(Repeated { calls: value.number()?, inside: Time(value.number()?) });
            }
            attribute::SENT_SIZES => details.rare.sent_sizes = value.list(MOST)?,
            attribute::RECEIVED_SIZES => details.rare.received_sizes = value.list(MOST)?,
            attribute::NEW_COMM => {
                let comm = new_comm(&mut value)?;
                details.rare.new_comm = Some(CommId(comm.local));
                made.push(comm);
            }
            attribute::MESSAGE => details.rare.message = Some(value.fitting()?),
            attribute::WINDOW => details.rare.window = Some(value.fitting()?),
            attribute::GROUP => {
                let ranks = value.list(MOST)?.into_iter();
                details.rare.group = ranks.map(|rank| Rank::try_from(rank).unwrap_or(Rank::MAX)).collect();
            }
            attribute::TEXT => details.rare.text = Some(super::text(bytes)),
            attribute::LENGTHS => details.rare.lengths = lengths(&mut value, &details.requests)?,
            attribute::RECORDING => details.rare.recording = Some(value.number()? != 0),
            attribute::REQUEST => first = RequestId(value.fitting()?),
            _ => {}
        }
    }
    Ok(first)
}

fn matched(cursor: &mut Cursor<'_>) -> Result<Matched, Cut> {
    Ok(Matched { peer: cursor.fitting_signed()?, tag: cursor.fitting_signed()? })
}

fn completed(cursor: &mut Cursor<'_>, requests: &[RequestId]) -> Result<OptionBox<Vec<Completed>>, Cut> {
    let count = cursor.number()?;
    let mut found = Vec::new();
    for _ in 0..count {
        let code = cursor.number()?;
        let place = usize::try_from(code >> 2).map_err(|_| Cut)?;
        let request = *requests.get(place).ok_or(Cut)?;
        let matched = if code & 2 != 0 { Some(matched(cursor)?) } else { None };
        found.push(Completed { request, matched, cancelled: code & 1 != 0 });
    }
    Ok(found.into())
}

fn lengths(cursor: &mut Cursor<'_>, requests: &[RequestId]) -> Result<Vec<(RequestId, u64)>, Cut> {
    let count = cursor.number()?;
    let mut found = Vec::new();
    for _ in 0..count {
        let place: usize = cursor.fitting()?;
        found.push((*requests.get(place).ok_or(Cut)?, cursor.number()?));
    }
    Ok(found)
}

fn new_comm(cursor: &mut Cursor<'_>) -> Result<Made, Cut> {
    let local = cursor.fitting()?;
    let (members, remote) = (members(cursor)?, members(cursor)?);
    let neighbors = if cursor.is_empty() { None } else { Some(neighbors(cursor)?) };
    // The parent is filled in from the call that follows.
    Ok(Made {
        local,
        parent: local_comm::NONE,
        function: Function::Unknown,
        index: u32::MAX,
        members,
        remote,
        neighbors,
    })
}

fn members(cursor: &mut Cursor<'_>) -> Result<Vec<u32>, Cut> {
    let mut rank = 0i64;
    let ranks = cursor.list(MOST)?.into_iter().map(|step| {
        rank = rank.checked_add(unzigzag(step)).ok_or(Cut)?;
        u32::try_from(rank).map_err(|_| Cut)
    });
    ranks.collect()
}

fn neighbors(cursor: &mut Cursor<'_>) -> Result<Neighbors, Cut> {
    let mut list = || {
        let count = cursor.number()?;
        let mut ranks = Vec::new();
        for _ in 0..count {
            ranks.push(cursor.fitting_signed()?);
        }
        Ok(ranks)
    };
    Ok(Neighbors { sources: list()?, destinations: list()? })
}

/// Reads the table of a stream whose communicators have the numbers of the run.
pub(super) fn read_communicators(cursor: &mut Cursor<'_>) -> Result<Vec<Communicator>, Cut> {
    let count = cursor.number()?;
    let mut found = Vec::new();
    for _ in 0..count {
        let (members, remote) = (members(cursor)?, members(cursor)?);
        let mut topology = Vec::new();
        for _ in 0..cursor.number()? {
            topology.push(neighbors(cursor)?);
        }
        let parent = cursor.fitting::<u32>()?.checked_sub(1).map(CommId);
        let length = cursor.number()?;
        let name = super::text(cursor.slice(length)?);
        found.push(Communicator { members, remote, neighbors: topology, parent, name });
    }
    Ok(found)
}
