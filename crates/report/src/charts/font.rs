//! The bundled font, for formats whose reader may have none: which glyphs show a text, where they stand, and
//! their outlines. Letters stand one after the other, closer where the font says so (kerning); scripts that
//! need more than that are not in the font.

use super::canvas::{Anchor, Text};
use std::sync::LazyLock;
use ttf_parser::gpos::{PairAdjustment, PositioningSubtable};
use ttf_parser::{Face, GlyphId, OutlineBuilder, Tag};

/// Noto Sans, under the Open Font License; see `fonts/OFL.txt`.
const REGULAR: &[u8] = include_bytes!("../../fonts/NotoSans-Regular.ttf");
const BOLD: &[u8] = include_bytes!("../../fonts/NotoSans-Bold.ttf");

static FONTS: LazyLock<[Option<Font>; 2]> = LazyLock::new(|| [Font::read(REGULAR), Font::read(BOLD)]);

pub struct Font {
    pub data: &'static [u8],
    pub face: Face<'static>,
    pairs: Vec<PairAdjustment<'static>>,
}

/// A glyph and its distance from the start of its text, in font units.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Glyph {
    pub id: GlyphId,
    pub letter: char,
    pub at: i32,
}

/// The glyphs of a text, and its width in font units.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Run {
    pub glyphs: Vec<Glyph>,
    pub width: i32,
}

impl Font {
    /// `None` only if the bundled file is damaged; a test reads both.
    pub fn bundled(bold: bool) -> Option<&'static Font> {
        FONTS[usize::from(bold)].as_ref()
    }

    fn read(data: &'static [u8]) -> Option<Font> {
        let face = Face::parse(data, 0).ok()?;
        let pairs = kerning(&face).unwrap_or_default();
        Some(Font { data, face, pairs })
    }

    /// Font units in one em.
    pub fn em(&self) -> f64 {
        f64::from(self.face.units_per_em())
    }

    pub fn advance(&self, glyph: GlyphId) -> i32 {
        self.face.glyph_hor_advance(glyph).unwrap_or(0).into()
    }

    /// Lays out a text. Spaces are joined as in SVG. A letter that the font lacks becomes glyph 0, an empty
    /// box.
    pub fn run(&self, text: &str) -> Run {
        let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
        let mut run = Run::default();
        for letter in words.join(" ").chars() {
            let id = match self.face.glyph_index(letter) {
                None if is_invisible(letter) => continue,
                found => found.unwrap_or_default(),
            };
            let before = run.glyphs.last().map(|glyph| glyph.id);
            run.width += before.map_or(0, |before| self.kern(before, id));
            run.glyphs.push(Glyph { id, letter, at: run.width });
            run.width += self.advance(id);
        }
        run
    }

    /// By how much a pair of glyphs stands wider apart than their advances say. The first table that knows
    /// the pair decides.
    fn kern(&self, left: GlyphId, right: GlyphId) -> i32 {
        self.pairs.iter().find_map(|table| kern(table, left, right)).unwrap_or(0)
    }

    /// The outline of a glyph, in font units, upwards.
    pub fn outline(&self, glyph: GlyphId, builder: &mut dyn OutlineBuilder) {
        // Glyphs without an outline, such as the space, draw nothing.
        let _ = self.face.outline_glyph(glyph, builder);
    }
}

impl std::fmt::Debug for Font {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Font").field("bold", &self.face.is_bold()).finish_non_exhaustive()
    }
}

/// How far left of its place a text starts, in pixels.
pub fn shift(text: &Text, font: &Font, run: &Run) -> f64 {
    let width = f64::from(run.width) * text.ink.size / font.em();
    match text.ink.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => width / 2.0,
        Anchor::End => width,
    }
}

/// Characters that only affect their neighbours, and are not missed when the font lacks them.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

fn kerning(face: &Face<'static>) -> Option<Vec<PairAdjustment<'static>>> {
    let table = face.tables().gpos?;
    let features = table.features.into_iter().filter(|feature| feature.tag == Tag::from_bytes(b"kern"));
    let mut lookups: Vec<u16> = features.flat_map(|feature| feature.lookup_indices).collect();
    // Every script and language lists the same lookups.
    lookups.sort_unstable();
    lookups.dedup();
    let lookups = lookups.into_iter().filter_map(|index| table.lookups.get(index));
    let subtables = lookups.flat_map(|lookup| lookup.subtables.into_iter::<PositioningSubtable>());
    let pairs = subtables.filter_map(|subtable| match subtable {
        PositioningSubtable::Pair(pair) => Some(pair),
        _ => None,
    });
    Some(pairs.collect())
}

fn kern(table: &PairAdjustment<'_>, left: GlyphId, right: GlyphId) -> Option<i32> {
    let index = table.coverage().get(left)?;
    let (first, _) = match table {
        PairAdjustment::Format1 { sets, .. } => sets.get(index)?.get(right)?,
        PairAdjustment::Format2 { classes, matrix, .. } => {
            matrix.get((classes.0.get(left), classes.1.get(right)))?
        }
    };
    Some(first.x_advance.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn font() -> &'static Font {
        Font::bundled(false).unwrap()
    }

    #[test]
    fn both_fonts_can_be_read() {
        for bold in [false, true] {
            let font = Font::bundled(bold).unwrap();
            assert_eq!((font.face.is_bold(), font.em()), (bold, 1000.0));
            assert!(!font.pairs.is_empty());
        }
    }

    #[test]
    fn letters_stand_one_after_the_other() {
        let run = font().run("  ab  a ");
        let [a, b, space, again] = run.glyphs[..] else { panic!("{run:?}") };
        assert_eq!((a.letter, b.letter, space.letter, again.id), ('a', 'b', ' ', a.id));
        // The advances of `text.rs`: a 561, b 615, space 260.
        assert_eq!((a.at, b.at, space.at, again.at, run.width), (0, 561, 1176, 1436, 1997));
        let kerned = font().run("AV").width;
        assert!(kerned < font().run("A").width + font().run("V").width, "{kerned}");
    }

    #[test]
    fn missing_letters_are_boxes() {
        let run = font().run("核\u{200b}\u{fffd}");
        assert_eq!(run.glyphs[0].id, GlyphId(0));
        assert!(run.width > 0 && run.glyphs.len() == 2, "{run:?}");
        assert_eq!(font().run(" "), Run::default());
    }
}
