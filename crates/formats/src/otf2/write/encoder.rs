//! Encodes numbers, records and chunks: the counterpart of [`crate::otf2::bytes`].

use crate::otf2::bytes::{
    CHUNK_HEADER, END_OF_BUFFER, END_OF_CHUNK, END_OF_FILE, HEADER_SIZE, LITTLE_ENDIAN, LONG, TIMESTAMP,
};

/// The sizes that libotf2 uses.
pub(super) const EVENT_CHUNK: usize = 1 << 20;
pub(super) const DEFINITION_CHUNK: usize = 1 << 22;
/// The largest size that libotf2 accepts.
pub(super) const LARGEST_CHUNK: usize = 1 << 24;
const TIMESTAMP_SIZE: usize = 9;

/// A file under construction.
#[derive(Debug)]
pub(super) struct Encoder {
    bytes: Vec<u8>,
    /// The chunk size, if there are chunks, and where the current one begins.
    chunks: Option<(usize, usize)>,
    timed: bool,
    time: Option<u64>,
    events: u64,
}

impl Encoder {
    fn new(chunk: Option<usize>, timed: bool) -> Encoder {
        let chunks = chunk.map(|size| (size, 0));
        let mut out = Encoder { bytes: Vec::new(), chunks, timed, time: None, events: 0 };
        out.header();
        out
    }

    pub(super) fn unchunked() -> Encoder {
        Encoder::new(None, false)
    }

    pub(super) fn definitions(chunk: usize) -> Encoder {
        Encoder::new(Some(chunk), false)
    }

    pub(super) fn events() -> Encoder {
        Encoder::new(Some(EVENT_CHUNK), true)
    }

    /// Creates an encoder for the body of a record, or part of it.
    pub(super) fn body() -> Encoder {
        Encoder { bytes: Vec::new(), chunks: None, timed: false, time: None, events: 0 }
    }

    pub(super) fn count(&self) -> u64 {
        self.events
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    fn header(&mut self) {
        self.bytes.extend([CHUNK_HEADER, LITTLE_ENDIAN]);
        if self.chunks.is_some() {
            let first = if self.timed { self.events } else { 0 } + 1;
            self.full_u64(first);
            self.full_u64(0);
        }
    }

    pub(super) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(super) fn full_u32(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }

    pub(super) fn full_u64(&mut self, value: u64) {
        self.bytes.extend(value.to_le_bytes());
    }

    pub(super) fn u32(&mut self, value: u32) {
        match value {
            u32::MAX => self.u8(LONG),
            _ => self.squeezed(value.into()),
        }
    }

    pub(super) fn u64(&mut self, value: u64) {
        match value {
            u64::MAX => self.u8(LONG),
            _ => self.squeezed(value),
        }
    }

    fn squeezed(&mut self, value: u64) {
        let length = (u64::BITS - value.leading_zeros()).div_ceil(8) as usize;
        self.u8(length as u8);
        self.bytes.extend(value.to_le_bytes().iter().take(length));
    }

    /// Writes a text. It ends with a zero byte, so it is cut at the first one it contains.
    pub(super) fn text(&mut self, text: &str) {
        self.bytes.extend(text.bytes().take_while(|&byte| byte != 0));
        self.u8(0);
    }

    /// Writes a record with its length.
    pub(super) fn record(&mut self, id: u8, body: Encoder) {
        let length = body.len();
        self.make_room(length + 10);
        self.u8(id);
        match u8::try_from(length) {
            Ok(length) if length < LONG => self.u8(length),
            _ => {
                self.u8(LONG);
                self.full_u64(length as u64);
            }
        }
        self.bytes.extend(body.bytes);
        self.events += 1;
    }

    /// Writes a record of one compressed integer, without a length.
    pub(super) fn short_record(&mut self, id: u8, value: u64) {
        self.make_room(10);
        self.u8(id);
        self.u64(value);
        self.events += 1;
    }

    /// Sets the time of the events that follow, which never decreases.
    pub(super) fn at(&mut self, time: u64) {
        if self.time != Some(time) {
            self.time = Some(time);
            if !self.make_room(0) {
                self.timestamp();
            }
        }
    }

    fn timestamp(&mut self) {
        if let (true, Some(time)) = (self.timed, self.time) {
            self.u8(TIMESTAMP);
            self.full_u64(time);
        }
    }

    /// Begins the next chunk if a record and the end marks do not fit into this one; returns whether it did.
    fn make_room(&mut self, length: usize) -> bool {
        let Some((size, start)) = self.chunks else { return false };
        if self.bytes.len() - start + TIMESTAMP_SIZE + length + 2 <= size {
            return false;
        }
        self.close_chunk(start);
        let next = start + size;
        self.bytes.resize(next, END_OF_CHUNK);
        self.chunks = Some((size, next));
        self.header();
        self.timestamp();
        true
    }

    /// Writes the number of the last event into the head of the chunk.
    fn close_chunk(&mut self, start: usize) {
        let last = if self.timed { self.events } else { 0 };
        let place = self.bytes.get_mut(start + HEADER_SIZE - 8..start + HEADER_SIZE);
        if let Some(place) = place {
            place.copy_from_slice(&last.to_le_bytes());
        }
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.extend([END_OF_FILE, END_OF_BUFFER]);
        match self.chunks {
            Some((_, start)) => self.close_chunk(start),
            None => self.u8(END_OF_CHUNK),
        }
        self.bytes
    }
}
