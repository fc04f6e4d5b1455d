//! The bytes of a DUMPI file: its index, its tables and its records.
//!
//! The file and its index begin with the same 8 bytes. The index is at the end of the file: up to 7
//! numbers that say where the sizes of datatypes, addresses, labels, header, body, footer and notes of
//! the program begin. The first three were added one by one in later versions. The body is a list of
//! records up to an end mark (`dumpi/common/io.c` and `iodefs.h` of sst-dumpi). A file without an index
//! comes from a program that did not reach MPI_Finalize; it is read up to its last complete record.

use super::table::{END_OF_STREAM, FUNCTIONS, PROGRAM_FUNCTIONS};

pub(super) const MAGIC: [u8; 8] = [0xff, 0xaa, 0xdd, 0x44, b'U', b'M', b'P', b'I'];

/// What is wrong, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wrong {
    pub offset: usize,
    pub what: String,
}

/// Reads big-endian numbers, never beyond the end.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], at: usize) -> Cursor<'a> {
        Cursor { bytes, at }
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Wrong> {
        let end = self.at.checked_add(length);
        let Some(taken) = end.and_then(|end| self.bytes.get(self.at..end)) else {
            let left = self.bytes.len().saturating_sub(self.at);
            return Err(Wrong {
                offset: self.at,
                what: format!("{length} bytes expected, but only {left} are left"),
            });
        };
        self.at += length;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Result<u64, Wrong> {
        Ok(self.take(N)?.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    pub fn u8(&mut self) -> Result<u8, Wrong> {
        Ok(self.number::<1>()? as u8)
    }

    pub fn u16(&mut self) -> Result<u16, Wrong> {
        Ok(self.number::<2>()? as u16)
    }

    pub fn i32(&mut self) -> Result<i32, Wrong> {
        Ok(self.number::<4>()? as u32 as i32)
    }

    pub fn u64(&mut self) -> Result<u64, Wrong> {
        self.number::<8>()
    }

    /// The length of a list whose entries have at least `width` bytes; a negative length counts as 0.
    pub fn length(&mut self, width: usize) -> Result<usize, Wrong> {
        let offset = self.at;
        let length = usize::try_from(self.i32()?).unwrap_or(0);
        let left = self.bytes.len().saturating_sub(self.at);
        if length.saturating_mul(width) > left {
            return Err(Wrong {
                offset,
                what: format!("a list of {length} entries, but only {left} bytes are left"),
            });
        }
        Ok(length)
    }

    fn list(&mut self, width: usize) -> Result<Vec<i32>, Wrong> {
        let length = self.length(width)?;
        (0..length).map(|_| if width == 2 { self.u16().map(i32::from) } else { self.i32() }).collect()
    }

    fn string(&mut self) -> Result<&'a [u8], Wrong> {
        let length = self.length(1)?;
        self.take(length)
    }

    /// A string with a length of 16 bits.
    pub fn short_string(&mut self) -> Result<String, Wrong> {
        let length = self.u16()?;
        Ok(String::from_utf8_lossy(self.take(usize::from(length))?).into_owned())
    }
}

/// Where the parts of a file begin; 0 for a part that is absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Index {
    pub sizes: usize,
    pub header: usize,
    pub body: usize,
    pub footer: usize,
}

impl Index {
    /// Reads the index from the end of a file, if there is one.
    pub fn new(bytes: &[u8]) -> Option<Index> {
        // Later versions have more numbers before the four every version has.
        for numbers in (4..=7).rev() {
            let start = bytes.len().checked_sub(8 * (numbers + 1))?;
            let mut cursor = Cursor::new(bytes, start);
            if cursor.take(8).ok()? != MAGIC {
                continue;
            }
            let all: Vec<usize> = (0..numbers)
                .map(|_| cursor.u64().ok().and_then(|at| usize::try_from(at).ok()))
                .collect::<Option<_>>()?;
            let sizes = if numbers == 7 { *all.first()? } else { 0 };
            let [header, body, footer, _] = all.last_chunk::<4>()?;
            return Some(Index { sizes, header: *header, body: *body, footer: *footer });
        }
        None
    }
}

/// The contents of the header.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Header {
    pub version: [u8; 3],
    pub host: String,
}

pub(super) fn header(bytes: &[u8], at: usize) -> Result<Header, Wrong> {
    let mut cursor = Cursor::new(bytes, at);
    let version = [cursor.u8()?, cursor.u8()?, cursor.u8()?];
    cursor.u64()?;
    Ok(Header { version, host: cursor.short_string()? })
}

/// The sizes of datatypes, by their number.
pub(super) fn sizes(bytes: &[u8], at: usize) -> Result<Vec<i32>, Wrong> {
    Cursor::new(bytes, at).list(4)
}

/// How often each function was called according to the tracer, including calls it was told not to record.
pub(super) fn calls(bytes: &[u8], at: usize) -> Result<Vec<i32>, Wrong> {
    const FOOTER: u64 = 0xf007_fee7;
    let mut cursor = Cursor::new(bytes, at);
    if cursor.u64()? != FOOTER {
        return Err(Wrong { offset: at, what: "this is not the start of the footer".into() });
    }
    FUNCTIONS.iter().map(|_| cursor.i32()).collect()
}

/// Source and tag of a message, as the library returned them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Status {
    pub source: i32,
    pub tag: Option<i32>,
    pub cancelled: bool,
}

/// One record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Record {
    pub code: u16,
    pub offset: usize,
    pub thread: u16,
    /// Enter and exit, in seconds and nanoseconds, as wall-clock time and as processor time.
    pub wall: Option<[(u16, i32); 2]>,
    pub processor: Option<[(u16, i32); 2]>,
    numbers: Vec<(u8, i32)>,
    lists: Vec<(u8, Vec<i32>)>,
    pub statuses: Vec<Status>,
    pub program: Vec<String>,
}

impl Record {
    pub fn number(&self, letter: u8) -> Option<i32> {
        self.numbers.iter().find(|(found, _)| *found == letter).map(|(_, value)| *value)
    }

    pub fn list(&self, letter: u8) -> Option<&[i32]> {
        self.lists.iter().find(|(found, _)| *found == letter).map(|(_, list)| list.as_slice())
    }

    /// The name of the function without `MPI_`.
    pub fn name(&self) -> &'static str {
        FUNCTIONS.get(usize::from(self.code)).map_or("?", |(name, _)| name)
    }

    /// Reads the next record of a body; `None` at its end.
    pub fn read(cursor: &mut Cursor<'_>, version: [u8; 3]) -> Result<Option<Record>, Wrong> {
        let offset = cursor.at;
        let code = cursor.u16()?;
        if code == END_OF_STREAM {
            return Ok(None);
        }
        let layout = match FUNCTIONS.get(usize::from(code)) {
            Some((_, layout)) if *layout != "!" => layout,
            _ if PROGRAM_FUNCTIONS.contains(&code) => ";",
            _ => return Err(Wrong { offset, what: format!("unknown function code {code}") }),
        };
        let mut record = Record { code, offset, ..Record::default() };
        let statuses = record.begin(cursor)?;
        let mut fields = Fields { cursor, version, statuses, record: &mut record };
        fields.all(layout)?;
        Ok(Some(record))
    }

    /// Reads what all records begin with; returns whether this one has statuses.
    fn begin(&mut self, cursor: &mut Cursor<'_>) -> Result<bool, Wrong> {
        let mask = cursor.u8()?;
        if mask & 1 << 6 != 0 {
            self.thread = cursor.u16()?;
        }
        let mut times = |present: bool| -> Result<Option<[(u16, i32); 2]>, Wrong> {
            if !present {
                return Ok(None);
            }
            Ok(Some([(cursor.u16()?, cursor.i32()?), (cursor.u16()?, cursor.i32()?)]))
        };
        self.processor = times(mask & 1 << 2 != 0)?;
        self.wall = times(mask & 1 << 3 != 0)?;
        if mask & 1 << 7 != 0 {
            let counters = cursor.u8()?;
            cursor.take(usize::from(counters) * 16)?;
        }
        Ok(mask & 3 != 0)
    }
}

/// Reads the fields of one record.
struct Fields<'a, 'b> {
    cursor: &'a mut Cursor<'b>,
    version: [u8; 3],
    statuses: bool,
    record: &'a mut Record,
}

impl Fields<'_, '_> {
    fn all(&mut self, layout: &str) -> Result<(), Wrong> {
        let mut present = true;
        for letter in layout.bytes() {
            match letter {
                b'[' => present = self.record.number(b'm') == self.record.number(b'p'),
                b']' => present = true,
                _ if present => self.field(letter)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn field(&mut self, letter: u8) -> Result<(), Wrong> {
        match letter {
            b'n' | b'N' | b'p' | b'P' | b't' | b'T' | b'r' | b'f' | b'k' | b'm' | b'j' | b'J' | b'b'
            | b'z' => {
                let value = self.cursor.i32()?;
                self.record.numbers.push((letter, value));
            }
            b'd' | b'D' | b'c' | b'C' | b'g' | b'h' | b'G' | b'o' | b'O' | b'q' => {
                let value = self.cursor.u16()?;
                self.record.numbers.push((letter, i32::from(value)));
            }
            b'R' | b'v' | b'V' | b'K' | b'l' | b'u' => {
                let list = self.cursor.list(4)?;
                self.record.lists.push((letter, list));
            }
            b'w' | b'W' => {
                let list = self.cursor.list(2)?;
                self.record.lists.push((letter, list));
            }
            b'L' => self.ranges()?,
            b'x' => self.statuses()?,
            b'I' => self.program()?,
            _ => self.skip(letter)?,
        }
        Ok(())
    }

    fn skip(&mut self, letter: u8) -> Result<(), Wrong> {
        let cursor = &mut *self.cursor;
        let width = match letter {
            b'.' => 4,
            b':' => 2,
            b',' => 1,
            b';' => 8,
            b'a' => 4 * cursor.length(4)?,
            b'y' => 2 * cursor.length(2)?,
            b'e' | b's' => cursor.length(1)?,
            b'8' | b'9' if !self.has([0, 6, letter - b'0']) => 4,
            b'8' | b'9' => return self.skip(b'a'),
            b'A' => return self.repeat(b'a'),
            b'S' => return self.repeat(b's'),
            b'Z' => return self.repeat(b'S'),
            _ => 0,
        };
        self.cursor.take(width).map(|_| ())
    }

    fn repeat(&mut self, letter: u8) -> Result<(), Wrong> {
        let length = self.cursor.length(4)?;
        (0..length).try_for_each(|_| self.skip(letter))
    }

    /// Reads a list of triples of numbers.
    fn ranges(&mut self) -> Result<(), Wrong> {
        let length = self.cursor.length(4)?;
        let mut all = Vec::new();
        for _ in 0..length {
            let mut range = self.cursor.list(4)?;
            range.resize(3, 0);
            all.extend(range);
        }
        self.record.lists.push((b'L', all));
        Ok(())
    }

    fn statuses(&mut self) -> Result<(), Wrong> {
        if !self.statuses {
            return Ok(());
        }
        let length = self.cursor.length(10)?;
        for _ in 0..length {
            self.cursor.i32()?;
            let source = self.cursor.i32()?;
            let cancelled = self.cursor.u8()? != 0;
            self.cursor.u8()?;
            let tag = if self.has([0, 6, 3]) { Some(self.cursor.i32()?) } else { None };
            self.record.statuses.push(Status { source, tag, cancelled });
        }
        Ok(())
    }

    fn program(&mut self) -> Result<(), Wrong> {
        let length = self.cursor.length(4)?;
        if !self.has([0, 6, 2]) {
            self.cursor.i32()?;
        }
        for _ in 0..length {
            let argument = self.cursor.string()?;
            self.record.program.push(String::from_utf8_lossy(argument).into_owned());
        }
        Ok(())
    }

    fn has(&self, version: [u8; 3]) -> bool {
        self.version >= version
    }
}
