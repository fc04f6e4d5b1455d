//! Curves with the intervals that hold them. What a paper published is drawn as dots, references are dashed.

use super::{axis, colour, entry, left_out, scale, shown};
use crate::charts::axis::{Axis, drawable};
use crate::charts::canvas::{Anchor, Ink, Place, Stroke};
use crate::charts::frame::{Frame, Mark};
use crate::charts::lines::reduced;
use crate::charts::text::width;
use crate::charts::{Heading, palette};
use crate::page::{Line, Lines, Role};

pub fn draw(plot: &Lines, heading: &Heading) -> String {
    let (x, y, missing) = axes(plot);
    let heading = heading.with_remark(&left_out(missing, "point", "points"));
    if plot.series.iter().all(|line| points(line, &x, &y).is_empty()) {
        return super::empty(&heading, &x, &y);
    }
    let entry = |(index, line): (usize, &Line)| {
        entry(&line.name, colour_of(index, line), if is_dots(line) { Mark::Dot } else { Mark::Line })
    };
    let legend = plot.series.iter().enumerate().map(entry).collect();
    let mut frame = Frame::with_axes(&heading, &super::legend(legend), &x, &y);
    for (index, line) in plot.series.iter().enumerate() {
        draw_band(&mut frame, line, (&x, &y), colour_of(index, line));
    }
    draw_marks(&mut frame, plot, (&x, &y));
    for (index, line) in plot.series.iter().enumerate() {
        draw_line(&mut frame, line, (&x, &y), colour_of(index, line));
    }
    frame.finish()
}

fn is_dots(line: &Line) -> bool {
    line.role == Role::Published
}

fn colour_of(index: usize, line: &Line) -> &'static str {
    if line.role == Role::Reference { palette::OTHERS } else { colour(index) }
}

/// Both axes, and how many points have no place on them.
fn axes(plot: &Lines) -> (Axis, Axis, usize) {
    let scales = (scale(&plot.x), scale(&plot.y));
    let pairs: Vec<_> = plot.series.iter().map(|line| shown(&line.x, &line.y, scales)).collect();
    let points = || pairs.iter().flat_map(|(points, _)| points);
    let bounds = plot.series.iter().flat_map(|line| line.low.iter().chain(&line.high)).flatten().copied();
    let levels = plot.marks.iter().filter_map(|mark| mark.y);
    let x = axis(&plot.x, points().map(|point| point.0)).with_room(0.01, 0.01);
    let y = axis(&plot.y, points().map(|point| point.1).chain(bounds).chain(levels)).with_room(0.04, 0.06);
    let gaps = plot.series.iter().flat_map(|line| &line.y).filter(|value| value.is_nan()).count();
    let left_out: usize = pairs.iter().map(|(_, left_out)| left_out).sum();
    (x, y, left_out.saturating_sub(gaps))
}

fn points(line: &Line, x: &Axis, y: &Axis) -> Vec<(f64, f64)> {
    let (mut points, _) = shown(&line.x, &line.y, (x.scale, y.scale));
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// The parts of a curve: a value that is not a number is a gap, which no line crosses.
fn parts(line: &Line, x: &Axis, y: &Axis) -> Vec<Vec<(f64, f64)>> {
    let mut rows: Vec<(f64, f64)> = line.x.iter().copied().zip(line.y.iter().copied()).collect();
    rows.retain(|&(at, value)| drawable(at, x.scale) && (value.is_nan() || drawable(value, y.scale)));
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let parts = rows.split(|&(_, value)| value.is_nan());
    parts.filter(|part| !part.is_empty()).map(<[_]>::to_vec).collect()
}

fn draw_band(frame: &mut Frame, line: &Line, (x, y): (&Axis, &Axis), colour: &'static str) {
    let (Some(low), Some(high)) = (&line.low, &line.high) else { return };
    let rows = line.x.iter().zip(&line.y).zip(low.iter().zip(high));
    // Where an end of the interval has no place on the axis, the curve stands for it.
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
    let places: Vec<Place> = above.chain(below).collect();
    frame.canvas.polygon(&places, colour, 0.18);
}

fn draw_line(frame: &mut Frame, line: &Line, (x, y): (&Axis, &Axis), colour: &'static str) {
    let place = |&(at, value): &(f64, f64)| frame.place(x.share(at), y.share(value));
    let parts: Vec<Vec<Place>> =
        parts(line, x, y).iter().map(|part| part.iter().map(place).collect()).collect();
    let places: Vec<Place> = parts.concat();
    if is_dots(line) {
        frame.canvas.dots(&places, 9.0, colour);
        frame.canvas.dots(&places, 5.0, "#ffffff");
        return;
    }
    // Where a curve goes up and down within pixels, a wide line would be a block.
    let width = if places.len() > 200 { 1.2 } else { 2.0 };
    let stroke = Stroke { dashed: line.role == Role::Reference, ..Stroke::new(colour, width) };
    for part in parts.iter().filter(|part| part.len() > 1) {
        frame.canvas.open_path(&reduced(part), true, stroke);
    }
    if places.len() <= 40 && line.role != Role::Reference {
        frame.canvas.dots(&places, 6.0, colour);
    }
}

/// Names of upright marks stand one below the other, since the marks may lie close together.
fn draw_marks(frame: &mut Frame, plot: &Lines, (x, y): (&Axis, &Axis)) {
    const SIZE: f64 = 12.0;
    let stroke = Stroke { dashed: true, ..Stroke::new(palette::FAINT, 1.2) };
    let mut upright = 0;
    for mark in &plot.marks {
        if let Some(at) = mark.x.filter(|&at| drawable(at, x.scale)) {
            let (left, _) = frame.place(x.share(at), 0.0);
            frame.canvas.line((left, frame.top), (left, frame.bottom), stroke);
            let fits = left - width(&mark.name, SIZE) - 8.0 >= frame.left;
            let (anchor, shift) = if fits { (Anchor::End, -6.0) } else { (Anchor::Start, 6.0) };
            let ink = Ink::new(SIZE, palette::TEXT, anchor);
            frame.canvas.text_over((left + shift, frame.top + 14.0 + 17.0 * upright as f64), ink, &mark.name);
            upright += 1;
        }
        if let Some(level) = mark.y.filter(|&level| drawable(level, y.scale)) {
            let (_, top) = frame.place(0.0, y.share(level));
            frame.canvas.line((frame.left, top), (frame.right, top), stroke);
            let ink = Ink::new(SIZE, palette::TEXT, Anchor::Start);
            frame.canvas.text_over((frame.left + 6.0, top - 5.0), ink, &mark.name);
        }
    }
}
