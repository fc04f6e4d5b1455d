//! Reads a JSON object of which one member is a list that may be gigabytes long, element by element.
//!
//! The file is read in blocks. An element is parsed where it lies in the block; one that the block cuts is parsed
//! again when the rest has been read. So the file passes through memory once, and only a block is held.

use serde_json::Deserializer;
use serde_json::value::RawValue;
use std::io::Read;

const BLOCK: usize = 1 << 20;
/// No single element or member is longer than this.
const LONGEST: usize = 1 << 30;

/// What is done with the parts of the object.
pub trait Sink {
    /// Whether this member is the long list.
    fn is_list(&self, key: &str) -> bool;
    /// Takes the element at the beginning of `text` and says how long it is.
    fn element(&mut self, text: &[u8]) -> Result<usize, serde_json::Error>;
    /// Any other member.
    fn member(&mut self, key: &str, value: &RawValue);
    /// An element that is JSON but not what was expected.
    fn strange(&mut self);
}

/// How the text ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    Whole,
    /// It broke off, or went wrong, at this byte of the unpacked text.
    Broken(u64),
}

/// Reads the whole object.
pub fn walk(reader: impl Read, sink: &mut dyn Sink) -> Result<End, std::io::Error> {
    walk_in_blocks(reader, BLOCK, sink)
}

fn walk_in_blocks(reader: impl Read, size: usize, sink: &mut dyn Sink) -> Result<End, std::io::Error> {
    let mut text = Text { reader, size, block: Vec::new(), at: 0, before: 0, ended: false, error: None };
    let end = match object(&mut text, sink) {
        Some(()) => End::Whole,
        None => End::Broken(text.before + text.at as u64),
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
    error: Option<std::io::Error>,
}

impl<R: Read> Text<R> {
    fn rest(&self) -> &[u8] {
        &self.block[self.at..]
    }

    /// Reads another block behind what is left of this one; false at the end.
    fn more(&mut self) -> bool {
        self.ended |= self.block.len() - self.at > LONGEST;
        if self.ended {
            return false;
        }
        self.block.drain(..self.at);
        self.before += self.at as u64;
        self.at = 0;
        let kept = self.block.len();
        // An element longer than a block doubles it, so that it is not parsed again and again.
        let wanted = self.size.max(kept);
        self.block.resize(kept + wanted, 0);
        let filled = self.fill(kept);
        self.block.truncate(filled);
        filled > kept
    }

    /// Fills the block from `filled` on, and says how far that went.
    fn fill(&mut self, mut filled: usize) -> usize {
        while filled < self.block.len() {
            match self.reader.read(&mut self.block[filled..]) {
                Ok(0) => self.ended = true,
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.ended = true;
                    // A compressed file that breaks off, or is corrupt from here on: what came before counts.
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

    /// Hands the value that comes next, whole, to `with`.
    fn value<T>(&mut self, with: &mut dyn FnMut(&RawValue) -> T) -> Option<T> {
        self.peek()?;
        loop {
            let mut values = Deserializer::from_slice(self.rest()).into_iter::<&RawValue>();
            let next = values.next();
            let length = values.byte_offset();
            // A number at the very end of the block may go on in the next one.
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

/// Whether more text may help: a number that is cut behind its point is an error of syntax, not the end.
fn at_end(error: &serde_json::Error, text: &[u8]) -> bool {
    let lines = text.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let last_line = text.iter().rev().take_while(|&&byte| byte != b'\n').count();
    error.is_eof() || (error.is_syntax() && error.line() == lines && error.column() >= last_line)
}

/// `None` where the text breaks off.
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
        element(text, sink)?;
        if text.take(b',').is_none() {
            return text.take(b']');
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
mod tests {
    use super::*;

    #[derive(Default)]
    struct Seen {
        elements: Vec<String>,
        members: Vec<(String, String)>,
        strange: usize,
    }

    impl Sink for Seen {
        fn is_list(&self, key: &str) -> bool {
            key == "list"
        }
        fn element(&mut self, text: &[u8]) -> Result<usize, serde_json::Error> {
            let mut values = Deserializer::from_slice(text).into_iter::<&RawValue>();
            match values.next() {
                Some(Ok(value)) => self.elements.push(value.get().to_string()),
                Some(Err(error)) => return Err(error),
                None => {}
            }
            Ok(values.byte_offset())
        }
        fn member(&mut self, key: &str, value: &RawValue) {
            self.members.push((key.to_string(), value.get().to_string()));
        }
        fn strange(&mut self) {
            self.strange += 1;
        }
    }

    const TEXT: &str = r#" {"a": 12, "list": [{"x": "}]\""}, 7, {"y": [1.5, -2e-3]},
        {"ö": true,
        "z": 0.25}], "b": {"c": null}, "d": 345.75} "#;

    const LAST: &str = "{\"ö\": true,\n        \"z\": 0.25}";

    #[test]
    fn elements_and_members_come_in_order() {
        // Small blocks cut every value somewhere.
        for size in (1..40).chain([BLOCK]) {
            let mut seen = Seen::default();
            assert_eq!(walk_in_blocks(TEXT.as_bytes(), size, &mut seen).unwrap(), End::Whole);
            assert_eq!(seen.elements, [r#"{"x": "}]\""}"#, r#"{"y": [1.5, -2e-3]}"#, LAST]);
            let members: Vec<_> = seen.members.iter().map(|(key, value)| (&key[..], &value[..])).collect();
            assert_eq!(members, [("a", "12"), ("b", r#"{"c": null}"#), ("d", "345.75")]);
            assert_eq!(seen.strange, 1);
        }
    }

    #[test]
    fn text_cut_anywhere_keeps_what_is_whole() {
        for cut in 0..TEXT.trim_end().len() {
            let mut seen = Seen::default();
            let end = walk(&TEXT.as_bytes()[..cut], &mut seen).unwrap();
            assert!(matches!(end, End::Broken(at) if at <= cut as u64), "{cut}");
            assert!(seen.elements.len() <= 3);
        }
    }

    #[test]
    fn elements_may_be_longer_than_a_block() {
        let long = format!(r#"{{"list": [{{"x": "{}"}}, {{}}]}}"#, "y".repeat(3 * BLOCK));
        let mut seen = Seen::default();
        assert_eq!(walk(long.as_bytes(), &mut seen).unwrap(), End::Whole);
        assert_eq!((seen.elements.len(), seen.elements[0].len()), (2, 3 * BLOCK + 9));
    }
}
