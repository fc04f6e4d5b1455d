//! Numbers of a few bits each, the first in the lowest bits.

/// Unpacks numbers of `width` bits from bit `first` on. Bits beyond the end are 0; callers have checked that they are
/// not needed.
pub fn unpack<T>(bytes: &[u8], first: usize, width: u32, out: &mut [T], number: impl Fn(u64) -> T) {
    match width {
        0 => out.iter_mut().for_each(|slot| *slot = number(0)),
        // A number of up to 57 bits is within the 8 bytes from its first bit on.
        1..=57 => {
            let mask = u64::MAX >> (64 - width);
            let mut bit = first;
            for slot in out {
                *slot = number(word(bytes, bit / 8) >> (bit % 8) & mask);
                bit += width as usize;
            }
        }
        _ => {
            let mask = u128::from(u64::MAX >> (64 - width.min(64)));
            for (place, slot) in out.iter_mut().enumerate() {
                let bit = first + place * width as usize;
                let wide = u128::from(word(bytes, bit / 8)) | u128::from(word(bytes, bit / 8 + 8)) << 64;
                *slot = number((wide >> (bit % 8) & mask) as u64);
            }
        }
    }
}

/// Eight bytes, with zeros behind the last.
#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        Some(word) => u64::from_le_bytes(*word),
        None => last_word(bytes, at),
    }
}

#[cold]
fn last_word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    let rest = bytes.get(at..).unwrap_or_default();
    let length = rest.len().min(8);
    word[..length].copy_from_slice(&rest[..length]);
    u64::from_le_bytes(word)
}

/// Flags as bits.
pub fn packed_flags(flags: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (place, flag) in flags.enumerate() {
        if place % 8 == 0 {
            bytes.push(0);
        }
        if let Some(last) = bytes.last_mut() {
            *last |= u8::from(flag) << (place % 8);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width() {
        for width in 0..=64u32 {
            let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
            let numbers: Vec<u64> =
                (1..40u64).map(|seed| seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) & mask).collect();
            let bits = numbers.iter().flat_map(|number| (0..width).map(move |bit| number >> bit & 1 == 1));
            let bytes = packed_flags(bits);
            for skip in [0, 1, 7, 33] {
                let mut out = vec![0; numbers.len() - skip];
                unpack(&bytes, skip * width as usize, width, &mut out, |number| number);
                assert_eq!(out, numbers[skip..], "{width} bits");
            }
        }
    }
}
