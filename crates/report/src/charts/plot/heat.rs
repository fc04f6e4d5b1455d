//! Values over two axes, as colours from dark to light.

use super::{axis, left_out};
use crate::charts::axis::{Axis, drawable};
use crate::charts::canvas::{Anchor, Ink};
use crate::charts::frame::{Frame, TICK};
use crate::charts::text::width;
use crate::charts::{Heading, palette};
use crate::page::Heat;

/// Room at the right for what colours mean.
const SCALE_ROOM: f64 = 110.0;
/// A cell smaller than a pixel could not be seen; cells beyond are left out.
const MOST_CELLS: usize = 40_000;
/// Cells at least this large have their numbers in them.
const ROOM_FOR_NUMBERS: (f64, f64) = (46.0, 18.0);

/// Dark violet over green to yellow, evenly in lightness, so that it also reads in grey: Smith and van der
/// Walt's viridis at nine places.
const COLOURS: [(u8, u8, u8); 9] = [
    (68, 1, 84),
    (71, 44, 122),
    (59, 81, 139),
    (44, 113, 142),
    (33, 144, 141),
    (39, 173, 129),
    (92, 200, 99),
    (170, 220, 50),
    (253, 231, 37),
];

pub fn draw(plot: &Heat, heading: &Heading) -> String {
    let x = axis(&plot.x, plot.xs.iter().copied()).with_room(half(plot.xs.len()), half(plot.xs.len()));
    let y = axis(&plot.y, plot.ys.iter().copied()).with_room(half(plot.ys.len()), half(plot.ys.len()));
    let value = axis(&plot.value, plot.values.iter().copied());
    let cells = cells(plot, (&x, &y), &value);
    let missing = plot.values.len().saturating_sub(cells.len() + empty_diagonal(plot) + without_name(plot));
    let heading = heading.with_remark(&left_out(missing, "value", "values"));
    if cells.is_empty() {
        return super::empty(&heading, &x, &y);
    }
    let labels = y.ticks(8).into_iter().filter_map(|tick| tick.label);
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

/// What has no value with itself, where a map is of things with each other: nothing is missing there.
fn empty_diagonal(plot: &Heat) -> usize {
    let side = plot.xs.len();
    let is_empty = |place: &usize| plot.values.get(place * side + place).is_some_and(|value| value.is_nan());
    if plot.xs == plot.ys { (0..side).filter(is_empty).count() } else { 0 }
}

/// Cells of columns that only keep others apart: nothing is missing there.
fn without_name(plot: &Heat) -> usize {
    plot.x.names.iter().filter(|name| name.is_empty()).count() * plot.ys.len()
}

/// Half a cell more at each end.
fn half(count: usize) -> f64 {
    if count > 1 { 0.5 / (count - 1) as f64 } else { 0.0 }
}

/// Edges as shares of the axes, and the value.
struct Cell {
    x: (f64, f64),
    y: (f64, f64),
    value: f64,
}

fn cells(plot: &Heat, (x, y): (&Axis, &Axis), value: &Axis) -> Vec<Cell> {
    let (columns, rows) = (edges(&plot.xs, x), edges(&plot.ys, y));
    let mut cells = Vec::new();
    for (index, &number) in plot.values.iter().enumerate().take(MOST_CELLS) {
        let (Some(column), Some(row)) = (index.checked_rem(plot.xs.len()), index.checked_div(plot.xs.len()))
        else {
            break;
        };
        let place = columns.get(column).copied().flatten().zip(rows.get(row).copied().flatten());
        if let Some((x, y)) = place.filter(|_| drawable(number, value.scale)) {
            cells.push(Cell { x, y, value: number });
        }
    }
    cells
}

/// Each cell reaches half way to its neighbours.
fn edges(values: &[f64], axis: &Axis) -> Vec<Option<(f64, f64)>> {
    let share = |value: f64| drawable(value, axis.scale).then(|| axis.share(value));
    let mut sorted: Vec<f64> = values.iter().copied().filter_map(share).collect();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    let reach = |at: f64| {
        let place = sorted.partition_point(|&other| other < at);
        let below = place.checked_sub(1).and_then(|index| sorted.get(index));
        let above = sorted.get(place + 1);
        let to = |other: Option<&f64>| other.map(|other| (at - other).abs() / 2.0);
        let (down, up) = (to(below).or(to(above)), to(above).or(to(below)));
        ((at - down.unwrap_or(0.5)).max(0.0), (at + up.unwrap_or(0.5)).min(1.0))
    };
    values.iter().map(|&value| share(value).map(reach)).collect()
}

fn draw_cell(frame: &mut Frame, cell: &Cell, value: &Axis) {
    let ((left, bottom), (right, top)) = (frame.place(cell.x.0, cell.y.0), frame.place(cell.x.1, cell.y.1));
    let share = value.share(cell.value);
    // Neighbours overlap by half a pixel, so that no line of the paper shows between them.
    frame.canvas.rectangle((left, top), (right - left + 0.5, bottom - top + 0.5), &shade(share));
    if right - left >= ROOM_FOR_NUMBERS.0 && bottom - top >= ROOM_FOR_NUMBERS.1 {
        let colour = if share > 0.55 { palette::TEXT } else { "#ffffff" };
        let ink = Ink::new(11.0, colour, Anchor::Middle);
        let place = ((left + right) / 2.0, (top + bottom) / 2.0 + 4.0);
        frame.canvas.text(place, ink, &value.unit.show(cell.value));
    }
}

fn draw_scale(frame: &mut Frame, value: &Axis) {
    const STEPS: usize = 64;
    let (left, height) = (frame.right + 22.0, frame.height() - 26.0);
    let top = frame.top + 26.0;
    for step in 0..STEPS {
        let from = top + height * (1.0 - (step + 1) as f64 / STEPS as f64);
        let colour = shade((step as f64 + 0.5) / STEPS as f64);
        frame.canvas.rectangle((left, from), (14.0, height / STEPS as f64 + 0.5), &colour);
    }
    let ink = Ink::new(11.0, palette::TEXT, Anchor::Start);
    for tick in value.ticks(6) {
        if let Some(label) = tick.label {
            frame.canvas.text((left + 19.0, top + height * (1.0 - tick.share) + 4.0), ink, &label);
        }
    }
    let title = crate::charts::text::shortened(&value.title, 11.0, SCALE_ROOM);
    frame.canvas.text((left, frame.top + 10.0), ink, &title);
}

fn shade(share: f64) -> String {
    let position = share.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let index = (position as usize).min(COLOURS.len() - 2);
    let rest = position - index as f64;
    let (from, to) = (COLOURS[index], COLOURS[index + 1]);
    let mix = |from: u8, to: u8| (f64::from(from) + rest * (f64::from(to) - f64::from(from))).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}
