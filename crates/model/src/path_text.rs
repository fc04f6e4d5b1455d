//! Paths as text. Some options take a name, a description or a path, and keep it as a string, but Unix file
//! names are arbitrary bytes. A byte that is not valid UTF-8 is stored as a private-use character, so that no
//! path is lost: 0x80 is U+EF80, 0xFF is U+EFFF.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// Offset from a byte to its private-use character.
const BASE: u32 = 0xef00;

/// The byte that a character stands for, if any.
pub fn byte_of(c: char) -> Option<u8> {
    u8::try_from(u32::from(c).checked_sub(BASE)?).ok().filter(|byte| *byte >= 0x80)
}

/// Converts user input or a file name to text.
pub fn text_of(typed: &OsStr) -> String {
    let escaped = |bytes: &[u8]| -> String {
        bytes.iter().filter_map(|&byte| char::from_u32(BASE + u32::from(byte))).collect()
    };
    let mut text = String::with_capacity(typed.len());
    for chunk in typed.as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            // Characters of the private range itself are escaped byte by byte.
            match byte_of(c) {
                Some(_) => text.push_str(&escaped(c.encode_utf8(&mut [0; 4]).as_bytes())),
                None => text.push(c),
            }
        }
        text.push_str(&escaped(chunk.invalid()));
    }
    text
}

/// Converts text back to the path.
pub fn path_of(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match byte_of(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_utf_8_stays_as_it_is() {
        assert_eq!(text_of(OsStr::new("größe.toml")), "größe.toml");
        assert_eq!(path_of("a/größe.toml"), PathBuf::from("a/größe.toml"));
        assert_eq!(text_of(OsStr::from_bytes(b"no\xffise")), "no\u{efff}ise");
    }

    proptest! {
        #[test]
        fn no_path_is_lost(bytes in prop::collection::vec(any::<u8>(), 0..20), place in 0usize..20) {
            let mut bytes = bytes;
            // Include a character of the private range.
            bytes.splice(place.min(bytes.len())..place.min(bytes.len()), "\u{ef90}".bytes());
            let typed = OsString::from_vec(bytes);
            prop_assert_eq!(path_of(&text_of(&typed)).into_os_string(), typed);
        }
    }
}
