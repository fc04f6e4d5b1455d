//! Box plots: quartiles, whiskers, outliers, and the result without noise. Boxes of several series at one
//! position are drawn side by side around it; a single box is centred on it.

use super::{entry, left_out};
use crate::charts::Heading;
use crate::charts::axis::{Axis, Extent, Range, coordinate, drawable};
use crate::charts::canvas::{Drawing, Point, Stroke};
use crate::charts::frame::{Entry, Frame, Mark};
use crate::charts::palette::{self, Colour};
use crate::page::{BoxSeries, Boxes};
use std::collections::BTreeSet;

/// The largest width of a box with its margin, in pixels.
const WIDEST: f64 = 30.0;
/// Share of the distance between two positions that boxes fill.
const FILLED: f64 = 0.72;

/// A box whose values can all be drawn.
struct Drawn {
    x: f64,
    low: f64,
    q1: f64,
    median: f64,
    q3: f64,
    high: f64,
    interval: Option<(f64, f64)>,
}

pub fn draw(plot: &Boxes, heading: &Heading) -> Drawing {
    let (x, y) = axes(plot);
    let boxes: Vec<Vec<Drawn>> = plot.series.iter().map(|series| drawn(series, &x, &y)).collect();
    let all: usize = plot.series.iter().map(|series| series.x.len()).sum();
    let missing = all - boxes.iter().map(Vec::len).sum::<usize>();
    let heading = heading.with_remark(&left_out(missing, "box", "boxes"));
    if boxes.iter().all(Vec::is_empty) {
        return super::empty(&heading, &x, &y);
    }
    let mut frame = Frame::with_axes(&heading, &legend(plot), &x, &y);
    let slots = Slots::new(plot, &boxes, &frame, &x);
    for (index, (series, boxes)) in plot.series.iter().zip(&boxes).enumerate() {
        let stroke = Stroke { dashed: palette::is_again(index), ..Stroke::new(palette::series(index), 1.2) };
        draw_outliers(&mut frame, series, (&x, &y), |at| slots.shift(index, at), stroke.colour);
        for one in boxes {
            draw_box(&mut frame, one, (&x, &y), (slots.shift(index, one.x), slots.half()), stroke);
        }
    }
    plot.series.iter().for_each(|series| draw_reference(&mut frame, series, (&x, &y)));
    frame.finish()
}

/// Leaves a little more than half the distance between positions beyond the outermost ones.
pub fn axes(plot: &Boxes) -> (Axis, Axis) {
    let places = plot.series.iter().flat_map(|series| series.x.iter().copied());
    let across = Extent::new(&plot.x, places).padded(0.0);
    let margin = 0.6 * spacing(plot).min(across.high - across.low);
    let across = Range { low: across.low - margin, high: across.high + margin };
    let values = plot.series.iter().flat_map(|series| {
        let columns = [&series.low, &series.high, &series.outlier_y];
        columns.into_iter().chain(&series.reference).flatten().copied()
    });
    let up = Extent::new(&plot.y, values);
    let up = if up.low >= 0.0 { up.with_zero(0.05) } else { up.padded(0.05) };
    (Axis::new(&plot.x, across), Axis::new(&plot.y, up))
}

/// The smallest distance of two places, in the coordinate of the axis.
fn spacing(plot: &Boxes) -> f64 {
    let places = plot.series.iter().flat_map(|series| series.x.iter().copied());
    let places = places.filter(|&place| drawable(place, plot.x.scale));
    let mut places: Vec<f64> = places.map(|place| coordinate(place, plot.x.scale)).collect();
    places.sort_by(f64::total_cmp);
    let gaps = places.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 1e-9);
    let least = gaps.fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.5 }
}

fn legend(plot: &Boxes) -> Vec<Entry> {
    let names = plot.series.iter().enumerate();
    let mut entries: Vec<Entry> =
        names.map(|(index, series)| entry(&series.name, palette::series(index), Mark::Area)).collect();
    if plot.series.iter().any(|series| series.reference.is_some()) {
        entries.push(entry("without noise", palette::REFERENCE, Mark::Line));
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

/// The pairs of position and series that have a box, sorted, and the width of one box.
struct Slots {
    standing: Vec<(f64, usize)>,
    each: f64,
}

impl Slots {
    fn new(plot: &Boxes, boxes: &[Vec<Drawn>], frame: &Frame, x: &Axis) -> Slots {
        let of_series = |(index, boxes): (usize, &Vec<Drawn>)| {
            boxes.iter().map(move |one| (one.x, index)).collect::<Vec<_>>()
        };
        let mut standing: Vec<(f64, usize)> = boxes.iter().enumerate().flat_map(of_series).collect();
        standing.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        standing.dedup();
        let most = standing.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).max().unwrap_or(1);
        let room = FILLED * spacing(plot) * frame.width() / (x.range.high - x.range.low);
        Slots { standing, each: WIDEST.min(room / most as f64) }
    }

    /// The offset of a series' box from its position, in pixels.
    fn shift(&self, series: usize, x: f64) -> f64 {
        let from = self.standing.partition_point(|(at, _)| *at < x);
        let to = self.standing.partition_point(|(at, _)| *at <= x);
        let here = self.standing.get(from..to).unwrap_or(&[]);
        match here.iter().position(|(_, other)| *other == series) {
            Some(place) => (place as f64 - (here.len() as f64 - 1.0) / 2.0) * self.each,
            None => 0.0,
        }
    }

    fn half(&self) -> f64 {
        (0.41 * self.each).max(0.75)
    }
}

fn draw_box(frame: &mut Frame, one: &Drawn, (x, y): (&Axis, &Axis), (shift, half): (f64, f64), thin: Stroke) {
    let middle = frame.place(x.share(one.x), 0.0).0 + shift;
    let level = |frame: &Frame, value: f64| frame.place(0.0, y.share(value)).1;
    let [low, q1, median, q3, high] =
        [one.low, one.q1, one.median, one.q3, one.high].map(|value| level(frame, value));
    let solid = Stroke { dashed: false, ..thin };
    for (from, to) in [(low, q1), (q3, high)] {
        frame.canvas.line((middle, from), (middle, to), thin);
    }
    for end in [low, high] {
        frame.canvas.line((middle - half / 2.0, end), (middle + half / 2.0, end), solid);
    }
    let corners: [Point; 5] = [
        (middle - half, q1),
        (middle + half, q1),
        (middle + half, q3),
        (middle - half, q3),
        (middle - half, q1),
    ];
    frame.canvas.polygon(&corners, palette::PAPER, 1.0);
    frame.canvas.polygon(&corners, thin.colour, 0.25);
    frame.canvas.open_path(&corners, true, thin);
    if let Some((least, most)) = one.interval {
        let (bottom, top) = (level(frame, least), level(frame, most));
        let across = 0.45 * half;
        let corners = [
            (middle - across, bottom),
            (middle + across, bottom),
            (middle + across, top),
            (middle - across, top),
        ];
        frame.canvas.polygon(&corners, thin.colour, 0.5);
    }
    frame.canvas.line((middle - half, median), (middle + half, median), Stroke { width: 2.6, ..solid });
}

/// Dots that would share a pixel are drawn once.
fn draw_outliers(
    frame: &mut Frame,
    series: &BoxSeries,
    (x, y): (&Axis, &Axis),
    shift: impl Fn(f64) -> f64,
    colour: Colour,
) {
    let (pairs, _) = super::shown(&series.outlier_x, &series.outlier_y, (x.scale, y.scale));
    let place = |(at, value): (f64, f64)| {
        let (left, top) = frame.place(x.share(at), y.share(value));
        ((left + shift(at)).round() as i64, top.round() as i64)
    };
    let places: BTreeSet<(i64, i64)> = pairs.into_iter().map(place).collect();
    let places: Vec<Point> = places.into_iter().map(|(left, top)| (left as f64, top as f64)).collect();
    if !places.is_empty() {
        frame.canvas.dots(&places, 3.2, colour);
    }
}

fn draw_reference(frame: &mut Frame, series: &BoxSeries, (x, y): (&Axis, &Axis)) {
    let Some(reference) = &series.reference else { return };
    let (mut pairs, _) = super::shown(&series.x, reference, (x.scale, y.scale));
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let places: Vec<Point> =
        pairs.into_iter().map(|(at, value)| frame.place(x.share(at), y.share(value))).collect();
    if places.len() > 1 {
        frame.canvas.open_path(&places, true, Stroke::new(palette::REFERENCE, 1.75));
    }
    if !places.is_empty() {
        frame.canvas.dots(&places, 4.0, palette::REFERENCE);
    }
}
