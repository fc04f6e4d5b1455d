//! Horizontal bars, with their intervals, numbers and notes.

use crate::charts::axis::{Axis, Extent, Range, drawable};
use crate::charts::canvas::{Anchor, Drawing, Ink, Point, Stroke};
use crate::charts::frame::Frame;
use crate::charts::number::brief;
use crate::charts::text::{shortened, width};
use crate::charts::{Heading, palette};
use crate::numbers::counted;
use crate::page::{Bar, Bars, Scale};

/// More bars could not be read.
const MOST: usize = 20;
const NAME: f64 = 12.5;
const NAME_ROOM: f64 = 230.0;
const NUMBER: f64 = 12.0;
const NOTE: f64 = 11.0;
/// Width reserved after the longest bar for its number.
const NUMBER_ROOM: f64 = 64.0;
/// A note is not shortened to less than this.
const LEAST_ROOM: f64 = 40.0;

pub fn draw(plot: &Bars, heading: &Heading) -> Drawing {
    let axis = axis(plot);
    let bars: Vec<&Bar> = plot.bars.iter().filter(|bar| drawable(bar.value, axis.scale)).collect();
    let shown = &bars[..bars.len().min(MOST)];
    let names = shown.iter().map(|bar| width(&bar.name, NAME)).fold(40.0, f64::max);
    let heading = heading.with_remark(&remark(plot.bars.len() - shown.len()));
    let mut frame = Frame::new(&heading, &[], names.min(NAME_ROOM) - 18.0);
    frame.right -= NUMBER_ROOM;
    frame.draw_x(&axis);
    if shown.is_empty() {
        frame.draw_remark("no data");
        return frame.finish();
    }
    let pitch = (frame.height() / shown.len() as f64).min(66.0);
    for (index, bar) in shown.iter().enumerate() {
        let middle = frame.top + (index as f64 + 0.5) * pitch;
        draw_bar(&mut frame, bar, &axis, middle, 0.62 * pitch);
    }
    let zero = frame.left + axis.share(0.0) * frame.width();
    frame.canvas.line((zero, frame.top), (zero, frame.bottom), Stroke::new(palette::RULE, 1.2));
    frame.finish()
}

/// From zero, or from below it where a value is negative.
pub fn axis(plot: &Bars) -> Axis {
    let values = plot.bars.iter().flat_map(|bar| [Some(bar.value), bar.low, bar.high]).flatten();
    let range = Extent::new(&plot.x, values).with_zero(0.03);
    // On a logarithmic axis the shortest bar needs some length, too.
    let below = if plot.x.scale == Scale::Linear { 0.0 } else { 0.1 * (range.high - range.low) };
    Axis::new(&plot.x, Range { low: range.low - below, high: range.high })
}

fn remark(missing: usize) -> String {
    match missing {
        0 => String::new(),
        more => format!("{} not shown", counted(more as u64, "bar", "bars")),
    }
}

fn draw_bar(frame: &mut Frame, bar: &Bar, axis: &Axis, middle: f64, height: f64) {
    let at = |frame: &Frame, value: f64| frame.left + axis.share(value) * frame.width();
    let name = shortened(&bar.name, NAME, NAME_ROOM);
    let ink = Ink::new(NAME, palette::TEXT, Anchor::End);
    frame.canvas.text((frame.left - 10.0, middle + 4.4), ink, &name);
    let (zero, end) = (at(frame, 0.0), at(frame, bar.value));
    let corner = (zero.min(end), middle - height / 2.0);
    let colour = bar.role.map_or(palette::series(0), palette::role);
    frame.canvas.rectangle(corner, ((end - zero).abs().max(1.0), height), colour);
    let mut label_at = end.max(zero);
    let ends = [bar.low, bar.high].map(|end| end.filter(|&end| drawable(end, axis.scale)));
    if let [Some(low), Some(high)] = ends
        && low < high
    {
        let (low, high) = (at(frame, low), at(frame, high));
        let (stroke, half) = (Stroke::new(palette::TEXT, 1.4), (height / 4.0).min(5.0));
        frame.canvas.line((low, middle), (high, middle), stroke);
        for x in [low, high] {
            frame.canvas.line((x, middle - half), (x, middle + half), stroke);
        }
        label_at = label_at.max(high);
    }
    let (number, left) = (brief(bar.value, axis.unit), label_at + 7.0);
    frame.canvas.text((left, middle + 4.2), Ink::new(NUMBER, palette::TEXT, Anchor::Start), &number);
    let solid_to = ends[0].map_or(end, |low| at(frame, low)).min(end);
    draw_note(frame, &bar.note, (left + width(&number, NUMBER) + 8.0, middle + 4.0), (zero, solid_to));
}

/// Draws a note after the number or, if a long bar leaves no room there, inside the bar.
fn draw_note(frame: &mut Frame, note: &str, (after, level): Point, (from, to): (f64, f64)) {
    if note.is_empty() {
        return;
    }
    let (room, inside) = (frame.right + NUMBER_ROOM - after, to - from - 16.0);
    let needed = width(note, NOTE);
    if room >= needed || (inside < needed && room > LEAST_ROOM) {
        let note = shortened(note, NOTE, room);
        frame.canvas.text((after, level), Ink::new(NOTE, palette::FAINT, Anchor::Start), &note);
    } else if inside >= needed {
        frame.canvas.text((from + 8.0, level), Ink::new(NOTE, palette::PAPER, Anchor::Start), note);
    }
}
