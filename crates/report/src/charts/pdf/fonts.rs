//! The bundled font inside a PDF: as a font of glyph numbers (a CID font), with its widths and the letters
//! that its glyphs stand for.

use super::file::{File, Id, utf16};
use super::subset::subset;
use crate::charts::font::{Font, Run};
use std::collections::BTreeMap;
use std::fmt::Write;
use ttf_parser::GlyphId;

/// A font, and the glyphs that a page uses of it.
#[derive(Debug)]
pub struct UsedFont {
    bold: bool,
    /// The letter that each glyph stands for.
    letters: BTreeMap<u16, char>,
}

impl UsedFont {
    pub fn new(bold: bool) -> UsedFont {
        UsedFont { bold, letters: BTreeMap::new() }
    }

    /// The name that operators refer to.
    pub fn name(&self) -> &'static str {
        if self.bold { "Bold" } else { "Regular" }
    }

    /// Notes the glyphs of a text. Returns whether they tell its letters: a missing letter does not, nor does
    /// a glyph that already stands for another letter.
    pub fn add(&mut self, run: &Run) -> bool {
        let mut is_readable = true;
        for glyph in &run.glyphs {
            let letter = if glyph.id == GlyphId(0) { char::REPLACEMENT_CHARACTER } else { glyph.letter };
            is_readable &= *self.letters.entry(glyph.id.0).or_insert(letter) == glyph.letter;
        }
        is_readable
    }
}

/// Writes the font with only the glyphs used; `None` if there are none.
pub fn embed(file: &mut File, used: &UsedFont) -> Option<Id> {
    let font = Font::bundled(used.bold).filter(|_| !used.letters.is_empty())?;
    let [whole, descendant, descriptor, data, letters] = std::array::from_fn(|_| file.reserve());
    let name = format!("{}+NotoSans-{}", tag(used), used.name());
    file.object(
        whole,
        &format!(
            "<</Type/Font/Subtype/Type0/BaseFont/{name}/Encoding/Identity-H/DescendantFonts[{descendant}]\
             /ToUnicode {letters}>>"
        ),
    );
    file.object(
        descendant,
        &format!(
            "<</Type/Font/Subtype/CIDFontType2/BaseFont/{name}\
             /CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>\
             /FontDescriptor {descriptor}/CIDToGIDMap/Identity/W[{}]>>",
            widths(font, used)
        ),
    );
    file.object(descriptor, &description(font, used, &name, data));
    let glyphs = used.letters.keys().copied().collect();
    let bytes = subset(font.data, glyphs).unwrap_or_else(|| font.data.to_vec());
    file.stream(data, &format!("/Length1 {}", bytes.len()), &bytes);
    file.stream(letters, "", to_unicode(used).as_bytes());
    Some(whole)
}

/// Six letters that differ between subsets, as the standard asks for.
fn tag(used: &UsedFont) -> String {
    let glyphs: Vec<u8> = used.letters.keys().flat_map(|glyph| glyph.to_be_bytes()).collect();
    let sum = crc32fast::hash(&glyphs);
    let digit = |place: u32| (b'A' + (sum / 26u32.pow(place) % 26) as u8) as char;
    (0..6).map(digit).collect()
}

/// Widths are in thousandths of the size, whatever the font counts in.
fn thousandths(font: &Font, units: i32) -> i32 {
    (f64::from(units) * 1000.0 / font.em()).round() as i32
}

fn widths(font: &Font, used: &UsedFont) -> String {
    let width = |&glyph: &u16| format!("{glyph}[{}]", thousandths(font, font.advance(GlyphId(glyph))));
    used.letters.keys().map(width).collect()
}

fn description(font: &Font, used: &UsedFont, name: &str, data: Id) -> String {
    // Not one of the standard alphabets.
    const SYMBOLIC: u8 = 4;
    let face = &font.face;
    let bounds = face.global_bounding_box();
    let bounds = [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max];
    let [left, bottom, right, top] = bounds.map(|bound| thousandths(font, bound.into()));
    let [ascent, descent, capitals] =
        [face.ascender(), face.descender(), face.capital_height().unwrap_or(700)]
            .map(|height| thousandths(font, height.into()));
    // Fonts do not state the width of their stems; readers use it only to find a substitute.
    let stem = if used.bold { 140 } else { 80 };
    format!(
        "<</Type/FontDescriptor/FontName/{name}/Flags {SYMBOLIC}/FontBBox[{left} {bottom} {right} {top}]\
         /ItalicAngle 0/Ascent {ascent}/Descent {descent}/CapHeight {capitals}/StemV {stem}/FontFile2 {data}>>"
    )
}

/// The table that maps glyphs to letters, in the language of CMap files.
fn to_unicode(used: &UsedFont) -> String {
    /// The standard's limit for one list.
    const MOST: usize = 100;
    let mut map = String::from(
        "/CIDInit/ProcSet findresource begin\n12 dict begin\nbegincmap\n\
         /CIDSystemInfo<</Registry(Adobe)/Ordering(UCS)/Supplement 0>>def\n\
         /CMapName/Adobe-Identity-UCS def\n/CMapType 2 def\n\
         1 begincodespacerange\n<0000><FFFF>\nendcodespacerange\n",
    );
    let pairs: Vec<(&u16, &char)> = used.letters.iter().collect();
    for part in pairs.chunks(MOST) {
        let _ = writeln!(map, "{} beginbfchar", part.len());
        for (glyph, letter) in part {
            let _ = writeln!(map, "<{glyph:04X}><{}>", utf16(&letter.to_string()));
        }
        map.push_str("endbfchar\n");
    }
    map.push_str("endcmap\nCMapName currentdict/CMap defineresource pop\nend\nend\n");
    map
}
