//! Reads one stream as far as it is intact, and reports everything that is wrong with it.

mod calls;

use super::block::{Block, BlockKind, HEADER, NoBlock, next_magic, take};
use super::sites::Described;
use super::varint::{Cursor, Cut};
use super::{end, exchange, head};
use crate::Function;
use crate::call::{Call, Details};
use crate::trace::{Communicator, Marks, Neighbors, Usage};
use std::collections::BTreeMap;
use std::fmt;
use straggler_model::Time;

/// A stream as it was recorded: times in ticks of the rank's own counter, communicators in its own numbers.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    pub head: Head,
    /// In the order of the stream; `enter` and `exit` are ticks.
    pub calls: Vec<Call>,
    /// Where each call was made, in the stream's own numbers; empty where that was not recorded.
    pub sites: Vec<u32>,
    /// Describes the places behind these numbers.
    pub described: Described,
    pub details: Vec<Details>,
    pub(super) marks: Marks,
    /// Communicators that calls of this rank made, in order of creation.
    pub made: Vec<Made>,
    pub exchanges: Vec<Exchange>,
    /// Pairs of ticks and nanoseconds of the operating system's clock.
    pub anchors: Vec<(u64, u64)>,
    pub unknown: BTreeMap<String, u64>,
    pub ending: Option<Ending>,
    pub usage: Option<Usage>,
    pub problems: Vec<Problem>,
    /// The rank according to the file name, if the stream itself does not tell.
    pub named: Option<u32>,
    /// Bytes of all blocks that were read.
    pub bytes: u64,
}

/// Who wrote a stream.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Head {
    /// The version of the format that the stream needs.
    pub version: u16,
    /// The same for all ranks of a run, different for different runs; empty when not known.
    pub run: Vec<u8>,
    pub rank: u32,
    pub size: u32,
    pub host: String,
    /// Identifies one boot of an operating system; ranks that share it share its clock.
    pub boot: String,
    pub process: u64,
    pub program: String,
    pub library: String,
    /// How long a tick is, in picoseconds, as first measured.
    pub tick_ps: f64,
    pub cores: Vec<u32>,
    pub thread_level: Option<u64>,
    /// When the run began, in nanoseconds since 1970; 0 if unknown.
    pub started_ns: u64,
    /// Present if the stream's communicators already have the numbers of the run.
    pub communicators: Option<Vec<Communicator>>,
    pub notes: Vec<String>,
    /// The original format, if the trace was converted.
    pub format: String,
    /// The stream's codes for functions.
    functions: Vec<Entry>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    function: Function,
    makes_request: bool,
    name: String,
}

/// A communicator as described by a rank that is in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Made {
    /// The rank's numbers for it and for its parent.
    pub local: u32,
    pub parent: u32,
    pub function: Function,
    /// How many communicators were made from the same parent before, counting separately the calls
    /// that all of its members take part in and the others.
    pub index: u32,
    pub members: Vec<u32>,
    pub remote: Vec<u32>,
    pub neighbors: Option<Neighbors>,
}

/// The best round of an exchange of times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Exchange {
    pub at_end: bool,
    pub partner: u32,
    pub before: u64,
    pub theirs: u64,
    pub after: u64,
    pub rounds: u64,
}

/// How the recording of a stream ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    Finalized,
    /// The process ended without finalizing.
    Exited,
    Aborted,
    /// The stream could not be written any further; holds the system's error number.
    Unwritable(i32),
}

/// Something wrong with a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Byte offset in the stream.
    pub offset: u64,
    pub what: Fault,
}

/// What is wrong with a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The last block is incomplete: the program was killed while writing, or the file was cut.
    Cut {
        wanted: u64,
        there: u64,
    },
    NotATrace,
    /// The file is empty.
    Empty,
    /// Bytes between two blocks that are not a block.
    Garbage {
        bytes: u64,
    },
    Checksum,
    FromTheFuture(u16),
    UnknownBlock(u16),
    /// Blocks are missing before this one.
    Missing {
        expected: u32,
        found: u32,
    },
    /// A record that does not follow the format, in a block whose checksum is right.
    Record {
        field: &'static str,
    },
    NoHead,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Cut { wanted, there } => {
                write!(
                    f,
                    "the last block is truncated ({there} of {wanted} bytes): the calls before it are intact"
                )
            }
            Fault::Empty => {
                write!(f, "the stream is empty: its process ended before it wrote anything")
            }
            Fault::NotATrace => write!(f, "this is not a stream of a trace"),
            Fault::Garbage { bytes } => write!(f, "{bytes} bytes that are not part of a block were skipped"),
            Fault::Checksum => write!(f, "a block is damaged (wrong checksum) and was skipped"),
            Fault::FromTheFuture(version) => write!(
                f,
                "the format has version {version}, but this program reads up to {}: use a newer straggler",
                super::VERSION
            ),
            Fault::UnknownBlock(code) => write!(f, "a block of unknown kind {code} was skipped"),
            Fault::Missing { expected, found } => {
                write!(f, "blocks {expected} to {} are missing", found.wrapping_sub(1))
            }
            Fault::Record { field } => {
                write!(f, "a record is malformed at its {field}; the rest of its block is lost")
            }
            Fault::NoHead => write!(f, "the stream does not start with its head"),
        }
    }
}

/// Reads a stream from `bytes`, whose first byte is `offset` bytes into its file, up to where the
/// next stream begins. Also returns the number of bytes read.
pub fn read(bytes: &[u8], offset: u64) -> (Stream, usize) {
    let mut reader = Reader { stream: Stream::default(), expected: None };
    let mut at = 0;
    while at < bytes.len() {
        let place = offset + at as u64;
        match take(&bytes[at..]) {
            Ok((block, _)) if block.header.kind == BlockKind::Head && reader.expected.is_some() => break,
            Ok((block, length)) => {
                reader.block(&block, place);
                reader.stream.bytes += length as u64;
                at += length;
            }
            Err(NoBlock::Kind { code, bytes: length }) => {
                reader.problem(place, Fault::UnknownBlock(code));
                reader.expected = reader.expected.map(|expected| expected.wrapping_add(1));
                at += length;
            }
            Err(other) => {
                let Some(next) = reader.skip(other, bytes, at, offset) else {
                    at = bytes.len();
                    break;
                };
                at = next;
            }
        }
    }
    if reader.stream.head.size == 0 {
        reader.problem(offset, Fault::NoHead);
    }
    calls::link(&mut reader.stream);
    (reader.stream, at)
}

struct Reader {
    stream: Stream,
    /// The expected number of the next block.
    expected: Option<u32>,
}

impl Reader {
    fn problem(&mut self, offset: u64, what: Fault) {
        self.stream.problems.push(Problem { offset, what });
    }

    /// Reports why there is no block at `at`, and finds the next one.
    fn skip(&mut self, why: NoBlock, bytes: &[u8], at: usize, offset: u64) -> Option<usize> {
        let place = offset + at as u64;
        let next = next_magic(bytes, at + 1);
        let fault = match why {
            NoBlock::Cut { wanted, there } => Fault::Cut { wanted, there },
            NoBlock::Version(version) => Fault::FromTheFuture(version),
            NoBlock::Checksum => Fault::Checksum,
            _ if self.expected.is_none() && next.is_none() => Fault::NotATrace,
            _ => Fault::Garbage { bytes: (next.unwrap_or(bytes.len()) - at) as u64 },
        };
        let future = matches!(fault, Fault::FromTheFuture(_));
        self.problem(place, fault);
        if future { None } else { next }
    }

    fn block(&mut self, block: &Block<'_>, place: u64) {
        let header = &block.header;
        if let Some(expected) = self.expected
            && expected != header.sequence
        {
            self.problem(place, Fault::Missing { expected, found: header.sequence });
        } else if self.expected.is_none() && header.kind != BlockKind::Head {
            self.problem(place, Fault::NoHead);
        }
        self.expected = Some(header.sequence.wrapping_add(1));
        self.stream.anchors.push((header.ticks, header.clock_ns));
        let payload = place + HEADER as u64;
        let version = self.stream.head.version.max(block.version);
        let read = match header.kind {
            BlockKind::Head => read_head(block.payload).map(|head| self.stream.head = head),
            BlockKind::Clock => {
                read_exchange(block.payload).map(|exchange| self.stream.exchanges.push(exchange))
            }
            BlockKind::End => self.end(block.payload),
            BlockKind::Sites => for_pairs(block.payload, |key, value| self.stream.described.read(key, value)),
            BlockKind::Calls | BlockKind::CallsWithSites => {
                self.calls(block, payload);
                Ok(())
            }
        };
        self.stream.head.version = version;
        if read.is_err() {
            self.problem(payload, Fault::Record { field: "key and value" });
        }
    }

    fn calls(&mut self, block: &Block<'_>, payload: u64) {
        if let Err((at, field)) = calls::read_block(block, &mut self.stream) {
            self.problem(payload + at as u64, Fault::Record { field });
        }
    }

    fn usage(&mut self) -> &mut Usage {
        self.stream.usage.get_or_insert_default()
    }

    fn end(&mut self, payload: &[u8]) -> Result<(), Cut> {
        for_pairs(payload, |key, value| {
            let mut cursor = Cursor::new(value);
            match key {
                end::UNKNOWN => {
                    for (count, name) in read_names(&mut cursor)? {
                        self.stream.unknown.insert(name, count);
                    }
                }
                end::HOW => {
                    self.stream.ending = match cursor.number()? {
                        0 => Some(Ending::Finalized),
                        2 => Some(Ending::Aborted),
                        _ => Some(Ending::Exited),
                    }
                }
                end::FAULT => self.stream.ending = Some(Ending::Unwritable(cursor.fitting()?)),
                end::WALL => self.usage().wall = nanoseconds(&mut cursor)?,
                end::CPU => self.usage().cpu = nanoseconds(&mut cursor)?,
                end::PREEMPTIONS => self.usage().preemptions = cursor.number()?,
                end::WAITING => self.usage().waiting = Some(nanoseconds(&mut cursor)?),
                _ => {}
            }
            Ok(())
        })
    }
}

fn nanoseconds(cursor: &mut Cursor<'_>) -> Result<Time, Cut> {
    Ok(Time(cursor.number()?.saturating_mul(1000)))
}

fn for_pairs<'a>(
    payload: &'a [u8],
    mut take: impl FnMut(u64, &'a [u8]) -> Result<(), Cut>,
) -> Result<(), Cut> {
    let mut cursor = Cursor::new(payload);
    while !cursor.is_empty() {
        let (key, length) = (cursor.number()?, cursor.number()?);
        take(key, cursor.slice(length)?)?;
    }
    Ok(())
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

fn read_head(payload: &[u8]) -> Result<Head, Cut> {
    let mut found = Head::default();
    for_pairs(payload, |key, value| {
        let mut cursor = Cursor::new(value);
        match key {
            head::RUN => found.run = value.to_vec(),
            head::RANK => found.rank = cursor.fitting()?,
            head::SIZE => found.size = cursor.fitting()?,
            head::HOST => found.host = text(value),
            head::BOOT => found.boot = text(value),
            head::PROCESS => found.process = cursor.number()?,
            head::PROGRAM => found.program = text(value),
            head::LIBRARY => found.library = text(value),
            head::TICK_PS => found.tick_ps = f64::from_le_bytes(value.try_into().map_err(|_| Cut)?),
            head::CORES => {
                let cores = cursor.list(1 << 16)?;
                found.cores = cores.into_iter().filter_map(|core| u32::try_from(core).ok()).collect();
            }
            head::THREAD_LEVEL => found.thread_level = Some(cursor.number()?),
            head::STARTED => found.started_ns = cursor.number()?,
            head::FUNCTIONS => found.functions = read_functions(&mut cursor)?,
            head::COMMUNICATORS => found.communicators = Some(calls::read_communicators(&mut cursor)?),
            head::NOTES => found.notes = read_names(&mut cursor)?.into_iter().map(|(_, note)| note).collect(),
            head::FORMAT => found.format = text(value),
            _ => {}
        }
        Ok(())
    })?;
    Ok(found)
}

fn read_names(cursor: &mut Cursor<'_>) -> Result<Vec<(u64, String)>, Cut> {
    let count = cursor.number()?;
    let mut names = Vec::new();
    for _ in 0..count {
        let (number, length) = (cursor.number()?, cursor.number()?);
        names.push((number, text(cursor.slice(length)?)));
    }
    Ok(names)
}

fn read_functions(cursor: &mut Cursor<'_>) -> Result<Vec<Entry>, Cut> {
    let names = read_names(cursor)?;
    Ok(names
        .into_iter()
        .map(|(flags, name)| Entry {
            function: Function::named(&name).unwrap_or(Function::Unknown),
            makes_request: flags & 1 != 0,
            name,
        })
        .collect())
}

fn read_exchange(payload: &[u8]) -> Result<Exchange, Cut> {
    let mut found = Exchange::default();
    for_pairs(payload, |key, value| {
        let mut cursor = Cursor::new(value);
        match key {
            exchange::WHEN => found.at_end = cursor.number()? == 1,
            exchange::PARTNER => found.partner = cursor.fitting()?,
            exchange::BEFORE => found.before = cursor.number()?,
            exchange::THEIRS => found.theirs = cursor.number()?,
            exchange::AFTER => found.after = cursor.number()?,
            exchange::ROUNDS => found.rounds = cursor.number()?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(found)
}
