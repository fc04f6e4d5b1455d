//! Blocks of LZ4: literal bytes, and copies of earlier ones.

use crate::error::Fault;

const ENDS_EARLY: Fault = Fault::Borrowed("lz4: it ends too early");
const TOO_LONG: Fault = Fault::Borrowed("lz4: it decompresses to more bytes than its header states");
/// No copy is shorter.
const SHORTEST: usize = 4;

/// Appends the content of a block, at most `length` bytes.
pub fn unpack(mut packed: &[u8], length: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    let first = out.len();
    loop {
        let (&token, rest) = packed.split_first().ok_or(ENDS_EARLY)?;
        packed = rest;
        let literals = extended(&mut packed, token >> 4)?;
        let (bytes, rest) = packed.split_at_checked(literals).ok_or(ENDS_EARLY)?;
        if literals > length - (out.len() - first) {
            return Err(TOO_LONG);
        }
        out.extend_from_slice(bytes);
        packed = rest;
        // The last sequence has only literals.
        if packed.is_empty() {
            return Ok(());
        }
        let (distance, rest) = packed.split_first_chunk::<2>().ok_or(ENDS_EARLY)?;
        packed = rest;
        let copied = extended(&mut packed, token & 0xf)?.saturating_add(SHORTEST);
        let distance = usize::from(u16::from_le_bytes(*distance));
        if copied > length - (out.len() - first) {
            return Err(TOO_LONG);
        }
        if distance == 0 || distance > out.len() - first {
            return Err("lz4: it copies bytes from before its beginning".into());
        }
        copy(out, distance, copied);
    }
}

/// A length of four bits; if all are set, further bytes are added to it, up to the first below 255.
fn extended(packed: &mut &[u8], bits: u8) -> Result<usize, Fault> {
    let mut length = usize::from(bits);
    let mut goes_on = bits == 15;
    while goes_on {
        let (&more, rest) = packed.split_first().ok_or(ENDS_EARLY)?;
        *packed = rest;
        length += usize::from(more);
        goes_on = more == 255;
    }
    Ok(length)
}

/// Appends `count` bytes from `distance` bytes back. These may include bytes that the copy itself appends.
fn copy(out: &mut Vec<u8>, distance: usize, count: usize) {
    let from = out.len() - distance;
    let mut left = count;
    while left > 0 {
        let now = left.min(out.len() - from);
        out.extend_from_within(from..from + now);
        left -= now;
    }
}

/// Appends blocks that are preceded by two lengths, decompressed and compressed, as Hadoop writes them. Older writers
/// left the lengths out.
pub fn unpack_hadoop(packed: &[u8], length: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    let first = out.len();
    if framed(packed, length, out).is_some() {
        return Ok(());
    }
    out.truncate(first);
    unpack(packed, length, out)
}

fn framed(mut packed: &[u8], length: usize, out: &mut Vec<u8>) -> Option<()> {
    let end = out.len() + length;
    while !packed.is_empty() {
        let (unpacked, rest) = packed.split_first_chunk::<4>()?;
        let (bytes, rest) = rest.split_first_chunk::<4>()?;
        let (block, rest) = rest.split_at_checked(u32::from_be_bytes(*bytes) as usize)?;
        let unpacked = usize::try_from(u32::from_be_bytes(*unpacked)).ok()?;
        let before = out.len();
        unpack(block, unpacked.min(end - before), out).ok()?;
        if out.len() - before != unpacked {
            return None;
        }
        packed = rest;
    }
    (out.len() == end).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn copies_overlap_what_they_write() {
        let mut out = b"before".to_vec();
        // "ab", then 19 bytes from 2 back, then "c".
        unpack(&[0x2f, b'a', b'b', 2, 0, 0, 0x10, b'c'], 22, &mut out).unwrap();
        assert_eq!(out, b"beforeababababababababababac");
        // Not from before the block, and not more than was stated.
        assert!(unpack(&[0x2f, b'a', b'b', 3, 0, 0, 0x10, b'c'], 22, &mut out).is_err());
        assert!(unpack(&[0x2f, b'a', b'b', 2, 0, 0, 0x10, b'c'], 21, &mut out).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_block_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..80), length in 0..5000usize) {
            let mut out = Vec::new();
            let _ = unpack(&bytes, length, &mut out);
            let _ = unpack_hadoop(&bytes, length, &mut out);
            prop_assert!(out.len() <= 2 * length);
        }
    }
}
