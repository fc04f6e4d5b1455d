//! Activities of processes, row by row, with an arrow for every message, like the diagrams that explain the
//! LogP family of models. A picture has room for some rows and some thousands of activities; it shows the
//! first rows and the first part of the run, and says so.

use super::entry;
use crate::charts::Heading;
use crate::charts::axis::{Axis, Extent, drawable};
use crate::charts::canvas::{Anchor, Drawing, Ink, Point, Stroke};
use crate::charts::frame::{Entry, Frame, Mark, TICK};
use crate::charts::number::brief;
use crate::charts::palette::{self, Colour};
use crate::charts::text::{shortened, width};
use crate::numbers::{counted, grouped};
use crate::page::{self, Activity, Scale, Timeline, Unit};

const MOST_ROWS: usize = 64;
const MOST_ACTIVITIES: usize = 6000;
const MOST_ARROWS: usize = 4000;
const NAME_ROOM: f64 = 120.0;
const HIGHEST_ROW: f64 = 60.0;
const SECONDS: f64 = 1e-12;

pub fn draw(plot: &Timeline, heading: &Heading) -> Drawing {
    let shown = Shown::new(plot);
    let x = page::Axis::linear("time", Unit::Seconds);
    let x = Axis::new(&x, Extent::new(&x, shown.times()).padded(0.0));
    let names = plot.rows.iter().take(shown.rows).map(|name| width(name, TICK)).fold(20.0, f64::max);
    let heading = heading.with_remark(&shown.remark(plot));
    let height = HIGHEST_ROW * shown.rows.max(1) as f64;
    let labels = names.min(NAME_ROOM) - 18.0;
    let mut frame = Frame::at_most(height, &heading, &legend(plot, &shown), labels);
    frame.draw_x(&x);
    if shown.activities.is_empty() {
        frame.draw_remark("no activities");
        return frame.finish();
    }
    let pitch = (frame.height() / shown.rows.max(1) as f64).min(HIGHEST_ROW);
    draw_rows(&mut frame, plot, shown.rows, pitch);
    let colours = colours(plot);
    for activity in &shown.activities {
        let (left, top) = (at(&frame, &x, activity.start_ps), middle(&frame, pitch, activity.row));
        let right = at(&frame, &x, activity.end_ps);
        let height = 0.5 * pitch;
        let colour = colours.get(usize::from(activity.kind)).copied().unwrap_or(palette::OTHER_ACTIVITY);
        frame.canvas.rectangle((left, top - height / 2.0), ((right - left).max(0.4), height), colour);
    }
    draw_arrows(&mut frame, plot, &shown, &x, pitch);
    frame.finish()
}

/// The part of a timeline that fits into a picture.
struct Shown {
    rows: usize,
    activities: Vec<Activity>,
    /// The last moment shown, in picoseconds; `None` if the whole run is shown.
    cut: Option<f64>,
}

impl Shown {
    fn new(plot: &Timeline) -> Shown {
        let rows = plot.rows.len().min(MOST_ROWS);
        let has_place = |activity: &Activity| {
            (activity.row as usize) < rows
                && drawable(activity.start_ps, Scale::Linear)
                && drawable(activity.end_ps, Scale::Linear)
                && activity.start_ps <= activity.end_ps
        };
        let mut activities: Vec<Activity> = plot.activities().filter(has_place).collect();
        let mut cut = None;
        if activities.len() > MOST_ACTIVITIES {
            activities.sort_by(|a, b| a.start_ps.total_cmp(&b.start_ps));
            activities.truncate(MOST_ACTIVITIES);
            let last = activities.iter().map(|activity| activity.start_ps).fold(0.0, f64::max);
            activities.iter_mut().for_each(|activity| activity.end_ps = activity.end_ps.min(last));
            cut = Some(last);
        }
        Shown { rows, activities, cut }
    }

    fn times(&self) -> impl Iterator<Item = f64> + '_ {
        self.activities.iter().flat_map(|activity| [activity.start_ps * SECONDS, activity.end_ps * SECONDS])
    }

    fn remark(&self, plot: &Timeline) -> String {
        let all = counted(plot.row.len() as u64, "activity", "activities");
        let mut parts = Vec::new();
        if let Some(cut) = self.cut {
            parts.push(format!("up to {}", brief(cut * SECONDS, Unit::Seconds)));
        }
        if self.rows < plot.rows.len() {
            parts.push(format!("{} of {} rows", self.rows, grouped(plot.rows.len() as u64)));
        }
        if self.activities.len() < plot.row.len() {
            parts.push(format!("{} of {all}", grouped(self.activities.len() as u64)));
        }
        if parts.is_empty() { all } else { parts.join(", ") }
    }
}

fn legend(plot: &Timeline, shown: &Shown) -> Vec<Entry> {
    let occurs = |index: usize| shown.activities.iter().any(|activity| usize::from(activity.kind) == index);
    let kinds = plot.kinds.iter().zip(colours(plot)).enumerate().filter(|(index, _)| occurs(*index));
    let mut entries: Vec<Entry> =
        kinds.map(|(_, (kind, colour))| entry(&kind.name, colour, Mark::Area)).collect();
    if !plot.arrow_from.is_empty() {
        entries.push(entry("message", palette::FAINT, Mark::Line));
    }
    entries
}

fn colours(plot: &Timeline) -> Vec<Colour> {
    palette::kinds(plot.kinds.iter().map(|kind| kind.role))
}

fn at(frame: &Frame, x: &Axis, ps: f64) -> f64 {
    frame.left + x.share(ps * SECONDS) * frame.width()
}

fn middle(frame: &Frame, pitch: f64, row: u32) -> f64 {
    frame.top + (f64::from(row) + 0.5) * pitch
}

/// Draws the names of the rows and their time lines; if rows are close together, only some are named.
fn draw_rows(frame: &mut Frame, plot: &Timeline, rows: usize, pitch: f64) {
    let every = (14.0 / pitch).ceil().max(1.0) as usize;
    for (row, name) in (0u32..).zip(plot.rows.iter().take(rows)) {
        let y = middle(frame, pitch, row);
        frame.canvas.line((frame.left, y), (frame.right, y), Stroke::new(palette::GRID, 1.0));
        if (row as usize).is_multiple_of(every) {
            let ink = Ink::new(TICK, palette::TEXT, Anchor::End);
            frame.canvas.text((frame.left - 8.0, y + 4.2), ink, &shortened(name, TICK, NAME_ROOM));
        }
    }
}

fn draw_arrows(frame: &mut Frame, plot: &Timeline, shown: &Shown, x: &Axis, pitch: f64) {
    let end = shown.cut.unwrap_or(f64::INFINITY);
    let has_place = |arrow: &crate::page::Arrow| {
        (arrow.from.max(arrow.to) as usize) < shown.rows
            && drawable(arrow.sent_ps, Scale::Linear)
            && arrow.received_ps <= end
    };
    for arrow in plot.arrows().filter(has_place).take(MOST_ARROWS) {
        let down = arrow.to > arrow.from;
        // From the edge of one bar to the edge of the other.
        let edge = if down { 0.25 * pitch } else { -0.25 * pitch };
        let from = (at(frame, x, arrow.sent_ps), middle(frame, pitch, arrow.from) + edge);
        let to = (at(frame, x, arrow.received_ps), middle(frame, pitch, arrow.to) - edge);
        frame.canvas.line(from, to, Stroke::new(palette::FAINT, 0.9));
        frame.canvas.polygon(&head(from, to, (0.2 * pitch).clamp(2.0, 6.0)), palette::FAINT, 1.0);
    }
}

/// The point of an arrow, `size` pixels long.
fn head((from_x, from_y): Point, (x, y): Point, size: f64) -> [Point; 3] {
    let length = (x - from_x).hypot(y - from_y).max(1e-9);
    let (along_x, along_y) = ((x - from_x) / length * size, (y - from_y) / length * size);
    let (across_x, across_y) = (-along_y * 0.4, along_x * 0.4);
    [
        (x, y),
        (x - along_x + across_x, y - along_y + across_y),
        (x - along_x - across_x, y - along_y - across_y),
    ]
}
