//! Lines of text files, which may be compressed and so much longer than the file.

use std::io::{self, BufRead, ErrorKind, Read};

/// The longest line, in bytes. Lines of tables and logs have hundreds, rarely thousands.
const LONGEST: usize = 1 << 20;

/// Reads the next line in place of the one before, with its newline. Returns its length, 0 after the last. `number` is its
/// place in the file, for errors.
pub fn next_line(mut input: impl BufRead, number: u64, line: &mut Vec<u8>) -> io::Result<usize> {
    line.clear();
    let length = input.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', line)?;
    if length > LONGEST {
        let text =
            format!("line {number} is longer than {} MiB, so this is not a table or log", LONGEST >> 20);
        return Err(io::Error::new(ErrorKind::InvalidData, text));
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_refused_before_they_are_read() {
        let mut line = Vec::new();
        let mut text: &[u8] = b"one\ntwo";
        let mut lengths = (1..=3).map(|number| next_line(&mut text, number, &mut line).unwrap());
        assert_eq!([lengths.next(), lengths.next(), lengths.next()], [Some(4), Some(3), Some(0)]);
        let endless = io::BufReader::new(io::repeat(b'x'));
        let error = next_line(endless, 7, &mut line).unwrap_err();
        assert!(error.to_string().contains("line 7 is longer than 1 MiB"), "{error}");
        assert!(line.capacity() <= 4 * LONGEST);
    }
}
