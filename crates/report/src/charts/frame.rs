//! The common parts of all charts: title, subtitle, axes, legend and footer, laid out so that nothing is cut
//! off.

use super::Heading;
use super::axis::{Axis, Tick};
use super::canvas::{Anchor, Canvas, Drawing, Ink, Point, Stroke};
use super::palette::{self, Colour};
use super::text::{fitted, shortened, width, wrapped};

pub const WIDTH: f64 = 900.0;
pub const HEIGHT: f64 = 540.0;
const EDGE: f64 = 24.0;
/// Height below the data: ticks, the title of the axis, and the footer.
const BELOW: f64 = 84.0;
const TITLE: Ink = Ink { size: 19.0, colour: palette::TEXT, bold: true, anchor: Anchor::Start };
const SUBTITLE: Ink = Ink::new(13.0, palette::FAINT, Anchor::Start);
/// Sizes to try until a heading fits.
const TITLE_SIZES: [f64; 4] = [19.0, 17.0, 15.0, 13.0];
const SUBTITLE_SIZES: [f64; 3] = [13.0, 12.0, 11.0];
const FOOTER: Ink = Ink::new(10.5, palette::FAINT, Anchor::Start);
const AXIS_TITLE: Ink = Ink::new(13.0, palette::TEXT, Anchor::Middle);
pub const TICK: f64 = 12.0;
const LEGEND: f64 = 12.5;
const LEGEND_ROOM: f64 = 190.0;
const SWATCH: f64 = 22.0;

/// One line of a legend.
#[derive(Clone, Debug)]
pub struct Entry {
    pub name: String,
    pub detail: String,
    pub colour: Colour,
    pub mark: Mark,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    Dot,
    Line,
    Area,
}

/// A picture whose surroundings are drawn; `left` to `right` and `top` to `bottom` is for the data.
#[derive(Debug)]
pub struct Frame {
    pub canvas: Canvas,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    title: String,
    subtitle: String,
}

impl Frame {
    /// Heading, footer and legend; `labels` is the room that labels need at the left.
    pub fn new(heading: &Heading, legend: &[Entry], labels: f64) -> Frame {
        Frame::at_most(f64::INFINITY, heading, legend, labels)
    }

    /// Like [`Frame::new`], but lower if the data need no more than this height.
    pub fn at_most(height: f64, heading: &Heading, legend: &[Entry], labels: f64) -> Frame {
        let mut canvas = Canvas::new(WIDTH, HEIGHT);
        let top = draw_heading(&mut canvas, heading) + 18.0;
        let bottom = (top + height.max(legend_height(legend))).min(HEIGHT - BELOW);
        canvas.height = bottom + BELOW;
        let footer = shortened(&heading.footer, FOOTER.size, WIDTH - 2.0 * EDGE);
        canvas.text((EDGE, canvas.height - 14.0), FOOTER, &footer);
        let mut frame = Frame {
            canvas,
            left: EDGE + 26.0 + labels,
            right: WIDTH - EDGE - 6.0 - legend_width(legend),
            top,
            bottom,
            title: heading.title.clone(),
            subtitle: heading.subtitle.clone(),
        };
        frame.draw_legend(legend);
        frame
    }

    /// Like [`Frame::new`], with both axes.
    pub fn with_axes(heading: &Heading, legend: &[Entry], x: &Axis, y: &Axis) -> Frame {
        let labels = y.ticks(8.0).into_iter().filter_map(|tick| tick.label);
        let widest = labels.map(|label| width(&label, TICK)).fold(20.0, f64::max);
        let mut frame = Frame::new(heading, legend, widest);
        frame.draw_y(y);
        frame.draw_x(x);
        frame
    }

    pub fn width(&self) -> f64 {
        self.right - self.left
    }

    pub fn height(&self) -> f64 {
        self.bottom - self.top
    }

    /// The position at the given shares of the axes.
    pub fn place(&self, x: f64, y: f64) -> Point {
        (self.left + x * self.width(), self.bottom - y * self.height())
    }

    /// Draws the axis below, with grid lines.
    pub fn draw_x(&mut self, axis: &Axis) {
        for Tick { share, label, .. } in fitting_ticks(axis, self.width()) {
            let x = self.left + share * self.width();
            let colour = if label.is_some() { palette::GRID } else { palette::FINE_GRID };
            self.canvas.line((x, self.top), (x, self.bottom), Stroke::new(colour, 1.0));
            if let Some(label) = label {
                self.canvas.line((x, self.bottom), (x, self.bottom + 5.0), Stroke::new(palette::RULE, 1.0));
                let ink = Ink::new(TICK, palette::TEXT, Anchor::Middle);
                self.canvas.text((x, self.bottom + 19.0), ink, &label);
            }
        }
        let (from, to) = ((self.left, self.bottom), (self.right, self.bottom));
        self.canvas.line(from, to, Stroke::new(palette::RULE, 1.0));
        let middle = (self.left + self.right) / 2.0;
        let title = shortened(&axis.title, AXIS_TITLE.size, self.width());
        self.canvas.text((middle, self.bottom + 41.0), AXIS_TITLE, &title);
    }

    /// Draws the axis at the left, with grid lines.
    pub fn draw_y(&mut self, axis: &Axis) {
        for Tick { share, label, .. } in axis.ticks(8.0) {
            let y = self.bottom - share * self.height();
            let colour = if label.is_some() { palette::GRID } else { palette::FINE_GRID };
            self.canvas.line((self.left, y), (self.right, y), Stroke::new(colour, 1.0));
            if let Some(label) = label {
                let ink = Ink::new(TICK, palette::TEXT, Anchor::End);
                self.canvas.text((self.left - 8.0, y + 4.2), ink, &label);
            }
        }
        let middle = (self.top + self.bottom) / 2.0;
        let title = shortened(&axis.title, AXIS_TITLE.size, self.height());
        self.canvas.upward_text((EDGE + 10.0, middle), AXIS_TITLE, &title);
    }

    /// Draws a remark in the middle of an otherwise empty chart.
    pub fn draw_remark(&mut self, text: &str) {
        let place = ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0);
        self.canvas.text(place, Ink::new(16.0, palette::FAINT, Anchor::Middle), text);
    }

    fn draw_legend(&mut self, legend: &[Entry]) {
        let (x, name_ink) = (self.right + 20.0, Ink::new(LEGEND, palette::TEXT, Anchor::Start));
        let mut y = self.top + 8.0;
        for (index, entry) in legend.iter().enumerate() {
            if y > self.bottom - 24.0 {
                let rest = format!("and {} more", legend.len() - index);
                self.canvas.text((x + SWATCH, y + 4.0), name_ink, &rest);
                return;
            }
            draw_mark(&mut self.canvas, entry, (x, y));
            for line in wrapped(&entry.name, LEGEND, LEGEND_ROOM - SWATCH, 2) {
                self.canvas.text((x + SWATCH, y + 4.0), name_ink, &line);
                y += 15.0;
            }
            if !entry.detail.is_empty() {
                let detail = shortened(&entry.detail, 11.0, LEGEND_ROOM - SWATCH);
                let ink = Ink::new(11.0, palette::FAINT, Anchor::Start);
                self.canvas.text((x + SWATCH, y + 4.0), ink, &detail);
                y += 15.0;
            }
            y += 9.0;
        }
    }

    pub fn finish(self) -> Drawing {
        self.canvas.finish(self.title, self.subtitle)
    }
}

fn draw_mark(canvas: &mut Canvas, entry: &Entry, (x, y): Point) {
    match entry.mark {
        Mark::Dot => canvas.dots(&[(x + 8.0, y)], 8.0, entry.colour),
        Mark::Line => canvas.line((x, y), (x + 16.0, y), Stroke::new(entry.colour, 3.0)),
        Mark::Area => canvas.rectangle((x, y - 5.0), (16.0, 10.0), entry.colour),
    }
}

/// Draws the texts above the chart; returns where they end.
fn draw_heading(canvas: &mut Canvas, heading: &Heading) -> f64 {
    const BADGE: &str = "SYNTHETIC DATA";
    let ink = Ink { size: 11.0, colour: palette::WARNING, bold: true, anchor: Anchor::Middle };
    let badge = if heading.synthetic { width(BADGE, ink.size) + 18.0 } else { 0.0 };
    if heading.synthetic {
        let left = WIDTH - EDGE - badge;
        canvas.outline((left, 17.0), (badge, 22.0), palette::WARNING);
        canvas.text((left + badge / 2.0, 32.0), ink, BADGE);
    }
    let room = WIDTH - 2.0 * EDGE;
    let mut y = 14.0;
    let (size, lines) = fitted(&heading.title, &TITLE_SIZES, room - badge - 12.0, 2);
    for line in lines.iter().filter(|line| !line.is_empty()) {
        y += size + 3.0;
        canvas.text((EDGE, y), Ink { size, ..TITLE }, line);
    }
    if !heading.subtitle.is_empty() {
        let (size, lines) = fitted(&heading.subtitle, &SUBTITLE_SIZES, room, 3);
        y += 3.0;
        for line in lines {
            y += size + 4.0;
            canvas.text((EDGE, y), Ink { size, ..SUBTITLE }, &line);
        }
    }
    y
}

fn legend_width(legend: &[Entry]) -> f64 {
    let text = |entry: &Entry| width(&entry.name, LEGEND).max(width(&entry.detail, 11.0));
    let widest = legend.iter().map(text).fold(0.0, f64::max);
    if legend.is_empty() { 0.0 } else { (widest + SWATCH).min(LEGEND_ROOM) + 14.0 }
}

/// The height that shows all entries.
fn legend_height(legend: &[Entry]) -> f64 {
    let lines = |entry: &Entry| {
        let name = wrapped(&entry.name, LEGEND, LEGEND_ROOM - SWATCH, 2).len();
        name + usize::from(!entry.detail.is_empty())
    };
    legend.iter().map(|entry| 15.0 * lines(entry) as f64 + 9.0).sum::<f64>() + 24.0
}

/// As many ticks as fit with their labels.
fn fitting_ticks(axis: &Axis, room: f64) -> Vec<Tick> {
    let fits = |ticks: &[Tick]| {
        let labels =
            ticks.iter().filter_map(|tick| Some((tick.share * room, width(tick.label.as_ref()?, TICK))));
        let mut free_from = f64::NEG_INFINITY;
        labels.into_iter().all(|(middle, width)| {
            let is_free = middle - width / 2.0 >= free_from;
            free_from = middle + width / 2.0 + 10.0;
            is_free
        })
    };
    let candidates = (2..=10).rev().map(|most| axis.ticks(f64::from(most)));
    candidates.into_iter().find(|ticks| fits(ticks)).unwrap_or_else(|| axis.ticks(1.0))
}
