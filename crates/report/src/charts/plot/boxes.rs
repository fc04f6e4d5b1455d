//! Box plots side by side: quartiles, whiskers, what lies beyond them, and what there would be without noise.

use super::{axis, colour, entry, left_out};
use crate::charts::axis::{Axis, drawable};
use crate::charts::canvas::{Place, Stroke};
use crate::charts::frame::{Entry, Frame, Mark};
use crate::charts::{Heading, palette};
use crate::page::{BoxSeries, Boxes};
use std::collections::BTreeSet;

/// The narrowest and the widest box, in pixels.
const NARROWEST: f64 = 3.0;
const WIDEST: f64 = 34.0;

/// One box that has a place on the axes.
struct Drawn {
    x: f64,
    low: f64,
    q1: f64,
    median: f64,
    q3: f64,
    high: f64,
    interval: Option<(f64, f64)>,
}

pub fn draw(plot: &Boxes, heading: &Heading) -> String {
    let (x, y) = axes(plot);
    let boxes: Vec<Vec<Drawn>> = plot.series.iter().map(|series| drawn(series, &x, &y)).collect();
    let all: usize = plot.series.iter().map(|series| series.x.len()).sum();
    let missing = all - boxes.iter().map(Vec::len).sum::<usize>();
    let heading = heading.with_remark(&left_out(missing, "box", "boxes"));
    if boxes.iter().all(Vec::is_empty) {
        return super::empty(&heading, &x, &y);
    }
    let mut frame = Frame::with_axes(&heading, &legend(plot), &x, &y);
    let room = room(&frame, &boxes, &x);
    for (index, series) in plot.series.iter().enumerate() {
        draw_reference(&mut frame, series, (&x, &y), colour(index));
    }
    for (index, (series, boxes)) in plot.series.iter().zip(&boxes).enumerate() {
        // Several series share the place at each x.
        let shift = (index as f64 - (plot.series.len() as f64 - 1.0) / 2.0) * room;
        let half = (0.4 * room).clamp(NARROWEST / 2.0, WIDEST / 2.0);
        draw_outliers(&mut frame, series, (&x, &y), shift, colour(index));
        boxes.iter().for_each(|one| draw_box(&mut frame, one, (&x, &y), (shift, half), colour(index)));
    }
    frame.finish()
}

fn axes(plot: &Boxes) -> (Axis, Axis) {
    let xs = plot.series.iter().flat_map(|series| series.x.iter().copied());
    let values = plot.series.iter().flat_map(|series| {
        let columns = [&series.low, &series.q1, &series.median, &series.q3, &series.high, &series.outlier_y];
        columns.into_iter().chain(&series.reference).flatten().copied()
    });
    (axis(&plot.x, xs).with_room(0.04, 0.04), axis(&plot.y, values).with_room(0.04, 0.04))
}

fn legend(plot: &Boxes) -> Vec<Entry> {
    let names = plot.series.iter().enumerate();
    let mut entries: Vec<Entry> =
        names.map(|(index, series)| entry(&series.name, colour(index), Mark::Area)).collect();
    if plot.series.iter().any(|series| series.reference.is_some()) {
        entries.push(entry("without noise", palette::FAINT, Mark::Line));
    }
    super::legend(entries)
}

fn drawn(series: &BoxSeries, x: &Axis, y: &Axis) -> Vec<Drawn> {
    let at =
        |column: &[f64], index: usize| column.get(index).copied().filter(|&value| drawable(value, y.scale));
    let one = |(index, &place): (usize, &f64)| {
        let interval = at(&series.median_low, index).zip(at(&series.median_high, index));
        Some(Drawn {
            x: drawable(place, x.scale).then_some(place)?,
            low: at(&series.low, index)?,
            q1: at(&series.q1, index)?,
            median: at(&series.median, index)?,
            q3: at(&series.q3, index)?,
            high: at(&series.high, index)?,
            interval,
        })
    };
    series.x.iter().enumerate().filter_map(one).collect()
}

/// The room of one box, in pixels: neighbours must not meet.
fn room(frame: &Frame, boxes: &[Vec<Drawn>], x: &Axis) -> f64 {
    let places = boxes.iter().flatten().map(|one| (x.share(one.x) * frame.width() * 16.0).round() as i64);
    let places: BTreeSet<i64> = places.collect();
    let pairs = places.iter().zip(places.iter().skip(1));
    let nearest = pairs.map(|(one, next)| (next - one) as f64 / 16.0).fold(f64::INFINITY, f64::min);
    (0.9 * nearest.min(80.0)) / boxes.len().max(1) as f64
}

fn draw_box(
    frame: &mut Frame,
    one: &Drawn,
    (x, y): (&Axis, &Axis),
    (shift, half): (f64, f64),
    colour: &'static str,
) {
    let middle = frame.place(x.share(one.x), 0.0).0 + shift;
    let level = |frame: &Frame, value: f64| frame.place(0.0, y.share(value)).1;
    let [low, q1, median, q3, high] =
        [one.low, one.q1, one.median, one.q3, one.high].map(|value| level(frame, value));
    let thin = Stroke::new(colour, 1.2);
    for (from, to) in [(low, q1), (q3, high)] {
        frame.canvas.line((middle, from), (middle, to), thin);
    }
    for end in [low, high] {
        frame.canvas.line((middle - half / 2.0, end), (middle + half / 2.0, end), thin);
    }
    let corners: [Place; 5] = [
        (middle - half, q1),
        (middle + half, q1),
        (middle + half, q3),
        (middle - half, q3),
        (middle - half, q1),
    ];
    frame.canvas.polygon(&corners, "#ffffff", 1.0);
    frame.canvas.polygon(&corners, colour, 0.25);
    frame.canvas.open_path(&corners, true, thin);
    if let Some((least, most)) = one.interval {
        let ends = [level(frame, least), level(frame, most)].map(|at| (middle, at));
        frame.canvas.line(ends[0], ends[1], Stroke::new(palette::TEXT, 1.6));
    }
    frame.canvas.line((middle - half, median), (middle + half, median), Stroke::new(colour, 2.6));
}

/// Dots that would share a pixel are drawn once.
fn draw_outliers(
    frame: &mut Frame,
    series: &BoxSeries,
    (x, y): (&Axis, &Axis),
    shift: f64,
    colour: &'static str,
) {
    let (pairs, _) = super::shown(&series.outlier_x, &series.outlier_y, (x.scale, y.scale));
    let place = |(at, value): (f64, f64)| frame.place(x.share(at), y.share(value));
    let places =
        pairs.into_iter().map(place).map(|(left, top)| ((left + shift).round() as i64, top.round() as i64));
    let places: BTreeSet<(i64, i64)> = places.collect();
    let places: Vec<Place> = places.into_iter().map(|(left, top)| (left as f64, top as f64)).collect();
    if !places.is_empty() {
        frame.canvas.dots(&places, 3.2, colour);
    }
}

fn draw_reference(frame: &mut Frame, series: &BoxSeries, (x, y): (&Axis, &Axis), colour: &'static str) {
    let Some(reference) = &series.reference else { return };
    let (mut pairs, _) = super::shown(&series.x, reference, (x.scale, y.scale));
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let places: Vec<Place> =
        pairs.into_iter().map(|(at, value)| frame.place(x.share(at), y.share(value))).collect();
    if places.len() > 1 {
        frame.canvas.open_path(&places, true, Stroke { dashed: true, ..Stroke::new(colour, 1.4) });
    }
}
