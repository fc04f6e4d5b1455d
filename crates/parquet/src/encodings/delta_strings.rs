//! Strings whose lengths are differences, and strings that share their beginning with the one before.

use super::ENDS_EARLY;
use super::delta::Delta;
use super::plain::add;
use crate::error::Fault;
use crate::values::Strings;

/// First all lengths, then all strings.
#[derive(Debug)]
pub struct DeltaLengths {
    lengths: Delta,
    at: usize,
}

impl DeltaLengths {
    pub fn new(bytes: &[u8], at: usize, most: usize) -> Result<DeltaLengths, Fault> {
        let lengths = Delta::new(bytes, at, most)?;
        let at = lengths.end(bytes)?;
        Ok(DeltaLengths { lengths, at })
    }

    pub fn read(&mut self, bytes: &[u8], count: usize, out: &mut Strings) -> Result<(), Fault> {
        let (mut rest, mut is_complete) = (bytes.get(self.at..).ok_or(ENDS_EARLY)?, true);
        self.lengths.read(bytes, count, |length| {
            let parts = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
            match parts.filter(|_| is_complete) {
                Some((string, after)) => {
                    add(string, out);
                    rest = after;
                }
                None => is_complete = false,
            }
        })?;
        self.at = bytes.len() - rest.len();
        if is_complete { Ok(()) } else { Err(ENDS_EARLY) }
    }

    /// The next string.
    fn next<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Fault> {
        let mut length = 0;
        self.lengths.read(bytes, 1, |next| length = next)?;
        let rest = bytes.get(self.at..).ok_or(ENDS_EARLY)?;
        let length = usize::try_from(length).ok().filter(|&length| length <= rest.len()).ok_or(ENDS_EARLY)?;
        self.at += length;
        Ok(&rest[..length])
    }
}

/// How many bytes of strings may be read at once, beyond those of the page: a few bytes can stand for gigabytes.
const MOST_REPEATED: usize = 1 << 26;

/// Lengths of the beginnings that are repeated, then the rest of each string.
#[derive(Debug)]
pub struct DeltaStrings {
    shared: Delta,
    rests: DeltaLengths,
    /// The string before the next one.
    last: Vec<u8>,
}

impl DeltaStrings {
    pub fn new(bytes: &[u8], at: usize, most: usize) -> Result<DeltaStrings, Fault> {
        let shared = Delta::new(bytes, at, most)?;
        let rests = DeltaLengths::new(bytes, shared.end(bytes)?, most)?;
        Ok(DeltaStrings { shared, rests, last: Vec::new() })
    }

    pub fn read(&mut self, bytes: &[u8], count: usize, out: &mut Strings) -> Result<(), Fault> {
        let mut lengths = Vec::with_capacity(count.min(self.shared.left()));
        self.shared.read(bytes, count, |length| lengths.push(length))?;
        let most = out.pool.bytes.len().saturating_add(bytes.len()).saturating_add(MOST_REPEATED);
        for shared in lengths {
            let shared = usize::try_from(shared).ok().filter(|&shared| shared <= self.last.len());
            self.last.truncate(shared.ok_or("a string repeats more than the string before it has")?);
            self.last.extend_from_slice(self.rests.next(bytes)?);
            if self.last.len() > most.saturating_sub(out.pool.bytes.len()) {
                return Err("its strings are unreasonably long".into());
            }
            add(&self.last, out);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::delta::tests::encode;
    use super::*;
    use proptest::prelude::*;

    fn lengths(strings: &[&[u8]]) -> Vec<u8> {
        let mut bytes = encode(&strings.iter().map(|string| string.len() as i64).collect::<Vec<_>>());
        strings.iter().for_each(|string| bytes.extend(*string));
        bytes
    }

    fn shared(strings: &[String]) -> Vec<u8> {
        let (mut last, mut counts, mut rests) = (&[][..], Vec::new(), Vec::new());
        for string in strings.iter().map(String::as_bytes) {
            let count = last.iter().zip(string).take_while(|(one, two)| one == two).count();
            counts.push(count as i64);
            rests.push(&string[count..]);
            last = string;
        }
        [encode(&counts), lengths(&rests)].concat()
    }

    proptest! {
        #[test]
        fn strings_come_back(strings in prop::collection::vec("[ab]{0,8}", 0..300), step in 1..100usize) {
            let plain: Vec<&[u8]> = strings.iter().map(String::as_bytes).collect();
            let (bytes, delta) = (lengths(&plain), shared(&strings));
            let mut lengths = DeltaLengths::new(&bytes, 0, strings.len()).unwrap();
            let mut shared = DeltaStrings::new(&delta, 0, strings.len()).unwrap();
            let (mut one, mut two) = (Strings::default(), Strings::default());
            while one.ids.len() < strings.len() {
                let count = step.min(strings.len() - one.ids.len());
                lengths.read(&bytes, count, &mut one).unwrap();
                shared.read(&delta, count, &mut two).unwrap();
            }
            let expected: Strings = strings.iter().collect();
            prop_assert_eq!(&one, &expected);
            prop_assert_eq!(&two, &expected);
        }
    }

    /// 60,000 times a string of 60 kB, in a page of 70 kB.
    #[test]
    fn repetition_is_limited() {
        let mut counts = vec![60_000; 60_000];
        counts[0] = 0;
        let mut rests = vec![&[][..]; 60_000];
        let long = vec![b'x'; 60_000];
        rests[0] = &long;
        let bytes = [encode(&counts), lengths(&rests)].concat();
        let mut strings = DeltaStrings::new(&bytes, 0, counts.len()).unwrap();
        let fault = strings.read(&bytes, counts.len(), &mut Strings::default()).unwrap_err();
        assert!(fault.contains("unreasonably long"), "{fault}");
    }
}
