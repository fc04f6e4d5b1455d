//! Numbers and records as OTF2 stores them in its files.
//!
//! A file is a sequence of chunks of one size, the last one shorter. A chunk begins with a byte 3,
//! the byte order of its writer, and the numbers of its first and last event. Records follow: a byte
//! with the kind of record, a byte with the length (255: the length is in the next eight), the body.
//! Most integers are compressed: a byte says how many bytes follow, 0 stands for zero and 255 for an
//! undefined value. A chunk is padded with bytes 0 to its size, and the file ends with a byte 2.
//! Event files have timestamps between the records, nine bytes each, which hold for all records up
//! to the next one. (As libotf2 3.0 writes and reads them: OTF2_Buffer.c, OTF2_EvtReader.c.)

use super::error::Fault;

pub(super) const END_OF_CHUNK: u8 = 0;
/// Follows the end of a file.
pub(super) const END_OF_BUFFER: u8 = 1;
pub(super) const END_OF_FILE: u8 = 2;
pub(super) const CHUNK_HEADER: u8 = 3;
pub(super) const LITTLE_ENDIAN: u8 = b'B';
const BIG_ENDIAN: u8 = b'#';
/// In files of events only.
pub(super) const TIMESTAMP: u8 = 5;
/// In files of events only.
const ATTRIBUTES: u8 = 6;
/// The length byte of long records, and the compressed form of an undefined value.
pub(super) const LONG: u8 = 0xff;
pub(super) const HEADER_SIZE: usize = 18;

/// Reads numbers from a part of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    big_endian: bool,
}

impl<'a> Cursor<'a> {
    /// Opens a whole file, after its marker and byte order.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Cursor<'a>, Fault> {
        let mut cursor = Cursor { bytes, at: 0, end: bytes.len(), big_endian: false };
        cursor.header()?;
        Ok(cursor)
    }

    fn header(&mut self) -> Result<(), Fault> {
        let offset = self.offset();
        if self.u8()? != CHUNK_HEADER {
            return Err(Fault::new(offset, "no OTF2 chunk starts here"));
        }
        self.big_endian = match self.u8()? {
            LITTLE_ENDIAN => false,
            BIG_ENDIAN => true,
            other => return Err(Fault::new(offset + 1, format!("invalid byte order {other:#04x}"))),
        };
        Ok(())
    }

    pub(super) fn offset(&self) -> u64 {
        self.at as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.end
    }

    /// The number of bytes left, which bounds allocations.
    pub(super) fn left(&self) -> usize {
        self.end.saturating_sub(self.at)
    }

    pub(super) fn fault(&self, what: impl Into<String>) -> Fault {
        Fault::new(self.offset(), what)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        let end = self.at.checked_add(length).filter(|&end| end <= self.end);
        let part = end.and_then(|end| self.bytes.get(self.at..end));
        let part = part.ok_or_else(|| self.fault("ends in the middle of a record"))?;
        self.at += length;
        Ok(part)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Fault> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    fn integer(&mut self, length: usize) -> Result<u64, Fault> {
        let big_endian = self.big_endian;
        let bytes = self.take(length)?;
        let shift = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
        Ok(if big_endian { bytes.iter().fold(0, shift) } else { bytes.iter().rev().fold(0, shift) })
    }

    /// Four bytes.
    pub(super) fn full_u32(&mut self) -> Result<u32, Fault> {
        Ok(self.integer(4)? as u32)
    }

    /// Eight bytes.
    pub(super) fn full_u64(&mut self) -> Result<u64, Fault> {
        self.integer(8)
    }

    pub(super) fn f64(&mut self) -> Result<f64, Fault> {
        Ok(f64::from_bits(self.full_u64()?))
    }

    fn squeezed(&mut self, longest: u8) -> Result<Option<u64>, Fault> {
        let offset = self.offset();
        match self.u8()? {
            LONG => Ok(None),
            length if length <= longest => self.integer(length.into()).map(Some),
            length => Err(Fault::new(offset, format!("an integer of {length} bytes"))),
        }
    }

    pub(super) fn u32(&mut self) -> Result<u32, Fault> {
        Ok(self.squeezed(4)?.map_or(u32::MAX, |value| value as u32))
    }

    pub(super) fn u64(&mut self) -> Result<u64, Fault> {
        Ok(self.squeezed(8)?.unwrap_or(u64::MAX))
    }

    /// Reads a text, which ends with a zero byte. Invalid UTF-8 is replaced, since names are only displayed.
    pub(super) fn text(&mut self) -> Result<String, Fault> {
        let rest = self.bytes.get(self.at..self.end).unwrap_or_default();
        let length = rest.iter().position(|&byte| byte == 0);
        let length = length.ok_or_else(|| self.fault("a text without an end"))?;
        let text = String::from_utf8_lossy(self.take(length)?).into_owned();
        self.take(1)?;
        Ok(text)
    }

    /// A cursor over the next `length` bytes.
    fn part(&mut self, length: u64) -> Result<Cursor<'a>, Fault> {
        let part = Cursor { ..*self };
        let length = usize::try_from(length).map_err(|_| self.fault("a record longer than the file"))?;
        self.take(length)?;
        Ok(Cursor { end: self.at, ..part })
    }
}

/// One record.
#[derive(Debug)]
pub(super) struct Record<'a> {
    pub(super) id: u8,
    pub(super) offset: u64,
    /// The last timestamp before it; 0 in files of definitions.
    pub(super) time: u64,
    pub(super) body: Cursor<'a>,
}

/// The records of a file of chunks.
#[derive(Debug)]
pub(super) struct Records<'a> {
    cursor: Cursor<'a>,
    chunk_size: usize,
    /// Whether this is an event file, with timestamps between the records.
    timed: bool,
    time: Option<u64>,
}

impl<'a> Records<'a> {
    pub(super) fn of_definitions(bytes: &'a [u8], chunk_size: u64) -> Result<Records<'a>, Fault> {
        Records::open(bytes, chunk_size, false)
    }

    pub(super) fn of_events(bytes: &'a [u8], chunk_size: u64) -> Result<Records<'a>, Fault> {
        Records::open(bytes, chunk_size, true)
    }

    fn open(bytes: &'a [u8], chunk_size: u64, timed: bool) -> Result<Records<'a>, Fault> {
        let cursor = Cursor { bytes, at: 0, end: 0, big_endian: false };
        // A chunk size larger than the file means the whole file.
        let chunk_size = usize::try_from(chunk_size).unwrap_or(usize::MAX).max(HEADER_SIZE + 1);
        let mut records = Records { cursor, chunk_size, timed, time: None };
        records.enter_chunk(0)?;
        Ok(records)
    }

    fn enter_chunk(&mut self, at: usize) -> Result<(), Fault> {
        let end = at.saturating_add(self.chunk_size).min(self.cursor.bytes.len());
        self.cursor.at = at;
        self.cursor.end = end;
        self.cursor.header()?;
        self.cursor.take(HEADER_SIZE - 2)?;
        Ok(())
    }

    fn next_chunk(&mut self) -> Result<(), Fault> {
        let next = self.cursor.at.saturating_sub(1) / self.chunk_size;
        let at = (next + 1).saturating_mul(self.chunk_size);
        if at >= self.cursor.bytes.len() {
            let what = "has no end mark: it is truncated, or its program did not finish";
            return Err(Fault::new(self.cursor.bytes.len() as u64, what));
        }
        self.enter_chunk(at)
    }

    /// Reads the next record; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Record<'a>>, Fault> {
        loop {
            if self.cursor.is_empty() {
                self.next_chunk()?;
                continue;
            }
            let offset = self.cursor.offset();
            match self.cursor.u8()? {
                END_OF_CHUNK => self.next_chunk()?,
                END_OF_FILE => return Ok(None),
                TIMESTAMP if self.timed => self.time = Some(self.cursor.full_u64()?),
                ATTRIBUTES if self.timed => drop(self.body()?),
                id if id <= CHUNK_HEADER => return Err(Fault::new(offset, format!("{id} is not a record"))),
                id => return self.record(id, offset).map(Some),
            }
        }
    }

    fn record(&mut self, id: u8, offset: u64) -> Result<Record<'a>, Fault> {
        let time = match self.time {
            None if self.timed => return Err(Fault::new(offset, "an event before the first timestamp")),
            time => time.unwrap_or_default(),
        };
        let body = if self.timed && has_no_length(id) { self.only_integer()? } else { self.body()? };
        Ok(Record { id, offset, time, body })
    }

    fn body(&mut self) -> Result<Cursor<'a>, Fault> {
        let length = match self.cursor.u8()? {
            LONG => self.cursor.full_u64()?,
            length => length.into(),
        };
        self.cursor.part(length)
    }

    fn only_integer(&mut self) -> Result<Cursor<'a>, Fault> {
        let start = self.cursor;
        self.cursor.u64()?;
        Ok(Cursor { end: self.cursor.at, ..start })
    }
}

/// Whether an event consists of one compressed integer whose length byte serves as the record's. No
/// such events were added after version 1.1.
fn has_no_length(id: u8) -> bool {
    matches!(id, 12 | 13 | 16 | 17 | 20 | 21 | 24 | 28 | 29 | 30)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same event file in either byte order: a timestamp, an attribute list, MPI_SEND to 258, and a long record.
    fn file(big_endian: bool) -> Vec<u8> {
        let order = |mut bytes: Vec<u8>| {
            if big_endian {
                bytes.reverse();
            }
            bytes
        };
        let mut out = vec![CHUNK_HEADER, if big_endian { BIG_ENDIAN } else { LITTLE_ENDIAN }];
        out.extend([0; 16]);
        out.push(TIMESTAMP);
        out.extend(order(0x0102_0304_0506_0708_u64.to_le_bytes().into()));
        out.extend([ATTRIBUTES, 2, 9, 9, 14, 7, 2]);
        out.extend(order(vec![2, 1]));
        out.extend([0, LONG, 1, 3, 200, LONG]);
        out.extend(order(300_u64.to_le_bytes().into()));
        out.extend([7; 300]);
        out.push(END_OF_FILE);
        out
    }

    #[test]
    fn both_orders_of_bytes_are_read() {
        for big_endian in [false, true] {
            let bytes = file(big_endian);
            let mut records = Records::of_events(&bytes, 1 << 20).unwrap();
            let Record { id, time, mut body, .. } = records.next().unwrap().unwrap();
            assert_eq!((id, time), (14, 0x0102_0304_0506_0708));
            let message = (body.u32(), body.u32(), body.u32(), body.u64());
            assert_eq!(message, (Ok(258), Ok(0), Ok(u32::MAX), Ok(3)));
            assert!(body.is_empty());
            let long = records.next().unwrap().unwrap();
            assert_eq!((long.id, long.body.left()), (200, 300));
            assert!(records.next().unwrap().is_none());
        }
    }

    #[test]
    fn chunks_end_where_their_size_says() {
        let mut bytes = file(false);
        bytes.pop();
        bytes.resize(512, END_OF_CHUNK);
        bytes.extend(file(true));
        let mut records = Records::of_events(&bytes, 512).unwrap();
        let mut ids = Vec::new();
        while let Some(record) = records.next().unwrap() {
            ids.push((record.id, record.offset));
        }
        assert_eq!(ids, [(14, 31), (200, 40), (14, 543), (200, 552)]);
        bytes.truncate(512);
        let mut records = Records::of_events(&bytes, 512).unwrap();
        assert!(records.next().is_ok() && records.next().is_ok());
        assert_eq!(records.next().unwrap_err().offset, 512);
    }
}
