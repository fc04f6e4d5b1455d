//! Tokens of the text: blanks and comments, words, labels and numbers.

use straggler_model::Rank;

use crate::goal::error::{Fault, Parsed, TextProblem};

/// A place in the text. All offsets count from the beginning of the file.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub at: usize,
    /// The rank whose block is being read, for error messages.
    pub rank: Option<Rank>,
}

/// A label in the text. Most are letters followed by a number, which can be looked up in an array:
/// `prefix` holds the packed letters, and is 0 for all other labels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Label {
    pub start: usize,
    pub end: usize,
    pub prefix: u64,
    pub number: u32,
}

#[inline(always)]
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

#[inline(always)]
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], at: usize, rank: Option<Rank>) -> Cursor<'a> {
        Cursor { bytes, at, rank }
    }

    /// The byte here, 0 at the end.
    #[inline(always)]
    pub fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    #[inline(always)]
    pub fn at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub fn slice(&self, start: usize, end: usize) -> &'a [u8] {
        &self.bytes[start..end]
    }

    pub fn fault<T>(&self, offset: usize, problem: TextProblem) -> Parsed<T> {
        Err(Box::new(Fault { offset, rank: self.rank, problem }))
    }

    /// Reports that `expected` was not found here.
    #[cold]
    pub fn unexpected<T>(&self, expected: &'static str) -> Parsed<T> {
        self.unexpected_at(self.at, expected)
    }

    #[cold]
    pub fn unexpected_at<T>(&self, offset: usize, expected: &'static str) -> Parsed<T> {
        self.fault(offset, TextProblem::Unexpected { expected, found: self.describe(offset) })
    }

    fn describe(&self, offset: usize) -> String {
        const SHOWN: usize = 24;
        let Some(&first) = self.bytes.get(offset) else {
            return if self.rank.is_some() { "the end of the rank" } else { "the end of the file" }
                .to_string();
        };
        let rest = &self.bytes[offset..];
        let word = rest.iter().take(SHOWN).take_while(|byte| is_word(**byte) || **byte == b'-').count();
        match first {
            b'\n' => "the end of the line".to_string(),
            b' ' | b'\t' => "a blank".to_string(),
            _ if word > 0 => format!("`{}`", String::from_utf8_lossy(&rest[..word])),
            b' '..=b'~' => format!("`{}`", char::from(first)),
            _ => format!("the byte 0x{first:02x}"),
        }
    }

    /// Skips blanks and comments inside a line.
    #[inline(always)]
    pub fn skip_blank(&mut self) -> Parsed<()> {
        loop {
            match self.peek() {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'/' => self.skip_comment()?,
                _ => return Ok(()),
            }
        }
    }

    /// Skips blanks, line ends and comments.
    #[inline]
    pub fn skip_space(&mut self) -> Parsed<()> {
        loop {
            match self.peek() {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b'/' => self.skip_comment()?,
                _ => return Ok(()),
            }
        }
    }

    /// Skips what separates statements.
    #[inline(always)]
    pub fn skip_separators(&mut self) -> Parsed<()> {
        loop {
            match self.peek() {
                b'\n' | b' ' | b'\t' | b'\r' | b';' => self.at += 1,
                b'/' => self.skip_comment()?,
                _ => return Ok(()),
            }
        }
    }

    /// Skips the comment that begins here, but not the line end of a `//` comment.
    #[cold]
    fn skip_comment(&mut self) -> Parsed<()> {
        let rest = &self.bytes[self.at..];
        match rest.get(1) {
            Some(b'/') => {
                self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                Ok(())
            }
            Some(b'*') => match memchr::memmem::find(&rest[2..], b"*/") {
                Some(length) => {
                    self.at += length + 4;
                    Ok(())
                }
                None => self.fault(self.at, TextProblem::UnterminatedComment),
            },
            _ => self.unexpected("a comment, `//` or `/*`"),
        }
    }

    /// Moves to the `}` that ends the block opened at offset `opened`, ignoring those in comments.
    pub fn skip_block(&mut self, opened: usize) -> Parsed<()> {
        loop {
            match memchr::memchr2(b'}', b'/', &self.bytes[self.at..]) {
                None => return self.fault(opened, TextProblem::UnterminatedBlock),
                Some(length) => self.at += length,
            }
            match (self.peek(), self.bytes.get(self.at + 1)) {
                (b'}', _) => return Ok(()),
                (_, Some(b'/' | b'*')) => self.skip_comment()?,
                // A stray slash: the reader of the block reports it.
                _ => self.at += 1,
            }
        }
    }

    /// Reads a word, which is empty if none begins here.
    #[inline(always)]
    pub fn word(&mut self) -> &'a [u8] {
        let start = self.at;
        if is_letter(self.peek()) {
            while is_word(self.peek()) {
                self.at += 1;
            }
        }
        &self.bytes[start..self.at]
    }

    /// Reads the word `expected` if it is here. Returns whether it was.
    #[inline(always)]
    pub fn take(&mut self, expected: &'static [u8]) -> bool {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let here = rest.starts_with(expected) && !rest.get(expected.len()).is_some_and(|byte| is_word(*byte));
        if here {
            self.at += expected.len();
        }
        here
    }

    /// Reads a label or keyword, if one begins here.
    #[inline(always)]
    pub fn label(&mut self) -> Option<Label> {
        let start = self.at;
        let mut prefix = 0u64;
        while is_letter(self.peek()) {
            prefix = prefix << 8 | u64::from(self.peek());
            self.at += 1;
        }
        let letters = self.at - start;
        let first_digit = self.peek();
        let mut number = 0u32;
        while self.peek().is_ascii_digit() {
            number = number.wrapping_mul(10).wrapping_add(u32::from(self.peek() - b'0'));
            self.at += 1;
        }
        let digits = self.at - start - letters;
        if letters == 0 {
            self.at = start;
            return None;
        }
        let canonical = first_digit != b'0' || digits == 1;
        let simple = letters <= 8 && (1..=9).contains(&digits) && canonical && !is_word(self.peek());
        if !simple {
            while is_word(self.peek()) {
                self.at += 1;
            }
            (prefix, number) = (0, 0);
        }
        Some(Label { start, end: self.at, prefix, number })
    }

    /// Reads a number of digits only, at most `limit`.
    #[inline(always)]
    pub fn number(&mut self, what: &'static str, limit: u64) -> Parsed<u64> {
        let start = self.at;
        let mut value = 0u64;
        let mut overflow = false;
        while self.peek().is_ascii_digit() {
            let digit = u64::from(self.peek() - b'0');
            // Nineteen digits always fit; only longer numbers need checks.
            if self.at - start < 19 {
                value = value * 10 + digit;
            } else {
                overflow |= value.checked_mul(10).and_then(|tens| tens.checked_add(digit)).is_none();
                value = value.wrapping_mul(10).wrapping_add(digit);
            }
            self.at += 1;
        }
        if start == self.at {
            return self.unexpected(what);
        }
        if overflow || value > limit {
            return self.fault(start, TextProblem::TooLarge { what: strip_article(what), limit });
        }
        Ok(value)
    }
}

/// Turns "a size", used where a number is missing, into "size".
fn strip_article(what: &'static str) -> &'static str {
    what.strip_prefix("a ").unwrap_or(what)
}
