//! Pictures as pixels, at twice the nominal size, with the bundled font, so that a machine without fonts
//! draws the same picture.

mod file;

use super::canvas::{DASHES, Drawing, HALO, Setting, Shape, Stroke, Text};
use super::font::Font;
use super::palette::{Colour, PAPER};
use super::path;
use tiny_skia as skia;
use tiny_skia::{FillRule, LineCap, LineJoin, Paint, Path, Pixmap, StrokeDash, Transform};

/// Pixels of the PNG per pixel of the drawing.
const MAGNIFICATION: f32 = 2.0;

/// Why a picture cannot be converted to PNG.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    #[error("a picture of {width} × {height} pixels does not fit in memory")]
    TooLarge { width: f32, height: f32 },
}

/// The bytes of a PNG file.
pub fn to_png(drawing: &Drawing) -> Result<Vec<u8>, PngError> {
    let (width, height) = (drawing.width as f32 * MAGNIFICATION, drawing.height as f32 * MAGNIFICATION);
    let too_large = || PngError::TooLarge { width, height };
    let mut pixels = Pixmap::new(width.ceil() as u32, height.ceil() as u32).ok_or_else(too_large)?;
    pixels.fill(skia::Color::from_rgba8(PAPER.0, PAPER.1, PAPER.2, u8::MAX));
    let mut raster = Raster { pixels, scale: Transform::from_scale(MAGNIFICATION, MAGNIFICATION) };
    drawing.shapes.iter().for_each(|shape| raster.draw(shape));
    Ok(file::encoded(&raster.pixels))
}

struct Raster {
    pixels: Pixmap,
    scale: Transform,
}

impl Raster {
    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Lines { places, round, stroke } => {
                self.stroke(path::lines(places, false), stroke.colour, &pen(*stroke, *round), self.scale);
            }
            Shape::Polygon { places, colour, opacity } => {
                self.fill(path::lines(places, true), *colour, *opacity, self.scale);
            }
            Shape::Rectangle { corner, size, colour } => {
                self.fill(path::rectangle(*corner, *size), *colour, 1.0, self.scale);
            }
            Shape::Outline { corner, size, colour } => {
                let pen = skia::Stroke::default();
                self.stroke(path::rounded_box(*corner, *size), *colour, &pen, self.scale);
            }
            Shape::Dots { places, diameter, colour } => {
                let pen = pen(Stroke::new(*colour, *diameter), true);
                self.stroke(path::dots(places), *colour, &pen, self.scale);
            }
            Shape::Text(text) => self.text(text),
        }
    }

    fn text(&mut self, text: &Text) {
        let Some(font) = Font::bundled(text.ink.bold) else { return };
        let letters = path::letters(text, font, &font.run(&text.content));
        let mut placed = self.scale.pre_translate(text.place.0 as f32, text.place.1 as f32);
        if text.setting == Setting::Upward {
            placed = placed.pre_concat(Transform::from_rotate(-90.0));
        }
        if text.setting == Setting::Over {
            let (width, line_join) = (HALO as f32, LineJoin::Round);
            let pen = skia::Stroke { width, line_join, ..skia::Stroke::default() };
            self.stroke(letters.clone(), PAPER, &pen, placed);
        }
        self.fill(letters, text.ink.colour, 1.0, placed);
    }

    fn fill(&mut self, path: Option<Path>, colour: Colour, opacity: f64, transform: Transform) {
        if let Some(path) = path {
            self.pixels.fill_path(&path, &paint(colour, opacity), FillRule::Winding, transform, None);
        }
    }

    fn stroke(&mut self, path: Option<Path>, colour: Colour, pen: &skia::Stroke, transform: Transform) {
        if let Some(path) = path {
            self.pixels.stroke_path(&path, &paint(colour, 1.0), pen, transform, None);
        }
    }
}

fn paint(colour: Colour, opacity: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    let alpha = (opacity.clamp(0.0, 1.0) * 255.0).round() as u8;
    paint.set_color_rgba8(colour.0, colour.1, colour.2, alpha);
    paint
}

fn pen(stroke: Stroke, round: bool) -> skia::Stroke {
    let dash = if stroke.dashed { StrokeDash::new(DASHES.map(f32::from).to_vec(), 0.0) } else { None };
    let (line_cap, line_join) =
        if round { (LineCap::Round, LineJoin::Round) } else { (LineCap::Butt, LineJoin::Miter) };
    skia::Stroke { width: stroke.width as f32, dash, line_cap, line_join, ..skia::Stroke::default() }
}
