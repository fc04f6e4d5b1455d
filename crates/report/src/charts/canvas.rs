//! The few shapes that charts consist of. A chart is recorded as a list of them; `svg.rs`, `png.rs` and
//! `pdf.rs` draw the list.
//!
//! Coordinates are rounded when they are recorded, so that all formats have the same.

use super::palette::Colour;
use super::text::printable;

/// A place in the picture: pixels from the left and from the top.
pub type Point = (f64, f64);

/// Lengths of dashes and of the gaps between them.
pub const DASHES: [u8; 2] = [5, 4];
/// The radius of the corners of an outline.
pub const CORNER: f64 = 4.0;
/// The width of the white border around a text that lies on top of lines.
pub const HALO: f64 = 3.0;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// The style of a text.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ink {
    pub size: f64,
    pub colour: Colour,
    pub bold: bool,
    pub anchor: Anchor,
}

impl Ink {
    pub const fn new(size: f64, colour: Colour, anchor: Anchor) -> Ink {
        Ink { size, colour, bold: false, anchor }
    }
}

/// The style of a line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stroke {
    pub colour: Colour,
    pub width: f64,
    pub dashed: bool,
}

impl Stroke {
    pub const fn new(colour: Colour, width: f64) -> Stroke {
        Stroke { colour, width, dashed: false }
    }
}

/// How a text lies in the picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setting {
    Level,
    /// Rotated to read upwards.
    Upward,
    /// With a white border, to stay readable on top of lines and dots.
    Over,
}

/// Letters of one style. Control characters are already replaced.
#[derive(Clone, PartialEq, Debug)]
pub struct Text {
    pub place: Point,
    pub ink: Ink,
    pub setting: Setting,
    pub content: String,
}

/// What a picture consists of, from back to front.
#[derive(Clone, PartialEq, Debug)]
pub enum Shape {
    /// Lines from place to place; `round` are their ends and joints.
    Lines {
        places: Vec<Point>,
        round: bool,
        stroke: Stroke,
    },
    Polygon {
        places: Vec<Point>,
        colour: Colour,
        opacity: f64,
    },
    Rectangle {
        corner: Point,
        size: (f64, f64),
        colour: Colour,
    },
    /// A rounded box without filling.
    Outline {
        corner: Point,
        size: (f64, f64),
        colour: Colour,
    },
    Dots {
        places: Vec<Point>,
        diameter: f64,
        colour: Colour,
    },
    Text(Text),
}

/// A finished picture. Screen readers read the title and the description.
#[derive(Clone, PartialEq, Debug)]
pub struct Drawing {
    pub width: f64,
    pub height: f64,
    pub title: String,
    pub description: String,
    pub shapes: Vec<Shape>,
}

/// A picture that grows shape by shape.
#[derive(Debug)]
pub struct Canvas {
    width: f64,
    pub height: f64,
    shapes: Vec<Shape>,
}

impl Canvas {
    pub fn new(width: f64, height: f64) -> Canvas {
        Canvas { width, height, shapes: Vec::new() }
    }

    pub fn line(&mut self, from: Point, to: Point, stroke: Stroke) {
        self.open_path(&[from, to], false, stroke);
    }

    /// Lines from place to place.
    pub fn open_path(&mut self, places: &[Point], round: bool, stroke: Stroke) {
        self.shapes.push(Shape::Lines { places: rounded(places, 100.0), round, stroke });
    }

    /// A filled polygon.
    pub fn polygon(&mut self, places: &[Point], colour: Colour, opacity: f64) {
        self.shapes.push(Shape::Polygon { places: rounded(places, 100.0), colour, opacity });
    }

    pub fn rectangle(&mut self, corner: Point, (width, height): (f64, f64), colour: Colour) {
        let size = place((width.max(0.0), height.max(0.0)), 100.0);
        self.shapes.push(Shape::Rectangle { corner: place(corner, 100.0), size, colour });
    }

    /// A rounded box without filling.
    pub fn outline(&mut self, corner: Point, size: (f64, f64), colour: Colour) {
        self.shapes.push(Shape::Outline { corner: place(corner, 100.0), size: place(size, 100.0), colour });
    }

    /// Round dots of one colour.
    pub fn dots(&mut self, places: &[Point], diameter: f64, colour: Colour) {
        self.shapes.push(Shape::Dots { places: rounded(places, 10.0), diameter, colour });
    }

    pub fn text(&mut self, place: Point, ink: Ink, content: &str) {
        self.set_text(place, ink, Setting::Level, content);
    }

    /// Draws text rotated to read upwards.
    pub fn upward_text(&mut self, place: Point, ink: Ink, content: &str) {
        self.set_text(place, ink, Setting::Upward, content);
    }

    /// Draws text that stays readable on top of lines and dots.
    pub fn text_over(&mut self, place: Point, ink: Ink, content: &str) {
        self.set_text(place, ink, Setting::Over, content);
    }

    fn set_text(&mut self, at: Point, ink: Ink, setting: Setting, content: &str) {
        // The bundled font has no minus sign.
        let content = content.replace('\u{2212}', "–").chars().map(printable).collect();
        self.shapes.push(Shape::Text(Text { place: place(at, 100.0), ink, setting, content }));
    }

    pub fn finish(self, title: String, description: String) -> Drawing {
        let (width, height) = place((self.width, self.height), 100.0);
        Drawing { width, height, title, description, shapes: self.shapes }
    }
}

fn rounded(places: &[Point], parts: f64) -> Vec<Point> {
    places.iter().map(|&at| place(at, parts)).collect()
}

/// Rounds to parts of a pixel. What is not a number becomes zero, so that every format can write it.
fn place((x, y): Point, parts: f64) -> Point {
    // Far outside of every picture, and exact in all formats.
    const FAR: f64 = 1e6;
    let round = |value: f64| (value.clamp(-FAR, FAR) * parts).round() as i64 as f64 / parts;
    (round(x), round(y))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_coordinate_is_a_number() {
        assert_eq!(place((f64::NAN, 1.006), 100.0), (0.0, 1.01));
        assert_eq!(place((f64::INFINITY, -0.001), 100.0), (1e6, 0.0));
        assert_eq!(place((1.26, -3.74), 10.0), (1.3, -3.7));
    }
}
