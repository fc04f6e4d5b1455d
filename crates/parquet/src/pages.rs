//! One column of a row group: its pages, one after the other.

use crate::compression::{Codec, Unpacker};
use crate::encodings::{Decoder, Hybrid};
use crate::error::{Error, Fault, fault};
use crate::metadata::Chunk;
use crate::page_header::{self as page, PageHeader, PageKind};
use crate::reader::Input;
use crate::schema::{Column, Physical};
use crate::thrift::{self, Wrong};
use crate::values::{ColumnValues, Strings, Values};

/// Bytes that are read at once: usually a page or more.
const READ_AHEAD: usize = 1 << 17;
/// A header with the smallest and largest value may be long, but not longer than this.
const LONGEST_HEADER: usize = 1 << 24;

#[derive(Debug)]
pub struct ColumnReader<'a> {
    source: Source<'a>,
    name: String,
    physical: Physical,
    nullable: bool,
    group: usize,
    codec: Codec,
    unpacker: Unpacker,
    /// Rows of the group.
    rows: usize,
    rows_read: usize,
    /// The pages so far, and the current one.
    pages: usize,
    /// Whether a page has no checksum.
    unchecked: bool,
    page: Page,
    dictionary: Option<Values>,
    /// Numbers as they are decoded: levels or ids.
    scratch: Vec<u32>,
    present: Vec<bool>,
    out: ColumnValues,
}

/// A page whose values are being read.
#[derive(Debug)]
struct Page {
    bytes: Vec<u8>,
    /// Rows that were not read.
    left: usize,
    /// Which rows have a value, if some may have none.
    levels: Option<Hybrid>,
    values: Option<Decoder>,
}

/// Why a page cannot be read.
enum PageError {
    Fault(Fault),
    Encoding(i32),
    Io(std::io::Error),
}

impl<T: Into<Fault>> From<T> for PageError {
    fn from(fault: T) -> PageError {
        PageError::Fault(fault.into())
    }
}

impl<'a> ColumnReader<'a> {
    pub fn new(
        input: &'a dyn Input,
        column: &Column,
        group: usize,
        rows: usize,
        chunk: &Chunk,
        codec: Codec,
    ) -> ColumnReader<'a> {
        let physical = column.kind.physical;
        ColumnReader {
            source: Source {
                input,
                at: chunk.start,
                end: chunk.start + chunk.length,
                ahead: Vec::new(),
                used: 0,
            },
            name: column.name.clone(),
            physical,
            nullable: column.kind.nullable,
            group,
            codec,
            unpacker: Unpacker::default(),
            rows,
            rows_read: 0,
            pages: 0,
            unchecked: false,
            page: Page { bytes: Vec::new(), left: 0, levels: None, values: None },
            dictionary: None,
            scratch: Vec::new(),
            present: Vec::new(),
            out: no_values(physical).into(),
        }
    }

    /// The rows that were read last.
    pub fn values(&self) -> &ColumnValues {
        &self.out
    }

    /// Reads `count` rows in place of those before.
    pub fn read(&mut self, count: usize) -> Result<(), Error> {
        self.out.values.clear();
        self.out.present.clear();
        let mut wanted = count;
        while wanted > 0 {
            if self.page.left == 0 {
                self.next_page().map_err(|error| self.error(error))?;
                continue;
            }
            let now = wanted.min(self.page.left);
            self.read_from_page(now).map_err(|fault| self.error(PageError::Fault(fault)))?;
            wanted -= now;
        }
        self.rows_read += count;
        Ok(())
    }

    /// Whether all values of the last page belong to rows.
    pub fn check_end(&self) -> Result<(), Error> {
        match self.page.left {
            0 => Ok(()),
            left => Err(self.error(fault!("it has {left} values more than the group has rows").into())),
        }
    }

    fn error(&self, error: PageError) -> Error {
        let (column, group) = (self.name.clone(), self.group);
        let page = self.pages.saturating_sub(1);
        match error {
            PageError::Fault(fault) => Error::Page { column, group, page, fault },
            PageError::Io(error) => Error::Io(error),
            PageError::Encoding(number) => {
                Error::Encoding { column, group, page, encoding: encoding_name(number) }
            }
        }
    }

    fn read_from_page(&mut self, count: usize) -> Result<(), Fault> {
        let first = self.out.values.len();
        let mut values = count;
        if let Some(levels) = &mut self.page.levels {
            self.scratch.resize(count, 0);
            levels.read(&self.page.bytes, &mut self.scratch)?;
            values = self.scratch.iter().map(|&level| usize::from(level == 1)).sum();
            if values < count {
                self.present.clear();
                self.present.extend(self.scratch.iter().map(|&level| level == 1));
            }
        }
        let decoder = self.page.values.as_mut().ok_or("it has no values")?;
        let (bytes, dictionary) = (&self.page.bytes, self.dictionary.as_ref());
        decoder.read(bytes, values, self.physical, dictionary, &mut self.scratch, &mut self.out.values)?;
        if values < count {
            self.out.values.spread(first, &self.present);
            // Nothing was missing before.
            self.out.present.resize(first, true);
            self.out.present.extend_from_slice(&self.present);
        } else if !self.out.present.is_empty() {
            self.out.present.resize(first + count, true);
        }
        self.page.left -= count;
        Ok(())
    }

    /// Whether a page so far has no checksum, so that changes of its bytes may go unnoticed.
    pub fn is_unchecked(&self) -> bool {
        self.unchecked
    }

    /// Reads the next page: a dictionary, values, or something else.
    fn next_page(&mut self) -> Result<(), PageError> {
        if self.source.is_empty() {
            return Err(
                fault!("it is the last, after {} of {} rows", self.rows_read_in_all(), self.rows).into()
            );
        }
        self.pages += 1;
        let header = self.source.header()?;
        let packed = self.source.take(header.bytes)?;
        self.unchecked |= header.checksum.is_none();
        if header.checksum.is_some_and(|checksum| checksum != crc32fast::hash(packed)) {
            return Err("its checksum is wrong".into());
        }
        self.page.bytes.clear();
        let (at, is_compressed) = match header.kind {
            PageKind::Other => return Ok(()),
            PageKind::Data2 { level_bytes, repetition_bytes, is_compressed } => {
                let levels = level_bytes.checked_add(repetition_bytes).and_then(|end| packed.get(..end));
                let levels = levels.ok_or("its levels are longer than the page")?;
                self.page.bytes.extend_from_slice(levels);
                (levels.len(), is_compressed)
            }
            PageKind::Data | PageKind::Dictionary => (0, true),
        };
        let codec = if is_compressed { self.codec } else { Codec::None };
        let length = header.unpacked_bytes.checked_sub(at).ok_or("its levels are longer than the page")?;
        self.unpacker.unpack(codec, &packed[at..], length, &mut self.page.bytes)?;
        match header.kind {
            PageKind::Dictionary => self.begin_dictionary(&header),
            _ => self.begin_values(&header),
        }
    }

    /// Rows that were read, those before the last error included.
    fn rows_read_in_all(&self) -> usize {
        self.rows_read + self.out.values.len()
    }

    fn begin_dictionary(&mut self, header: &PageHeader) -> Result<(), PageError> {
        if !matches!(header.encoding, page::PLAIN | page::PLAIN_DICTIONARY) {
            return Err(PageError::Encoding(header.encoding));
        }
        if self.dictionary.is_some() || !self.out.values.is_empty() || self.rows_read > 0 {
            return Err("it is a second dictionary".into());
        }
        let mut entries = no_values(self.physical);
        let decoder = Decoder::new(page::PLAIN, self.physical, &self.page.bytes, 0, header.values)?;
        let mut decoder = decoder.ok_or(PageError::Encoding(header.encoding))?;
        let bytes = &self.page.bytes;
        decoder.read(bytes, header.values, self.physical, None, &mut self.scratch, &mut entries)?;
        if let (Values::Bytes(entries), Values::Bytes(out)) = (&mut entries, &mut self.out.values) {
            out.pool = std::mem::take(&mut entries.pool);
            out.dictionary = out.pool.len();
        }
        self.dictionary = Some(entries);
        Ok(())
    }

    fn begin_values(&mut self, header: &PageHeader) -> Result<(), PageError> {
        let bytes = &self.page.bytes;
        let (mut levels, mut at) = (None, 0);
        match header.kind {
            PageKind::Data2 { level_bytes, repetition_bytes, .. } => {
                at = repetition_bytes + level_bytes;
                if self.nullable {
                    levels = Some(Hybrid::new(1, repetition_bytes, at)?);
                }
            }
            _ if self.nullable && header.level_encoding == page::BIT_PACKED => {
                return Err(PageError::Encoding(header.level_encoding));
            }
            _ if self.nullable => {
                let (hybrid, end) = Hybrid::with_length(1, bytes, 0)?;
                (levels, at) = (Some(hybrid), end);
            }
            _ => {}
        }
        let decoder = Decoder::new(header.encoding, self.physical, bytes, at, header.values)?;
        let values = decoder.ok_or(PageError::Encoding(header.encoding))?;
        (self.page.levels, self.page.values, self.page.left) = (levels, Some(values), header.values);
        Ok(())
    }
}

fn no_values(physical: Physical) -> Values {
    match physical {
        Physical::Bool => Values::Bool(Vec::new()),
        Physical::I32 => Values::I32(Vec::new()),
        Physical::I64 | Physical::I96 => Values::I64(Vec::new()),
        Physical::F32 => Values::F32(Vec::new()),
        Physical::F64 => Values::F64(Vec::new()),
        Physical::Bytes | Physical::Fixed(_) => Values::Bytes(Strings::default()),
    }
}

fn encoding_name(number: i32) -> String {
    let name = match number {
        page::PLAIN => "PLAIN",
        page::PLAIN_DICTIONARY => "PLAIN_DICTIONARY",
        page::RLE => "RLE",
        page::BIT_PACKED => "BIT_PACKED",
        page::DELTA_BINARY_PACKED => "DELTA_BINARY_PACKED",
        page::DELTA_LENGTH_BYTE_ARRAY => "DELTA_LENGTH_BYTE_ARRAY",
        page::DELTA_BYTE_ARRAY => "DELTA_BYTE_ARRAY",
        page::RLE_DICTIONARY => "RLE_DICTIONARY",
        page::BYTE_STREAM_SPLIT => "BYTE_STREAM_SPLIT",
        other => return format!("number {other}"),
    };
    name.into()
}

/// The bytes of a chunk, read as they are needed.
#[derive(Debug)]
struct Source<'a> {
    input: &'a dyn Input,
    /// What was not read.
    at: u64,
    end: u64,
    /// What was read, and how much of it was used.
    ahead: Vec<u8>,
    used: usize,
}

impl Source<'_> {
    fn is_empty(&self) -> bool {
        self.at == self.end && self.used == self.ahead.len()
    }

    /// The next bytes: `wanted` or more, or all that are left.
    fn fill(&mut self, wanted: usize) -> Result<&[u8], PageError> {
        if self.ahead.len() - self.used < wanted && self.at < self.end {
            self.ahead.drain(..self.used);
            self.used = 0;
            let more = wanted.max(READ_AHEAD) - self.ahead.len();
            let more = (self.end - self.at).min(more as u64) as usize;
            let from = self.ahead.len();
            self.ahead.resize(from + more, 0);
            self.input.read_at(self.at, &mut self.ahead[from..]).map_err(PageError::Io)?;
            self.at += more as u64;
        }
        Ok(&self.ahead[self.used..])
    }

    fn header(&mut self) -> Result<PageHeader, PageError> {
        let mut wanted = 1 << 12;
        loop {
            let bytes = self.fill(wanted)?;
            let mut input = thrift::Decoder::new(bytes);
            match PageHeader::decode(&mut input) {
                Ok(header) => {
                    self.used += bytes.len() - input.rest.len();
                    return Ok(header);
                }
                Err(Wrong::Ended) if bytes.len() >= wanted && wanted < LONGEST_HEADER => wanted *= 2,
                Err(wrong) => return Err(fault!("its header: {}", wrong.text()).into()),
            }
        }
    }

    fn take(&mut self, count: usize) -> Result<&[u8], PageError> {
        if count as u64 > (self.ahead.len() - self.used) as u64 + (self.end - self.at) {
            return Err("it is longer than the column".into());
        }
        self.fill(count)?;
        let at = self.used;
        self.used += count;
        Ok(&self.ahead[at..self.used])
    }
}
