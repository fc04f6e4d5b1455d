//! Shapes as paths, for the formats that have no elements for them.

use super::canvas::{CORNER, Point, Text};
use super::font::{Font, Run, shift};
use tiny_skia::{Path, PathBuilder};
use ttf_parser::OutlineBuilder;

/// How far the control points of a cubic curve lie towards the corner for a quarter of a circle:
/// 4/3 (√2 − 1).
const ROUND: f32 = 0.552_284_8;

/// Lines from place to place; `None` if there are none.
pub fn lines(places: &[Point], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::with_capacity(places.len() + 1, places.len());
    for (index, &(x, y)) in places.iter().enumerate() {
        let (x, y) = (x as f32, y as f32);
        if index == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
    }
    if closed {
        path.close();
    }
    path.finish()
}

/// Lines without a length: the round ends of the pen are the dots.
pub fn dots(places: &[Point]) -> Option<Path> {
    let mut path = PathBuilder::with_capacity(2 * places.len(), 2 * places.len());
    for &(x, y) in places {
        path.move_to(x as f32, y as f32);
        path.line_to(x as f32, y as f32);
    }
    path.finish()
}

pub fn rectangle((x, y): Point, (width, height): (f64, f64)) -> Option<Path> {
    lines(&[(x, y), (x + width, y), (x + width, y + height), (x, y + height)], true)
}

pub fn rounded_box((x, y): Point, (width, height): (f64, f64)) -> Option<Path> {
    let radius = CORNER.min(width / 2.0).min(height / 2.0) as f32;
    let [left, top, right, bottom] = [x, y, x + width, y + height].map(|value| value as f32);
    // The end of a side, the corner after it, and the start of the next side.
    let sides = [
        ((right - radius, top), (right, top), (right, top + radius)),
        ((right, bottom - radius), (right, bottom), (right - radius, bottom)),
        ((left + radius, bottom), (left, bottom), (left, bottom - radius)),
        ((left, top + radius), (left, top), (left + radius, top)),
    ];
    let mut path = PathBuilder::new();
    path.move_to(left + radius, top);
    for (end, corner, next) in sides {
        let towards = |(x, y): (f32, f32)| (x + ROUND * (corner.0 - x), y + ROUND * (corner.1 - y));
        let (first, second) = (towards(end), towards(next));
        path.line_to(end.0, end.1);
        path.cubic_to(first.0, first.1, second.0, second.1, next.0, next.1);
    }
    path.close();
    path.finish()
}

/// The outlines of a text, relative to its place.
pub fn letters(text: &Text, font: &Font, run: &Run) -> Option<Path> {
    let scale = (text.ink.size / font.em()) as f32;
    let start = -shift(text, font, run) as f32;
    let mut outline = Outline { path: PathBuilder::new(), scale, left: start };
    for glyph in &run.glyphs {
        outline.left = start + glyph.at as f32 * scale;
        font.outline(glyph.id, &mut outline);
    }
    outline.path.finish()
}

struct Outline {
    path: PathBuilder,
    /// Pixels per font unit.
    scale: f32,
    /// Where the glyph starts.
    left: f32,
}

impl Outline {
    /// Fonts count upwards, pictures downwards.
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.left + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
