//! Curves with their confidence bands. Published values are drawn as dots, references are dashed.

use super::{entry, left_out, marks, shown};
use crate::charts::Heading;
use crate::charts::axis::{Axis, Extent, drawable};
use crate::charts::canvas::{Drawing, Point, Stroke};
use crate::charts::frame::{Frame, Mark};
use crate::charts::palette::{self, Colour};
use crate::charts::reduced::reduced;
use crate::page::{Line, Lines, Role};

pub fn draw(plot: &Lines, heading: &Heading) -> Drawing {
    let (x, y) = axes(plot);
    let scales = (x.scale, y.scale);
    let rows = plot.series.iter().map(|line| shown(&line.x, &line.y, scales));
    let (points, missing) =
        rows.fold((0, 0), |(points, missing), (here, left_out)| (points + here.len(), missing + left_out));
    let gaps = plot.series.iter().flat_map(|line| &line.y).filter(|value| value.is_nan()).count();
    let heading = heading.with_remark(&left_out(missing.saturating_sub(gaps), "point", "points"));
    if points == 0 {
        return super::empty(&heading, &x, &y);
    }
    let looks = looks(plot);
    let legend = plot.series.iter().zip(&looks).map(|(line, stroke)| {
        entry(&line.name, stroke.colour, if is_dots(line) { Mark::Dot } else { Mark::Line })
    });
    let mut frame = Frame::with_axes(&heading, &super::legend(legend.collect()), &x, &y);
    for (line, stroke) in plot.series.iter().zip(&looks) {
        draw_band(&mut frame, line, (&x, &y), stroke.colour);
    }
    let mut curves = Vec::new();
    for (line, stroke) in plot.series.iter().zip(&looks) {
        draw_line(&mut frame, line, (&x, &y), *stroke);
        if !plot.marks.is_empty() {
            let place = |&(at, value): &(f64, f64)| frame.place(x.share(at), y.share(value));
            for part in parts(line, &x, &y) {
                let places = reduced(&part.iter().map(place).collect::<Vec<Point>>());
                curves.extend(places.windows(2).map(|pair| (pair[0], pair[1])));
            }
        }
    }
    marks::draw(&mut frame, &plot.marks, &curves, (&x, &y), palette::FAINT);
    frame.finish()
}

fn is_dots(line: &Line) -> bool {
    line.role == Role::Published
}

/// References have a colour of their own; the others take the series colours in order.
fn looks(plot: &Lines) -> Vec<Stroke> {
    let mut next = 0;
    let look = |line: &Line| {
        if line.role == Role::Reference {
            return Stroke { dashed: true, ..Stroke::new(palette::REFERENCE, 1.5) };
        }
        next += 1;
        Stroke { dashed: palette::is_again(next - 1), ..Stroke::new(palette::series(next - 1), 2.0) }
    };
    plot.series.iter().map(look).collect()
}

pub fn axes(plot: &Lines) -> (Axis, Axis) {
    let places = plot.series.iter().flat_map(|line| line.x.iter().copied());
    let across = Extent::new(&plot.x, places.chain(plot.marks.iter().filter_map(|mark| mark.x)));
    let bounds = plot.series.iter().flat_map(|line| line.low.iter().chain(&line.high)).flatten();
    let values = plot.series.iter().flat_map(|line| &line.y).chain(bounds).copied();
    let up = Extent::new(&plot.y, values.chain(plot.marks.iter().filter_map(|mark| mark.y)));
    let is_near_zero = up.low >= 0.0 && up.low < 0.4 * up.high;
    let up = if is_near_zero { up.with_zero(0.06) } else { up.padded(0.06) };
    (Axis::new(&plot.x, across.padded(0.03)), Axis::new(&plot.y, up))
}

/// Splits a curve at values that are not numbers: no line crosses such a gap.
fn parts(line: &Line, x: &Axis, y: &Axis) -> Vec<Vec<(f64, f64)>> {
    let mut rows: Vec<(f64, f64)> = line.x.iter().copied().zip(line.y.iter().copied()).collect();
    rows.retain(|&(at, value)| drawable(at, x.scale) && (value.is_nan() || drawable(value, y.scale)));
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let parts = rows.split(|&(_, value)| value.is_nan());
    parts.filter(|part| !part.is_empty()).map(<[_]>::to_vec).collect()
}

fn draw_band(frame: &mut Frame, line: &Line, (x, y): (&Axis, &Axis), colour: Colour) {
    let (Some(low), Some(high)) = (&line.low, &line.high) else { return };
    let rows = line.x.iter().zip(&line.y).zip(low.iter().zip(high));
    // An end of the interval that cannot be drawn is replaced by the value of the curve.
    let or = |end: f64, value: f64| if drawable(end, y.scale) { end } else { value };
    let mut rows: Vec<(f64, f64, f64)> = rows
        .filter(|((at, value), _)| drawable(**at, x.scale) && drawable(**value, y.scale))
        .map(|((&at, &value), (&low, &high))| (at, or(low, value), or(high, value)))
        .collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    if is_dots(line) || rows.len() == 1 {
        for (at, low, high) in rows {
            let ends = [low, high].map(|end| frame.place(x.share(at), y.share(end)));
            frame.canvas.line(ends[0], ends[1], Stroke::new(colour, 1.4));
        }
        return;
    }
    let above = rows.iter().map(|row| frame.place(x.share(row.0), y.share(row.2)));
    let below = rows.iter().rev().map(|row| frame.place(x.share(row.0), y.share(row.1)));
    let places: Vec<Point> = above.chain(below).collect();
    frame.canvas.polygon(&places, colour, 0.18);
}

fn draw_line(frame: &mut Frame, line: &Line, (x, y): (&Axis, &Axis), stroke: Stroke) {
    let place = |&(at, value): &(f64, f64)| frame.place(x.share(at), y.share(value));
    let parts: Vec<Vec<Point>> =
        parts(line, x, y).iter().map(|part| part.iter().map(place).collect()).collect();
    let places: Vec<Point> = parts.concat();
    if is_dots(line) {
        frame.canvas.dots(&places, 9.0, stroke.colour);
        frame.canvas.dots(&places, 5.0, palette::PAPER);
        return;
    }
    // A wide line would turn rapid oscillations into a block.
    let stroke = Stroke { width: if places.len() > 200 { 1.2 } else { stroke.width }, ..stroke };
    for part in parts.iter().filter(|part| part.len() > 1) {
        frame.canvas.open_path(&reduced(part), true, stroke);
    }
    let is_few = places.len() <= 40 && line.role != Role::Reference;
    // A line of one point would be invisible.
    if (is_few || places.len() == 1) && !places.is_empty() {
        frame.canvas.dots(&places, 6.0, stroke.colour);
    }
}
