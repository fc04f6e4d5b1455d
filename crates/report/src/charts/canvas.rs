//! The few SVG elements that charts consist of, written as text.
//!
//! A thousand dots are one path, not a thousand elements: ten bytes each instead of ninety.

use super::text::escaped;
use std::fmt::Write;

/// Common fonts; the first is bundled for PNG.
const FONTS: &str = "'Noto Sans', 'Segoe UI', Helvetica, Arial, sans-serif";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// The style of a text.
#[derive(Clone, Copy, Debug)]
pub struct Ink {
    pub size: f64,
    pub colour: &'static str,
    pub bold: bool,
    pub anchor: Anchor,
}

impl Ink {
    pub const fn new(size: f64, colour: &'static str, anchor: Anchor) -> Ink {
        Ink { size, colour, bold: false, anchor }
    }
}

/// The style of a line.
#[derive(Clone, Copy, Debug)]
pub struct Stroke {
    pub colour: &'static str,
    pub width: f64,
    pub dashed: bool,
}

impl Stroke {
    pub const fn new(colour: &'static str, width: f64) -> Stroke {
        Stroke { colour, width, dashed: false }
    }
}

/// A place in the picture: pixels from the left and from the top.
pub type Point = (f64, f64);

/// A picture that grows element by element.
#[derive(Debug)]
pub struct Canvas {
    width: f64,
    pub height: f64,
    body: String,
}

impl Canvas {
    pub fn new(width: f64, height: f64) -> Canvas {
        Canvas { width, height, body: String::new() }
    }

    pub fn line(&mut self, from: Point, to: Point, stroke: Stroke) {
        self.open_path(&[from, to], false, stroke);
    }

    /// Lines from place to place.
    pub fn open_path(&mut self, places: &[Point], round: bool, stroke: Stroke) {
        let Stroke { colour, width, dashed } = stroke;
        let dashes = if dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let joins = if round { " stroke-linejoin=\"round\" stroke-linecap=\"round\"" } else { "" };
        let (data, width) = (path_data(places), number(width));
        self.push(format_args!(
            "<path d=\"{data}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dashes}{joins}/>"
        ));
    }

    /// A filled polygon.
    pub fn polygon(&mut self, places: &[Point], colour: &str, opacity: f64) {
        let (data, opacity) = (path_data(places), number(opacity));
        self.push(format_args!("<path d=\"{data}Z\" fill=\"{colour}\" fill-opacity=\"{opacity}\"/>"));
    }

    pub fn rectangle(&mut self, (x, y): Point, (width, height): (f64, f64), colour: &str) {
        let [x, y, width, height] = [x, y, width.max(0.0), height.max(0.0)].map(number);
        self.push(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\"/>"
        ));
    }

    /// A rounded box without filling.
    pub fn outline(&mut self, (x, y): Point, (width, height): (f64, f64), colour: &str) {
        let [x, y, width, height] = [x, y, width, height].map(number);
        self.push(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\" fill=\"none\" \
             stroke=\"{colour}\"/>"
        ));
    }

    /// Draws round dots of one colour. Each is a zero-length line with round ends, relative to the one
    /// before.
    pub fn dots(&mut self, places: &[Point], diameter: f64, colour: &str) {
        let mut data = String::with_capacity(8 * places.len());
        let mut before: Option<Point> = None;
        for &(x, y) in places {
            // Rounded to tenths, so that relative steps do not accumulate errors.
            let (x, y) = ((x * 10.0).round() / 10.0, (y * 10.0).round() / 10.0);
            let (command, dx, dy) = match before {
                None => ('M', x, y),
                Some((left, top)) => ('m', x - left, y - top),
            };
            let _ = write!(data, "{command}{} {}h0", number(dx), number(dy));
            before = Some((x, y));
        }
        let diameter = number(diameter);
        self.push(format_args!(
            "<path d=\"{data}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{diameter}\" \
             stroke-linecap=\"round\"/>"
        ));
    }

    pub fn text(&mut self, place: Point, ink: Ink, content: &str) {
        self.turned_text(place, ink, content, "");
    }

    /// Draws text rotated to read upwards.
    pub fn upward_text(&mut self, place: Point, ink: Ink, content: &str) {
        let turn = format!(" transform=\"rotate(-90 {} {})\"", number(place.0), number(place.1));
        self.turned_text(place, ink, content, &turn);
    }

    /// Draws text that stays readable on top of lines and dots.
    pub fn text_over(&mut self, place: Point, ink: Ink, content: &str) {
        let halo = " stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"";
        self.turned_text(place, ink, content, halo);
    }

    fn turned_text(&mut self, (x, y): Point, ink: Ink, content: &str, attributes: &str) {
        let anchor = match ink.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if ink.bold { " font-weight=\"700\"" } else { "" };
        // The bundled font has no minus sign.
        let content = escaped(&content.replace('\u{2212}', "–"));
        let ([x, y, size], colour) = ([x, y, ink.size].map(number), ink.colour);
        self.push(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{colour}\"{anchor}{weight}{attributes}>{content}</text>"
        ));
    }

    /// Returns the whole document; screen readers read `title` and `description`.
    pub fn finish(self, title: &str, description: &str) -> String {
        let [width, height] = [self.width, self.height].map(number);
        let (title, description, body) = (escaped(title), escaped(description), self.body);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\" role=\"img\">\n\
             <title>{title}</title>\n<desc>{description}</desc>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{body}</svg>\n"
        )
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.body, "{element}");
    }
}

fn path_data(places: &[Point]) -> String {
    let mut data = String::with_capacity(12 * places.len());
    for (index, &(x, y)) in places.iter().enumerate() {
        let command = if index == 0 { 'M' } else { 'L' };
        let _ = write!(data, "{command}{} {}", number(x), number(y));
    }
    data
}

/// Formats with at most two decimals: a hundredth of a pixel is precise enough.
fn number(value: f64) -> String {
    let hundredths = (value * 100.0).round() as i64;
    let sign = if hundredths < 0 { "-" } else { "" };
    let (whole, rest) = (hundredths.unsigned_abs() / 100, hundredths.unsigned_abs() % 100);
    match rest {
        0 => format!("{sign}{whole}"),
        rest if rest % 10 == 0 => format!("{sign}{whole}.{}", rest / 10),
        rest => format!("{sign}{whole}.{rest:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in
            [(1.0, "1"), (-0.5, "-0.5"), (0.054, "0.05"), (12.999, "13"), (-0.001, "0"), (f64::NAN, "0")]
        {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn steps_between_dots_do_not_add_up_errors() {
        let mut canvas = Canvas::new(10.0, 10.0);
        canvas.dots(&[(1.26, 1.0), (2.51, 1.0), (3.76, 2.0)], 2.0, "#000");
        assert!(canvas.body.contains("M1.3 1h0m1.2 0h0m1.3 1h0"), "{}", canvas.body);
    }
}
