//! The file of one rank.
//!
//! A request is identified by the address of its variable, an array of requests by the address of
//! the first and their number. A handle takes 8 bytes in Open MPI's C binding and 4 in MPICH's and
//! in Fortran; an array is read with the step that finds more open requests. If a program copies a
//! request before it waits for it, the trace does not show that: an array in MPI_Waitall without
//! any known request stands for the oldest open ones.

use super::layout;
use super::line::{list, moment, number, picoseconds, triple};
use crate::import::arguments::{Arguments, bytes, push};
use crate::import::requests::{Meant, Requests};
use crate::import::{ImportError, Source};
use std::collections::{HashMap, HashSet};
use straggler_model::Time;
use straggler_trace::call::{Call, Completed, Details, NO_COMM};
use straggler_trace::{Class, CommId, Function, HowMany, RankTrace, RequestId, Start};

/// How far rank 0's clock was ahead, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Differences {
    pub first: Option<i128>,
    pub last: Option<i128>,
}

/// A communicator as one rank names it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Local {
    pub id: u64,
    pub rank: u32,
    pub size: u32,
}

/// How often something had to be guessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Guesses {
    pub moved: u64,
    pub any: u64,
    pub tests: u64,
    pub small: u64,
    pub sizes: u64,
    pub made: u64,
}

impl Guesses {
    pub fn add(&mut self, other: &Guesses) {
        self.moved += other.moved;
        self.any += other.any;
        self.tests += other.tests;
        self.small += other.small;
        self.sizes += other.sizes;
        self.made += other.made;
    }
}

/// The contents of one file, with times on the rank's own clock.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Communicators are indices into `communicators`, and times are zero.
    pub rank: RankTrace,
    /// Enter and exit of each call, in picoseconds.
    pub times: Vec<(i128, i128)>,
    pub differences: Differences,
    /// In order of first use.
    pub communicators: Vec<Local>,
    pub guesses: Guesses,
}

/// The fields of a line.
#[derive(Debug, Default)]
struct Given {
    arguments: Arguments,
    communicator: Option<Local>,
    request: Option<u64>,
    array: Option<(u64, u64)>,
}

struct Reader<'a> {
    layouts: &'a HashMap<&'static str, (Function, String)>,
    log: Log,
    places: HashMap<Local, CommId>,
    requests: Requests<u64>,
    /// Requests that were tested and may not be complete.
    tested: HashSet<RequestId>,
    /// The index of the details of the call that last named a request.
    last_use: HashMap<RequestId, u32>,
}

pub(super) fn read(
    source: &Source,
    layouts: &HashMap<&'static str, (Function, String)>,
) -> Result<Log, ImportError> {
    let text = String::from_utf8_lossy(&source.bytes);
    let mut reader = Reader {
        layouts,
        log: Log::default(),
        places: HashMap::new(),
        requests: Requests::new(Meant::Newest),
        tested: HashSet::new(),
        last_use: HashMap::new(),
    };
    for (at, line) in text.lines().enumerate() {
        let failed = |what| ImportError::Line { file: source.name.clone(), line: at + 1, what };
        let line = line.trim();
        match line.strip_prefix('#') {
            Some(comment) => reader.comment(comment.trim()).map_err(failed)?,
            None if line.is_empty() => {}
            None => reader.call(line).map_err(failed)?,
        }
    }
    reader.judge_tests();
    Ok(reader.log)
}

impl Reader<'_> {
    fn comment(&mut self, comment: &str) -> Result<(), String> {
        let Some((key, value)) = comment.split_once(':') else { return Ok(()) };
        let value = value.trim();
        match key.trim() {
            "host" | "hostname" => self.log.rank.host = value.trim_end_matches(".(none)").to_string(),
            "Init clockdiff" | "clockdiff" => self.log.differences.first = Some(difference(value)?),
            "Finalize clockdiff" => self.log.differences.last = Some(difference(value)?),
            _ => {}
        }
        Ok(())
    }

    fn call(&mut self, line: &str) -> Result<(), String> {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, start, given @ .., end] = fields.as_slice() else {
            return Err("a call is a name, a start, arguments and an end, separated by colons".into());
        };
        let time = |text: &str| moment(text).ok_or_else(|| format!("'{text}' is not a time in microseconds"));
        let (enter, exit) = match (time(start)?, time(end)?) {
            (Some(enter), Some(exit)) => (enter, exit),
            (Some(only), None) | (None, Some(only)) => (only, only),
            (None, None) => return Err("the call has neither start nor end".into()),
        };
        let Some((function, layout)) = self.layouts.get(name) else {
            if !name.starts_with("MPI_") && !name.starts_with("NBC_") {
                return Err(format!("'{name}' is not an MPI function"));
            }
            *self.log.rank.unknown.entry(name.to_string()).or_default() += 1;
            return self.first_communicator(name, given);
        };
        let given = self.given(*function, layout, given)?;
        self.record(*function, given);
        self.log.times.push((enter, exit));
        Ok(())
    }

    /// Registers the communicator of a call that asks for size or rank, which is the first use of
    /// most communicators.
    fn first_communicator(&mut self, name: &str, given: &[&str]) -> Result<(), String> {
        if matches!(name, "MPI_Comm_size" | "MPI_Comm_rank")
            && let Some(first) = given.first()
        {
            let communicator = communicator(first)?;
            self.place(communicator);
        }
        Ok(())
    }

    fn given(&mut self, function: Function, layout: &str, fields: &[&str]) -> Result<Given, String> {
        let lists = layout.bytes().filter(|letter| b"vVx".contains(letter)).count();
        let written = lists > 0 && fields.len() == layout.len() + lists;
        if !layout.ends_with('*') && !written && fields.len() != layout.len() {
            let expected = layout.len() + lists;
            return Err(format!("{function} has {} arguments here, expected {expected}", fields.len()));
        }
        self.log.guesses.sizes += u64::from((lists > 0 && !written) || function.name().ends_with("lltoallw"));
        layout::assign(layout, fields, written).and_then(|parts| assemble(function, &parts))
    }

    fn record(&mut self, function: Function, given: Given) {
        let mut call = Call::new(function, Time::ZERO, Time::ZERO);
        let mut details = Details::default();
        given.arguments.fill(&mut call, &mut details);
        call.comm = given.communicator.map_or(NO_COMM, |communicator| self.place(communicator));
        if let Some(request) = given.request.filter(|_| function.makes_request()) {
            call.request = self.made(function, request);
        } else {
            self.requests_of(&mut call, &mut details, given.request, given.array);
        }
        self.log.guesses.made += u64::from(matches!(function.class(), Class::NewComm { .. }));
        push(&mut self.log.rank, call, details);
    }

    fn place(&mut self, communicator: Local) -> CommId {
        let list = &mut self.log.communicators;
        *self.places.entry(communicator).or_insert_with(|| {
            list.push(communicator);
            CommId(list.len() as u32 - 1)
        })
    }

    fn made(&mut self, function: Function, address: u64) -> RequestId {
        // If a variable is used again after a test, that test completed the request in it.
        if let [Some(before)] = self.requests.listed(&[address]).as_slice()
            && self.tested.remove(before)
        {
            self.requests.completed(address, *before);
        }
        match function.class() {
            Class::Send(_, Start::Persistent)
            | Class::Recv(Start::Persistent)
            | Class::Collective(_, Start::Persistent)
            | Class::Neighbor(_, Start::Persistent) => self.requests.prepared(address),
            _ => self.requests.made(address),
        }
    }

    /// Records what a call does with the requests it names.
    fn requests_of(
        &mut self,
        call: &mut Call,
        details: &mut Details,
        one: Option<u64>,
        array: Option<(u64, u64)>,
    ) {
        let class = call.function.class();
        if class == Class::Begin {
            return self.begun(call, details, one, array);
        }
        let named: Vec<(u64, RequestId)> = match (one, array) {
            (Some(address), _) => self
                .requests
                .listed(&[address])
                .into_iter()
                .flatten()
                .map(|request| (address, request))
                .collect(),
            (None, Some((base, count))) => self.in_array(base, count, class == Class::Wait(HowMany::All)),
            (None, None) => return,
        };
        details.requests = named.iter().map(|(_, request)| *request).collect();
        details.found = matches!(class, Class::Wait(_));
        let place = self.log.rank.details.len() as u32;
        self.last_use.extend(details.requests.iter().map(|request| (*request, place)));
        match class {
            Class::Wait(how) => details.completed = self.waited(how, &named).into(),
            Class::Test(_) => self.tested.extend(details.requests.iter().copied()),
            Class::Drop if call.function == Function::Request_free => {
                details.requests = one.and_then(|address| self.requests.freed(address)).into_iter().collect();
            }
            _ => {}
        }
    }

    fn begun(&mut self, call: &mut Call, details: &mut Details, one: Option<u64>, array: Option<(u64, u64)>) {
        let addresses = match (one, array) {
            (Some(address), _) => vec![address],
            (None, Some((base, count))) => self.prepared_in_array(base, count),
            (None, None) => vec![],
        };
        let both: Vec<(RequestId, RequestId)> =
            addresses.into_iter().filter_map(|address| self.requests.begun(address)).collect();
        details.requests = both.iter().map(|(prepared, _)| *prepared).collect();
        call.request = both.first().map_or(Call::NO_REQUEST, |(_, first)| *first);
    }

    fn waited(&mut self, how: HowMany, named: &[(u64, RequestId)]) -> Vec<Completed> {
        self.log.guesses.any += u64::from(matches!(how, HowMany::Any | HowMany::Some));
        let done = if how == HowMany::Any { named.get(..1).unwrap_or_default() } else { named };
        for (address, request) in done {
            self.tested.remove(request);
            self.requests.completed(*address, *request);
        }
        if how == HowMany::All {
            return vec![];
        }
        done.iter()
            .map(|(_, request)| Completed { request: *request, matched: None, cancelled: false })
            .collect()
    }

    /// The active requests in an array, in its order.
    fn in_array(&mut self, base: u64, count: u64, guess: bool) -> Vec<(u64, RequestId)> {
        let open = self.requests.under_way();
        let [wide, narrow] = [8, 4].map(|step| within(&open, base, count, step));
        if wide.is_empty() && narrow.is_empty() {
            let oldest = if guess { usize::try_from(count).unwrap_or(usize::MAX).min(open.len()) } else { 0 };
            self.log.guesses.moved += u64::from(oldest > 0);
            return open.into_iter().take(oldest).collect();
        }
        self.log.guesses.small += u64::from(narrow.len() > wide.len());
        if narrow.len() > wide.len() { narrow } else { wide }
    }

    fn prepared_in_array(&self, base: u64, count: u64) -> Vec<u64> {
        let idle: Vec<(u64, RequestId)> = self.requests.idle();
        let [wide, narrow] = [8, 4].map(|step| within(&idle, base, count, step));
        let found = if narrow.len() > wide.len() { narrow } else { wide };
        found.into_iter().map(|(address, _)| address).collect()
    }

    /// Decides that a test succeeded for those of its requests that no later call names.
    fn judge_tests(&mut self) {
        for call in &self.log.rank.calls {
            let Class::Test(how) = call.function.class() else { continue };
            self.log.guesses.tests += 1;
            let Some(details) = self.log.rank.details.get_mut(call.details as usize) else { continue };
            let last = |request: &RequestId| self.last_use.get(request) == Some(&call.details);
            let mut done: Vec<RequestId> = details.requests.iter().copied().filter(last).collect();
            match how {
                HowMany::One | HowMany::All => {
                    details.found = done.len() == details.requests.len() && !done.is_empty()
                }
                HowMany::Any | HowMany::Some => details.found = !done.is_empty(),
            }
            done.truncate(if how == HowMany::Any { 1 } else { usize::MAX });
            if details.found && how != HowMany::All {
                let completed = |request| Completed { request, matched: None, cancelled: false };
                details.completed = done.into_iter().map(completed).collect();
            }
        }
    }
}

/// The requests whose variables lie in an array of `count` entries of `step` bytes, in order of the
/// address; of several in one variable, the newest.
fn within(requests: &[(u64, RequestId)], base: u64, count: u64, step: u64) -> Vec<(u64, RequestId)> {
    let end = base.saturating_add(count.saturating_mul(step));
    let inside = |address: u64| (base..end).contains(&address) && (address - base).is_multiple_of(step);
    let mut found: Vec<(u64, RequestId)> =
        requests.iter().copied().filter(|(address, _)| inside(*address)).collect();
    found.sort_by_key(|&(address, request)| (address, std::cmp::Reverse(request)));
    found.dedup_by_key(|(address, _)| *address);
    found
}

fn assemble(function: Function, parts: &layout::Parts<'_>) -> Result<Given, String> {
    let whole = |letter| parts.get(letter).map(int).transpose();
    let small = |letter| -> Result<Option<i32>, String> {
        whole(letter)?
            .map(|value| i32::try_from(value).map_err(|_| format!("{value} is neither a rank nor a tag")))
            .transpose()
    };
    let size = |letter| parts.get(letter).map(datatype).transpose();
    let amount = |count, kind| -> Result<Option<u64>, String> {
        Ok(whole(count)?.zip(size(kind)?).map(|(count, size)| bytes(count, size)))
    };
    let sizes = |counts, kind| -> Result<Vec<u64>, String> {
        let (Some(text), Some(size)) = (parts.get(counts), size(kind)?) else { return Ok(vec![]) };
        let counts = list(text).ok_or_else(|| format!("'{text}' is not a list of counts"))?;
        Ok(counts.into_iter().map(|count| bytes(count, size)).collect())
    };
    let sent = amount(b'n', b'd')?.unwrap_or(0);
    let both = matches!(function.class(), Class::Collective(..) | Class::Sendrecv(_));
    let received = amount(b'N', b'D')?.unwrap_or(if both { sent } else { 0 });
    let arguments = Arguments {
        peer: small(b'p')?,
        tag: small(b't')?,
        source: small(b'P')?,
        source_tag: small(b'T')?,
        sent,
        received,
        sent_sizes: sizes(b'v', b'd')?,
        received_sizes: sizes(b'V', b'D')?,
    };
    let address = |letter| parts.get(letter).map(handle).transpose();
    let count = whole(b'k')?.map(|count| u64::try_from(count).unwrap_or(0));
    Ok(Given {
        arguments,
        communicator: parts.get(b'c').map(communicator).transpose()?,
        request: address(b'r')?,
        array: address(b'R')?.zip(count),
    })
}

/// Parses microseconds, whatever unit the line names: `sync.c` multiplies by a million before printing.
fn difference(value: &str) -> Result<i128, String> {
    let first = value.split_whitespace().next().unwrap_or_default();
    picoseconds(first).ok_or_else(|| format!("'{value}' is not a clock offset in microseconds"))
}

fn int(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("'{text}' is not a whole number"))
}

fn handle(text: &str) -> Result<u64, String> {
    number(text).ok_or_else(|| format!("'{text}' is not the address of a request"))
}

fn datatype(text: &str) -> Result<u64, String> {
    match triple(text) {
        Some([_, size, _]) if size <= i32::MAX as u64 => Ok(size),
        _ => Err(format!("'{text}' is not a datatype (id,size,extent)")),
    }
}

fn communicator(text: &str) -> Result<Local, String> {
    let wrong = || format!("'{text}' is not a communicator (id,rank,size)");
    let [id, rank, size] = triple(text).ok_or_else(wrong)?;
    let [rank, size] = [rank, size].map(|number| u32::try_from(number).ok());
    match (rank, size) {
        (Some(rank), Some(size)) if rank < size => Ok(Local { id, rank, size }),
        _ => Err(wrong()),
    }
}
