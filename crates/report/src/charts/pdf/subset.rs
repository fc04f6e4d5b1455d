//! A TrueType font with only some of its glyphs. They keep their numbers, and the others become empty, so
//! that no table but the outlines changes. Tables that PDF readers do not use are left out.

use std::collections::BTreeSet;
use ttf_parser::{RawFace, Tag};

/// The tables that a font inside a PDF needs; sorted, as the format demands.
const TABLES: [&[u8; 4]; 6] = [b"glyf", b"head", b"hhea", b"hmtx", b"loca", b"maxp"];
const ENTRY: usize = 16;
const HEADER: usize = 12;

/// `None` if the font is damaged.
pub fn subset(font: &[u8], glyphs: BTreeSet<u16>) -> Option<Vec<u8>> {
    let face = RawFace::parse(font, 0).ok()?;
    let table = |name: &[u8; 4]| face.table(Tag::from_bytes(name));
    let mut head = table(b"head")?.to_vec();
    let is_long = head.get(50..52)? != [0, 0];
    let outlines = Outlines { bytes: table(b"glyf")?, ends: ends(table(b"loca")?, is_long)? };
    let (glyf, loca) = outlines.only(&outlines.with_components(glyphs));
    // The sum of the file is set last; offsets of glyphs are long.
    head.get_mut(8..12)?.fill(0);
    head.get_mut(50..52)?.copy_from_slice(&[0, 1]);
    let tables = TABLES.iter().map(|&name| match name {
        b"glyf" => Some((name, glyf.clone())),
        b"loca" => Some((name, loca.clone())),
        b"head" => Some((name, head.clone())),
        name => Some((name, table(name)?.to_vec())),
    });
    assembled(&tables.collect::<Option<Vec<_>>>()?)
}

/// Where each glyph starts, and where the last one ends.
fn ends(loca: &[u8], is_long: bool) -> Option<Vec<usize>> {
    match is_long {
        true => loca
            .chunks_exact(4)
            .map(|four| Some(u32::from_be_bytes(four.try_into().ok()?) as usize))
            .collect(),
        false => loca.chunks_exact(2).map(|two| Some(2 * usize::from(number(two, 0)?))).collect(),
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([two[0], two[1]]))
}

struct Outlines<'a> {
    bytes: &'a [u8],
    ends: Vec<usize>,
}

impl Outlines<'_> {
    fn glyph(&self, glyph: u16) -> &[u8] {
        let at = |index: usize| self.ends.get(index).copied();
        let range = at(glyph.into()).zip(at(usize::from(glyph) + 1));
        range.and_then(|(from, to)| self.bytes.get(from..to)).unwrap_or(&[])
    }

    /// Adds the glyphs that others consist of, such as letters and accents, and the box for missing letters.
    fn with_components(&self, glyphs: BTreeSet<u16>) -> BTreeSet<u16> {
        let mut found = BTreeSet::new();
        let mut waiting: Vec<u16> = glyphs.into_iter().chain([0]).collect();
        while let Some(glyph) = waiting.pop() {
            if found.insert(glyph) {
                waiting.extend(components(self.glyph(glyph)));
            }
        }
        found
    }

    /// The outlines and their offsets, with other glyphs empty.
    fn only(&self, glyphs: &BTreeSet<u16>) -> (Vec<u8>, Vec<u8>) {
        let (mut outlines, mut offsets) = (Vec::new(), vec![0; 4]);
        for glyph in 0..self.ends.len().saturating_sub(1) {
            if let Some(glyph) = u16::try_from(glyph).ok().filter(|glyph| glyphs.contains(glyph)) {
                outlines.extend(self.glyph(glyph));
                outlines.resize(outlines.len().next_multiple_of(4), 0);
            }
            offsets.extend((outlines.len() as u32).to_be_bytes());
        }
        (outlines, offsets)
    }
}

/// The parts of a composite glyph (OpenType 1.9, "Composite Glyph Description").
fn components(glyph: &[u8]) -> Vec<u16> {
    const WORDS: u16 = 0x0001;
    const SCALE: u16 = 0x0008;
    const MORE: u16 = 0x0020;
    const TWO_SCALES: u16 = 0x0040;
    const MATRIX: u16 = 0x0080;
    let mut parts = Vec::new();
    let is_composite = number(glyph, 0).is_some_and(|contours| contours > i16::MAX as u16);
    let mut at = 10;
    while let (true, Some(flags), Some(part)) = (is_composite, number(glyph, at), number(glyph, at + 2)) {
        parts.push(part);
        let has = |flag: u16| flags & flag != 0;
        at += if has(WORDS) { 8 } else { 6 };
        at += 2 * usize::from(has(SCALE)) + 4 * usize::from(has(TWO_SCALES)) + 8 * usize::from(has(MATRIX));
        if !has(MORE) {
            break;
        }
    }
    parts
}

/// A font file: the list of tables with their sums, and the tables.
fn assembled(tables: &[(&[u8; 4], Vec<u8>)]) -> Option<Vec<u8>> {
    let count = u16::try_from(tables.len()).ok()?;
    let power = count.checked_ilog2()?;
    let mut font = vec![0, 1, 0, 0];
    for number in [count, 16 << power, power as u16, 16 * count - (16 << power)] {
        font.extend(number.to_be_bytes());
    }
    let mut start = HEADER + ENTRY * tables.len();
    for (name, bytes) in tables {
        font.extend(*name);
        for number in [sum(bytes), start as u32, bytes.len() as u32] {
            font.extend(number.to_be_bytes());
        }
        start += bytes.len().next_multiple_of(4);
    }
    for (_, bytes) in tables {
        font.extend(bytes);
        font.resize(font.len().next_multiple_of(4), 0);
    }
    set_sum(&mut font)?;
    Some(font)
}

/// Tables are added up as big endian numbers of four bytes.
fn sum(bytes: &[u8]) -> u32 {
    let four =
        |chunk: &[u8]| chunk.iter().zip([24, 16, 8, 0]).map(|(&byte, shift)| u32::from(byte) << shift).sum();
    bytes.chunks(4).map(four).fold(0, u32::wrapping_add)
}

/// Sets the number in `head` that makes the sum of the whole file come out right.
fn set_sum(font: &mut [u8]) -> Option<()> {
    let sum = 0xb1b0_afba_u32.wrapping_sub(sum(font));
    let entries = font.get(HEADER..)?.chunks_exact(ENTRY);
    let entry = entries.take(TABLES.len()).find(|entry| entry.starts_with(b"head"))?;
    let start = u32::from_be_bytes(entry[8..12].try_into().ok()?) as usize;
    font.get_mut(start + 8..start + 12)?.copy_from_slice(&sum.to_be_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::font::Font;
    use ttf_parser::{Face, GlyphId};

    #[test]
    fn glyphs_keep_their_numbers_and_widths() {
        let font = Font::bundled(false).unwrap();
        // ü consists of u and two dots.
        let used: BTreeSet<u16> = font.run("aü").glyphs.iter().map(|glyph| glyph.id.0).collect();
        let bytes = subset(font.data, used.clone()).unwrap();
        assert!(bytes.len() < font.data.len() / 4, "{}", bytes.len());
        assert_eq!(sum(&bytes), 0xb1b0_afba);
        let face = Face::parse(&bytes, 0).unwrap();
        for glyph in used.iter().map(|&glyph| GlyphId(glyph)).chain([GlyphId(0)]) {
            assert_eq!(face.glyph_hor_advance(glyph), font.face.glyph_hor_advance(glyph));
            assert_eq!(face.glyph_bounding_box(glyph), font.face.glyph_bounding_box(glyph));
            assert!(face.glyph_bounding_box(glyph).is_some());
        }
        let other = font.run("b").glyphs[0].id;
        assert_eq!(face.glyph_bounding_box(other), None);
    }

    #[test]
    fn damaged_fonts_are_no_panic() {
        let font = Font::bundled(true).unwrap().data;
        assert_eq!(subset(&[], BTreeSet::new()), None);
        for length in (0..font.len()).step_by(997) {
            let _ = subset(&font[..length], BTreeSet::from([1, 40, 600]));
        }
        assert_eq!(components(&[0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x20]), Vec::<u16>::new());
    }
}
