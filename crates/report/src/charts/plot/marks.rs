//! Marks of a line chart: vertical and horizontal lines, and dots. Their labels cover neither each other nor
//! the dots, and lines only if necessary; a label without a place is left out.

use crate::charts::axis::{Axis, drawable};
use crate::charts::canvas::{Anchor, Ink, Point, Stroke};
use crate::charts::frame::Frame;
use crate::charts::labels::{Labels, Room};
use crate::charts::palette::{self, Colour};
use crate::charts::text::{shortened, width};
use crate::page::Mark;

const SIZE: f64 = 12.0;
const LINE: f64 = 16.0;
const RADIUS: f64 = 3.5;

/// Draws marks. `curves` are the line segments of the chart, which labels avoid; `colour` is that of lines.
pub fn draw(
    frame: &mut Frame,
    marks: &[Mark],
    curves: &[(Point, Point)],
    (x, y): (&Axis, &Axis),
    colour: Colour,
) {
    let area = Room { left: frame.left, top: frame.top, width: frame.width(), height: frame.height() };
    let mut labels = Labels::within(area);
    curves.iter().for_each(|&part| labels.avoid_line(part));
    let across = |mark: &Mark| mark.x.filter(|&at| drawable(at, x.scale));
    let up = |mark: &Mark| mark.y.filter(|&level| drawable(level, y.scale));
    let place = |at: f64, level: f64| frame.place(x.share(at), y.share(level));
    let dots = marks.iter().filter_map(|mark| Some((mark, place(across(mark)?, up(mark)?))));
    let mut dots: Vec<(&Mark, Point)> = dots.collect();
    dots.iter().for_each(|(_, dot)| labels.avoid(Room::of_dot(*dot, RADIUS)));
    // Label the highest first.
    dots.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
    let levels = marks.iter().filter(|mark| mark.x.is_none());
    let levels: Vec<_> =
        levels.filter_map(|mark| Some((mark, frame.place(0.0, y.share(up(mark)?)).1))).collect();
    let uprights = marks.iter().filter(|mark| mark.y.is_none());
    let uprights: Vec<_> =
        uprights.filter_map(|mark| Some((mark, frame.place(x.share(across(mark)?), 0.0).0))).collect();
    let stroke = Stroke { dashed: true, ..Stroke::new(colour, 1.2) };
    let mut names = Vec::new();
    for (mark, top) in levels {
        frame.canvas.line((frame.left, top), (frame.right, top), stroke);
        names.push((mark, beside_level(area, top, named(mark, area))));
    }
    for (mark, left) in uprights {
        frame.canvas.line((left, frame.top), (left, frame.bottom), stroke);
        labels.avoid_line(((left, frame.top), (left, frame.bottom)));
        names.push((mark, beside_upright(area, left, named(mark, area))));
    }
    for (mark, dot) in dots {
        frame.canvas.dots(&[dot], 2.0 * RADIUS, palette::NOISE);
        names.push((mark, around(area, dot, named(mark, area))));
    }
    for (mark, candidates) in names {
        if let Some(room) = labels.place(candidates) {
            let name = shortened(&mark.name, SIZE, room.width);
            let ink = Ink::new(SIZE, palette::TEXT, Anchor::Start);
            frame.canvas.text_over((room.left, room.top + LINE - 4.0), ink, &name);
        }
    }
}

/// The width of a name, at most that of the chart.
fn named(mark: &Mark, area: Room) -> f64 {
    width(&mark.name, SIZE).min(area.width - 12.0)
}

fn at(left: f64, top: f64, width: f64) -> Room {
    Room { left, top, width, height: LINE }
}

/// Candidate places above or below a horizontal line, at the right or at the left.
fn beside_level(area: Room, y: f64, width: f64) -> Vec<Room> {
    let right = area.left + area.width - width - 6.0;
    let places = [(right, y - LINE), (area.left + 6.0, y - LINE), (right, y), (area.left + 6.0, y)];
    places.map(|(left, top)| at(left, top, width)).to_vec()
}

/// Candidate places right or left of a vertical line, from the top down; then across it, if neither has room.
fn beside_upright(area: Room, x: f64, width: f64) -> Vec<Room> {
    let middle = (x - width / 2.0).min(area.left + area.width - width).max(area.left);
    let rows = (area.height / LINE) as usize;
    let row = |lefts: [f64; 2], row: usize| lefts.map(|left| at(left, area.top + row as f64 * LINE, width));
    let beside = (0..rows).flat_map(|index| row([x + 5.0, x - 5.0 - width], index));
    beside.chain((0..rows).map(|index| at(middle, area.top + index as f64 * LINE, width))).collect()
}

/// Candidate places above a dot, beside it, below it, or further up.
fn around(area: Room, (x, y): Point, width: f64) -> Vec<Room> {
    let middle = (x - width / 2.0).min(area.left + area.width - width).max(area.left);
    let (above, level) = (y - RADIUS - LINE, y - LINE / 2.0);
    let near =
        [(middle, above), (x + RADIUS + 4.0, level), (x - RADIUS - 4.0 - width, level), (middle, y + RADIUS)];
    let further = (1..4).map(|row| (middle, above - f64::from(row) * LINE));
    near.into_iter().chain(further).map(|(left, top)| at(left, top, width)).collect()
}
