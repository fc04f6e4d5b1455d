//! The drawing operators of a page, and the resources that they name.

use super::POINTS;
use super::file::text_string;
use super::fonts::UsedFont;
use crate::charts::canvas::{DASHES, Drawing, HALO, Setting, Shape, Stroke, Text};
use crate::charts::font::{Font, Run, shift};
use crate::charts::palette::{Colour, PAPER};
use crate::charts::path;
use crate::charts::svg::Number;
use std::collections::BTreeSet;
use std::fmt::{self, Write};
use tiny_skia::{Path, PathSegment, Point};

#[derive(Debug)]
pub struct Page {
    pub operators: String,
    /// Opacities below 1, in percent: `A25` is the graphics state of 25 %.
    pub opacities: BTreeSet<u8>,
    /// The regular font and the bold one.
    pub fonts: [UsedFont; 2],
}

/// How an operator names a colour: for lines or for areas.
const LINE: &str = "RG";
const AREA: &str = "rg";

impl Page {
    pub fn new(drawing: &Drawing) -> Page {
        let fonts = [UsedFont::new(false), UsedFont::new(true)];
        let mut page = Page { operators: String::new(), opacities: BTreeSet::new(), fonts };
        // Writing to a string cannot fail.
        let _ = page.draw(drawing);
        page
    }

    fn draw(&mut self, drawing: &Drawing) -> fmt::Result {
        // Pages count upwards in points; pictures downwards in pixels.
        let (scale, top) = (Number(POINTS), Number(drawing.height * POINTS));
        // Joints are cut off where SVG cuts them off.
        writeln!(self.operators, "{scale} 0 0 -{scale} 0 {top} cm 4 M")?;
        self.fill(path::rectangle((0.0, 0.0), (drawing.width, drawing.height)), PAPER, 1.0)?;
        drawing.shapes.iter().try_for_each(|shape| self.shape(shape))
    }

    fn shape(&mut self, shape: &Shape) -> fmt::Result {
        match shape {
            Shape::Lines { places, round, stroke } => {
                self.stroke(path::lines(places, false), *stroke, *round)
            }
            Shape::Polygon { places, colour, opacity } => {
                self.fill(path::lines(places, true), *colour, *opacity)
            }
            Shape::Rectangle { corner, size, colour } => {
                self.fill(path::rectangle(*corner, *size), *colour, 1.0)
            }
            Shape::Outline { corner, size, colour } => {
                self.stroke(path::rounded_box(*corner, *size), Stroke::new(*colour, 1.0), false)
            }
            Shape::Dots { places, diameter, colour } => {
                self.stroke(path::dots(places), Stroke::new(*colour, *diameter), true)
            }
            Shape::Text(text) => self.text(text),
        }
    }

    fn fill(&mut self, path: Option<Path>, colour: Colour, opacity: f64) -> fmt::Result {
        let Some(path) = path else { return Ok(()) };
        let percent = (opacity.clamp(0.0, 1.0) * 100.0).round() as u8;
        self.operators.push_str("q ");
        if percent < 100 {
            self.opacities.insert(percent);
            write!(self.operators, "/A{percent} gs ")?;
        }
        self.colour(colour, AREA)?;
        self.path(&path, (0.0, 0.0))?;
        self.operators.write_str("f Q\n")
    }

    fn stroke(&mut self, path: Option<Path>, stroke: Stroke, round: bool) -> fmt::Result {
        let Some(path) = path else { return Ok(()) };
        self.operators.push_str("q ");
        if stroke.dashed {
            let [dash, gap] = DASHES;
            write!(self.operators, "[{dash} {gap}] 0 d ")?;
        }
        if round {
            self.operators.push_str("1 J 1 j ");
        }
        self.colour(stroke.colour, LINE)?;
        write!(self.operators, "{} w ", Number(stroke.width))?;
        self.path(&path, (0.0, 0.0))?;
        self.operators.write_str("S Q\n")
    }

    fn text(&mut self, text: &Text) -> fmt::Result {
        let Some(font) = Font::bundled(text.ink.bold) else { return Ok(()) };
        let run = font.run(&text.content);
        if text.setting == Setting::Over {
            self.halo(text, font, &run)?;
        }
        let used = &mut self.fonts[usize::from(text.ink.bold)];
        let (is_readable, name) = (used.add(&run), used.name());
        if !is_readable {
            write!(self.operators, "/Span<</ActualText{}>>BDC ", text_string(&text.content))?;
        }
        self.operators.push_str("q ");
        self.colour(text.ink.colour, AREA)?;
        write!(
            self.operators,
            "BT /{name} {} Tf {} Tm ",
            Number(text.ink.size),
            Matrix::new(text, font, &run)
        )?;
        write!(self.operators, "[{}] TJ ET Q", Glyphs(font, &run))?;
        self.operators.write_str(if is_readable { "\n" } else { " EMC\n" })
    }

    /// Draws the border as lines, not as letters, so that searching finds the text once.
    fn halo(&mut self, text: &Text, font: &Font, run: &Run) -> fmt::Result {
        let Some(letters) = path::letters(text, font, run) else { return Ok(()) };
        self.operators.push_str("q 1 j ");
        self.colour(PAPER, LINE)?;
        write!(self.operators, "{} w ", Number(HALO))?;
        self.path(&letters, text.place)?;
        self.operators.write_str("S Q\n")
    }

    fn colour(&mut self, Colour(red, green, blue): Colour, kind: &str) -> fmt::Result {
        let [red, green, blue] = [red, green, blue].map(|part| f64::from(part) / 255.0);
        write!(self.operators, "{red:.4} {green:.4} {blue:.4} {kind} ")
    }

    fn path(&mut self, path: &Path, (left, top): (f64, f64)) -> fmt::Result {
        let place = |point: Point| {
            let [x, y] = [left + f64::from(point.x), top + f64::from(point.y)].map(Number);
            format!("{x} {y} ")
        };
        let mut last = Point::zero();
        for segment in path.segments() {
            match segment {
                PathSegment::MoveTo(to) => write!(self.operators, "{}m ", place(to))?,
                PathSegment::LineTo(to) => write!(self.operators, "{}l ", place(to))?,
                PathSegment::QuadTo(bend, to) => {
                    // The same curve as a cubic one, the only kind that PDF has.
                    let [first, second] = [last, to].map(|end| between(end, bend));
                    write!(self.operators, "{}{}{}c ", place(first), place(second), place(to))?;
                }
                PathSegment::CubicTo(first, second, to) => {
                    write!(self.operators, "{}{}{}c ", place(first), place(second), place(to))?;
                }
                PathSegment::Close => self.operators.push_str("h "),
            }
            if let PathSegment::MoveTo(to)
            | PathSegment::LineTo(to)
            | PathSegment::QuadTo(_, to)
            | PathSegment::CubicTo(_, _, to) = segment
            {
                last = to;
            }
        }
        Ok(())
    }
}

/// Two thirds of the way to a control point.
fn between(end: Point, bend: Point) -> Point {
    Point::from_xy(end.x + (bend.x - end.x) * 2.0 / 3.0, end.y + (bend.y - end.y) * 2.0 / 3.0)
}

/// Where a text starts, and the directions of its lines and of its letters.
struct Matrix {
    directions: &'static str,
    start: (f64, f64),
}

impl Matrix {
    fn new(text: &Text, font: &Font, run: &Run) -> Matrix {
        let ((x, y), shift) = (text.place, shift(text, font, run));
        match text.setting {
            Setting::Upward => Matrix { directions: "0 -1 -1 0", start: (x, y + shift) },
            Setting::Level | Setting::Over => Matrix { directions: "1 0 0 -1", start: (x - shift, y) },
        }
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {} {}", self.directions, Number(self.start.0), Number(self.start.1))
    }
}

/// Glyphs in hexadecimal digits; numbers between them move them apart or, if positive, together.
struct Glyphs<'a>(&'a Font, &'a Run);

impl fmt::Display for Glyphs<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Glyphs(font, run) = self;
        let mut end = 0;
        write!(out, "<")?;
        for glyph in &run.glyphs {
            if glyph.at != end {
                let thousandths = f64::from(end - glyph.at) * 1000.0 / font.em();
                write!(out, ">{}<", Number(thousandths))?;
            }
            write!(out, "{:04X}", glyph.id.0)?;
            end = glyph.at + font.advance(glyph.id);
        }
        write!(out, ">")
    }
}
