//! Pictures as SVG text.
//!
//! A thousand dots are one path, not a thousand elements: ten bytes each instead of ninety.

use super::canvas::{Anchor, CORNER, DASHES, Drawing, HALO, Point, Setting, Shape, Stroke, Text};
use super::palette::PAPER;
use super::text::escaped;
use std::fmt::{self, Write};

/// Common fonts; the first is bundled for PNG and PDF.
const FONTS: &str = "'Noto Sans', 'Segoe UI', Helvetica, Arial, sans-serif";

/// The whole document.
pub fn to_svg(drawing: &Drawing) -> String {
    let [width, height] = [drawing.width, drawing.height].map(Number);
    let (title, description) = (escaped(&drawing.title), escaped(&drawing.description));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\" role=\"img\">\n\
         <title>{title}</title>\n<desc>{description}</desc>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{PAPER}\"/>\n"
    );
    for shape in &drawing.shapes {
        // Writing to a string cannot fail.
        let _ = writeln!(svg, "{}", Element(shape));
    }
    svg.push_str("</svg>\n");
    svg
}

struct Element<'a>(&'a Shape);

impl fmt::Display for Element<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Shape::Lines { places, round, stroke } => write_lines(out, places, *round, *stroke),
            Shape::Polygon { places, colour, opacity } => {
                let (data, opacity) = (path_data(places), Number(*opacity));
                write!(out, "<path d=\"{data}Z\" fill=\"{colour}\" fill-opacity=\"{opacity}\"/>")
            }
            Shape::Rectangle { corner, size, colour } => {
                write_box(out, *corner, *size)?;
                write!(out, " fill=\"{colour}\"/>")
            }
            Shape::Outline { corner, size, colour } => {
                write_box(out, *corner, *size)?;
                write!(out, " rx=\"{}\" fill=\"none\" stroke=\"{colour}\"/>", Number(CORNER))
            }
            Shape::Dots { places, diameter, colour } => write!(
                out,
                "<path d=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{}\" stroke-linecap=\"round\"/>",
                dot_data(places),
                Number(*diameter)
            ),
            Shape::Text(text) => write_text(out, text),
        }
    }
}

fn write_lines(out: &mut fmt::Formatter<'_>, places: &[Point], round: bool, stroke: Stroke) -> fmt::Result {
    let (data, colour, width) = (path_data(places), stroke.colour, Number(stroke.width));
    write!(out, "<path d=\"{data}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"")?;
    if stroke.dashed {
        let [dash, gap] = DASHES;
        write!(out, " stroke-dasharray=\"{dash} {gap}\"")?;
    }
    if round {
        write!(out, " stroke-linejoin=\"round\" stroke-linecap=\"round\"")?;
    }
    write!(out, "/>")
}

fn write_box(out: &mut fmt::Formatter<'_>, (x, y): Point, (width, height): (f64, f64)) -> fmt::Result {
    let [x, y, width, height] = [x, y, width, height].map(Number);
    write!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"")
}

fn write_text(out: &mut fmt::Formatter<'_>, text: &Text) -> fmt::Result {
    let ([x, y, size], colour) = ([text.place.0, text.place.1, text.ink.size].map(Number), text.ink.colour);
    write!(out, "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{colour}\"")?;
    out.write_str(match text.ink.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    })?;
    if text.ink.bold {
        write!(out, " font-weight=\"700\"")?;
    }
    match text.setting {
        Setting::Level => {}
        Setting::Upward => write!(out, " transform=\"rotate(-90 {x} {y})\"")?,
        Setting::Over => {
            let width = Number(HALO);
            write!(out, " stroke=\"{PAPER}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"")?;
            write!(out, " paint-order=\"stroke\"")?;
        }
    }
    write!(out, ">{}</text>", escaped(&text.content))
}

fn path_data(places: &[Point]) -> String {
    let mut data = String::with_capacity(12 * places.len());
    for (index, &(x, y)) in places.iter().enumerate() {
        let command = if index == 0 { 'M' } else { 'L' };
        let _ = write!(data, "{command}{} {}", Number(x), Number(y));
    }
    data
}

/// Each dot is a zero-length line with round ends, relative to the one before. Dots lie at tenths of a pixel,
/// so relative steps do not accumulate errors.
fn dot_data(places: &[Point]) -> String {
    let mut data = String::with_capacity(8 * places.len());
    let mut before: Option<Point> = None;
    for &(x, y) in places {
        let (command, dx, dy) = match before {
            None => ('M', x, y),
            Some((left, top)) => ('m', x - left, y - top),
        };
        let _ = write!(data, "{command}{} {}h0", Number(dx), Number(dy));
        before = Some((x, y));
    }
    data
}

/// Written with at most two decimals: a hundredth of a pixel is precise enough. PDF uses it as well.
pub(super) struct Number(pub f64);

impl fmt::Display for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = (self.0 * 100.0).round() as i64;
        let sign = if hundredths < 0 { "-" } else { "" };
        let (whole, rest) = (hundredths.unsigned_abs() / 100, hundredths.unsigned_abs() % 100);
        match rest {
            0 => write!(out, "{sign}{whole}"),
            rest if rest % 10 == 0 => write!(out, "{sign}{whole}.{}", rest / 10),
            rest => write!(out, "{sign}{whole}.{rest:02}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::canvas::Canvas;

    #[test]
    fn numbers_are_short() {
        for (value, text) in
            [(1.0, "1"), (-0.5, "-0.5"), (0.054, "0.05"), (12.999, "13"), (-0.001, "0"), (f64::NAN, "0")]
        {
            assert_eq!(Number(value).to_string(), text);
        }
    }

    #[test]
    fn steps_between_dots_do_not_add_up_errors() {
        let mut canvas = Canvas::new(10.0, 10.0);
        canvas.dots(&[(1.26, 1.0), (2.51, 1.0), (3.76, 2.0)], 2.0, PAPER);
        let svg = to_svg(&canvas.finish(String::new(), String::new()));
        assert!(svg.contains("M1.3 1h0m1.2 0h0m1.3 1h0"), "{svg}");
    }
}
