//! Reads a JSON object with one very long list, possibly gigabytes, element by element.
//!
//! The file is read in blocks, and only one block is in memory. Elements are parsed in place. An element that the end of the
//! block cuts is parsed again after the next read. After invalid JSON, reading resumes at the next place where an element may
//! begin.

use serde_json::Deserializer;
use serde_json::value::RawValue;
use std::io::Read;

const BLOCK: usize = 1 << 20;
/// The maximum length of an element or member. The longest of profilers are stacks of calls, some kilobytes.
const LONGEST: usize = 1 << 26;
/// Their maximum depth of nesting: profilers nest a handful of levels.
const DEEPEST: usize = 1 << 10;

/// Receives the parts of the object.
pub trait Sink {
    /// Whether this member is the long list.
    fn is_list(&self, key: &str) -> bool;
    /// Takes the element at the beginning of `text`. Returns its length.
    fn element(&mut self, text: &[u8]) -> Result<usize, serde_json::Error>;
    /// Takes any other member.
    fn member(&mut self, key: &str, value: &RawValue);
    /// Called for an element that is valid JSON but not what was expected.
    fn strange(&mut self);
    /// Whether an element may begin with `text`. Asked after invalid JSON.
    fn may_begin(&self, text: &[u8]) -> bool;
    /// Called if the uncompressed text is invalid JSON from byte `at` on. Reading resumes with the next element.
    fn damaged(&mut self, at: u64);
}

/// How the text ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    Whole,
    /// It is truncated or invalid at this byte of the uncompressed text.
    Broken(u64),
}

/// Reads the whole object.
pub fn walk(reader: impl Read, sink: &mut dyn Sink) -> Result<End, std::io::Error> {
    walk_in_blocks(reader, BLOCK, sink)
}

fn walk_in_blocks(reader: impl Read, size: usize, sink: &mut dyn Sink) -> Result<End, std::io::Error> {
    let mut text = Text {
        reader,
        size,
        block: Vec::new(),
        at: 0,
        before: 0,
        ended: false,
        broken_at: None,
        error: None,
    };
    let end = match object(&mut text, sink) {
        Some(()) => End::Whole,
        None => End::Broken(text.broken_at.unwrap_or(text.before + text.at as u64)),
    };
    match text.error {
        Some(error) => Err(error),
        None => Ok(end),
    }
}

struct Text<R> {
    reader: R,
    /// Bytes that are read at a time.
    size: usize,
    block: Vec<u8>,
    at: usize,
    /// Bytes before the block.
    before: u64,
    ended: bool,
    /// Where the text became invalid, during the search for the next element.
    broken_at: Option<u64>,
    error: Option<std::io::Error>,
}

impl<R: Read> Text<R> {
    fn rest(&self) -> &[u8] {
        &self.block[self.at..]
    }

    /// Appends another block to the rest of this one. False at the end.
    fn more(&mut self) -> bool {
        self.ended |= self.block.len() - self.at > LONGEST || nests_deeper_than(DEEPEST, self.rest());
        if self.ended {
            return false;
        }
        self.block.drain(..self.at);
        self.before += self.at as u64;
        self.at = 0;
        let kept = self.block.len();
        // An element longer than a block doubles the block, which limits the number of parse attempts.
        let wanted = self.size.max(kept);
        self.block.resize(kept + wanted, 0);
        let filled = self.fill(kept);
        self.block.truncate(filled);
        filled > kept
    }

    /// Fills the block from `filled` on. Returns how far it was filled.
    fn fill(&mut self, mut filled: usize) -> usize {
        while filled < self.block.len() {
            match self.reader.read(&mut self.block[filled..]) {
                Ok(0) => self.ended = true,
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.ended = true;
                    // A compressed file is truncated or corrupt from here on: use what came before.
                    let broken = matches!(
                        error.kind(),
                        std::io::ErrorKind::UnexpectedEof
                            | std::io::ErrorKind::InvalidData
                            | std::io::ErrorKind::InvalidInput
                    );
                    self.error = (!broken).then_some(error);
                }
            }
            if self.ended {
                break;
            }
        }
        filled
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        loop {
            while let Some(&byte) = self.block.get(self.at) {
                if !byte.is_ascii_whitespace() {
                    return Some(byte);
                }
                self.at += 1;
            }
            if !self.more() {
                return None;
            }
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        let found = self.peek()? == byte;
        self.at += usize::from(found);
        found.then_some(())
    }

    /// Passes the next complete value to `with`.
    fn value<T>(&mut self, with: &mut dyn FnMut(&RawValue) -> T) -> Option<T> {
        self.peek()?;
        loop {
            let mut values = Deserializer::from_slice(self.rest()).into_iter::<&RawValue>();
            let next = values.next();
            let length = values.byte_offset();
            // A number at the very end of the block may continue in the next one.
            let cut = self.at + length == self.block.len() && !self.ended;
            match next {
                Some(Ok(value)) if !cut => {
                    let result = with(value);
                    self.at += length;
                    return Some(result);
                }
                Some(Err(error)) if !at_end(&error, self.rest()) => return None,
                _ => {
                    if !self.more() && !cut {
                        return None;
                    }
                }
            }
        }
    }
}

/// Whether a text that begins with a value opens more objects and lists than `most` before it closes them.
fn nests_deeper_than(most: usize, text: &[u8]) -> bool {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    text.iter().any(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > most
    })
}

/// Whether more text may fix the error. A number cut after its decimal point gives a syntax error, not an end-of-file error.
fn at_end(error: &serde_json::Error, text: &[u8]) -> bool {
    error.is_eof() || error.is_syntax() && place(error, text) >= text.len()
}

/// The byte offset of an error. Only reads the text before it.
fn place(error: &serde_json::Error, text: &[u8]) -> usize {
    let lines = error.line().saturating_sub(1);
    let line = match lines.checked_sub(1) {
        None => Some(0),
        Some(last) => {
            let mut ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            ends.nth(last).map(|(end, _)| end + 1)
        }
    };
    line.map_or(text.len(), |line| line.saturating_add(error.column()))
}

/// Reads the object. `None` if the text is truncated or invalid.
fn object<R: Read>(text: &mut Text<R>, sink: &mut dyn Sink) -> Option<()> {
    text.take(b'{')?;
    if text.take(b'}').is_some() {
        return Some(());
    }
    loop {
        let key = text.value(&mut |key| serde_json::from_str::<String>(key.get()).ok())??;
        text.take(b':')?;
        if sink.is_list(&key) && text.peek()? == b'[' {
            elements(text, sink)?;
        } else {
            text.value(&mut |value| sink.member(&key, value))?;
        }
        if text.take(b',').is_none() {
            return text.take(b'}');
        }
    }
}

fn elements<R: Read>(text: &mut Text<R>, sink: &mut dyn Sink) -> Option<()> {
    text.take(b'[')?;
    if text.take(b']').is_some() {
        return Some(());
    }
    loop {
        let is_whole = element(text, sink).is_some();
        if is_whole && text.take(b']').is_some() {
            return Some(());
        }
        if is_whole && text.take(b',').is_some() {
            continue;
        }
        // Either the text has ended, or this is invalid JSON.
        text.peek()?;
        let at = text.before + text.at as u64;
        text.broken_at = Some(at);
        next_element(text, sink)?;
        text.broken_at = None;
        sink.damaged(at);
    }
}

/// Skips to the next place where an element may follow another: `}, {`. `None` if there is none.
fn next_element<R: Read>(text: &mut Text<R>, sink: &dyn Sink) -> Option<()> {
    // Enough to recognise the beginning of an element.
    const AHEAD: usize = 256;
    text.at += 1;
    loop {
        while let Some(end) = text.rest().iter().position(|&byte| byte == b'}') {
            text.at += end + 1;
            while text.rest().len() < AHEAD && text.more() {}
            let rest = text.rest();
            let begin = rest.trim_ascii_start().strip_prefix(b",").map(<[u8]>::trim_ascii_start);
            if let Some(begin) = begin.filter(|begin| begin.starts_with(b"{") && sink.may_begin(begin)) {
                text.at += rest.len() - begin.len();
                return Some(());
            }
        }
        text.at = text.block.len();
        if !text.more() {
            return None;
        }
    }
}

fn element<R: Read>(text: &mut Text<R>, sink: &mut dyn Sink) -> Option<()> {
    if text.peek()? != b'{' {
        sink.strange();
        return text.value(&mut |_| ());
    }
    loop {
        match sink.element(text.rest()) {
            Ok(length) => {
                text.at += length;
                return Some(());
            }
            Err(error) if at_end(&error, text.rest()) => {
                if !text.more() {
                    return None;
                }
            }
            Err(error) if error.is_data() => {
                sink.strange();
                return text.value(&mut |_| ());
            }
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests;
