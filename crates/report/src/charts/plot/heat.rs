//! Values over two axes, as colours from light to dark.

use super::left_out;
use crate::charts::Heading;
use crate::charts::axis::{Axis, Extent, Range, coordinate, drawable};
use crate::charts::canvas::{Anchor, Drawing, Ink};
use crate::charts::frame::{Frame, TICK};
use crate::charts::number::brief;
use crate::charts::palette::{self, Colour, HEAT};
use crate::charts::text::{shortened, width};
use crate::page::{self, Heat};

/// Width reserved at the right for the colour scale.
const SCALE_ROOM: f64 = 110.0;
/// Limit on the cells drawn: more would be smaller than a pixel.
const MOST_CELLS: usize = 40_000;
/// Minimum size of cells that show their numbers.
const ROOM_FOR_NUMBERS: (f64, f64) = (46.0, 18.0);

pub fn draw(plot: &Heat, heading: &Heading) -> Drawing {
    let (x, y) = axes(plot);
    let value = Axis::new(&plot.value, Extent::new(&plot.value, plot.values.iter().copied()).padded(0.0));
    let cells = cells(plot, (&x, &y), &value);
    let missing = plot.values.len().saturating_sub(cells.len() + empty_diagonal(plot) + without_name(plot));
    let heading = heading.with_remark(&left_out(missing, "value", "values"));
    if cells.is_empty() {
        return super::empty(&heading, &x, &y);
    }
    let labels = y.ticks(8.0).into_iter().filter_map(|tick| tick.label);
    let widest = labels.map(|label| width(&label, TICK)).fold(20.0, f64::max);
    let mut frame = Frame::new(&heading, &[], widest);
    frame.right -= SCALE_ROOM;
    frame.draw_y(&y);
    frame.draw_x(&x);
    for cell in &cells {
        draw_cell(&mut frame, cell, &value);
    }
    draw_scale(&mut frame, &value);
    frame.finish()
}

/// Cells reach halfway to their neighbours; the outermost extend as far outwards.
pub fn axes(plot: &Heat) -> (Axis, Axis) {
    let axis = |axis: &page::Axis, centres: &[f64]| {
        let edges = edges(centres, axis);
        let ends = [edges.first(), edges.last()].map(|end| end.copied().filter(|end| end.is_finite()));
        let range = match ends {
            [Some(one), Some(other)] if one != other => Range { low: one.min(other), high: one.max(other) },
            _ => Extent::new(axis, centres.iter().copied()).padded(0.0),
        };
        let ends = [centres.first(), centres.last()].into_iter().flatten().copied();
        Axis::new(axis, range).with_ends(&ends.collect::<Vec<f64>>())
    };
    (axis(&plot.x, &plot.xs), axis(&plot.y, &plot.ys))
}

/// Counts the empty diagonal cells of a map of things with each other. They do not count as missing.
fn empty_diagonal(plot: &Heat) -> usize {
    let side = plot.xs.len();
    let is_empty = |place: &usize| plot.values.get(place * side + place).is_some_and(|value| value.is_nan());
    if plot.xs == plot.ys { (0..side).filter(is_empty).count() } else { 0 }
}

/// Counts the cells of unnamed columns, which only separate others. They do not count as missing.
fn without_name(plot: &Heat) -> usize {
    plot.x.names.iter().filter(|name| name.is_empty()).count() * plot.ys.len()
}

/// Edges as shares of the axes, and the value.
struct Cell {
    x: (f64, f64),
    y: (f64, f64),
    value: f64,
}

fn cells(plot: &Heat, (x, y): (&Axis, &Axis), value: &Axis) -> Vec<Cell> {
    let (columns, rows) = (edges(&plot.xs, &plot.x), edges(&plot.ys, &plot.y));
    let span = |edges: &[f64], axis: &Axis, index: usize| {
        let ends = [*edges.get(index)?, *edges.get(index + 1)?];
        let [one, other] = ends.map(|end| end.is_finite().then(|| axis.share_of(end)));
        one.zip(other).map(|(one, other)| (one.min(other), one.max(other)))
    };
    let mut cells = Vec::new();
    for (index, &number) in plot.values.iter().enumerate().take(MOST_CELLS) {
        let (Some(column), Some(row)) = (index.checked_rem(plot.xs.len()), index.checked_div(plot.xs.len()))
        else {
            break;
        };
        let place = span(&columns, x, column).zip(span(&rows, y, row));
        if let Some((x, y)) = place.filter(|_| drawable(number, value.scale)) {
            cells.push(Cell { x, y, value: number });
        }
    }
    cells
}

/// The edges of the cells in the coordinate of the axis, one more than there are cells.
fn edges(centres: &[f64], axis: &page::Axis) -> Vec<f64> {
    let at = |&value: &f64| {
        if drawable(value, axis.scale) { coordinate(value, axis.scale) } else { f64::NAN }
    };
    let at: Vec<f64> = centres.iter().map(at).collect();
    match at[..] {
        [] => Vec::new(),
        [only] => vec![only - 0.5, only + 0.5],
        [first, second, ..] => {
            let (last, before) = (at[at.len() - 1], at[at.len() - 2]);
            let between = at.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0);
            let ends = [first - (second - first) / 2.0, last + (last - before) / 2.0];
            std::iter::once(ends[0]).chain(between).chain([ends[1]]).collect()
        }
    }
}

fn draw_cell(frame: &mut Frame, cell: &Cell, value: &Axis) {
    let ((left, bottom), (right, top)) = (frame.place(cell.x.0, cell.y.0), frame.place(cell.x.1, cell.y.1));
    let share = value.share(cell.value);
    // Neighbours overlap by half a pixel, so that no background shows between them.
    frame.canvas.rectangle((left, top), (right - left + 0.5, bottom - top + 0.5), shade(share));
    if right - left >= ROOM_FOR_NUMBERS.0 && bottom - top >= ROOM_FOR_NUMBERS.1 {
        let colour = if share > 0.5 { palette::PAPER } else { palette::TEXT };
        let ink = Ink::new(11.0, colour, Anchor::Middle);
        let place = ((left + right) / 2.0, (top + bottom) / 2.0 + 4.0);
        frame.canvas.text(place, ink, &brief(cell.value, value.unit));
    }
}

fn draw_scale(frame: &mut Frame, value: &Axis) {
    const STEPS: usize = 64;
    let (left, height) = (frame.right + 22.0, frame.height() - 26.0);
    let top = frame.top + 26.0;
    for step in 0..STEPS {
        let from = top + height * (1.0 - (step + 1) as f64 / STEPS as f64);
        let colour = shade((step as f64 + 0.5) / STEPS as f64);
        frame.canvas.rectangle((left, from), (14.0, height / STEPS as f64 + 0.5), colour);
    }
    let ink = Ink::new(11.0, palette::TEXT, Anchor::Start);
    for tick in value.ticks(6.0) {
        if let Some(label) = tick.label {
            frame.canvas.text((left + 19.0, top + height * (1.0 - tick.share) + 4.0), ink, &label);
        }
    }
    let title = shortened(&value.title, 11.0, SCALE_ROOM);
    frame.canvas.text((left, frame.top + 10.0), ink, &title);
}

fn shade(share: f64) -> Colour {
    let position = share.clamp(0.0, 1.0) * (HEAT.len() - 1) as f64;
    let index = (position as usize).min(HEAT.len() - 2);
    let rest = position - index as f64;
    let (from, to) = (HEAT[index], HEAT[index + 1]);
    let mix = |from: u8, to: u8| (f64::from(from) + rest * (f64::from(to) - f64::from(from))).round() as u8;
    Colour(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}
