//! Which source to remove first: a bar a source, with what its removal gives and the interval of that.

use super::axis::{Axis, Scale, drawable};
use super::canvas::{Anchor, Ink, Stroke};
use super::frame::Frame;
use super::text::{shortened, width};
use super::unit::Unit;
use super::{Heading, palette};
use crate::numbers::counted;

/// One source: what its removal gives, and the interval that holds it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Bar {
    pub name: String,
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// Bars from top to bottom, in the order given.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ranking {
    pub bars: Vec<Bar>,
    /// What the values are.
    pub what: String,
    pub unit: Unit,
}

/// More bars could not be read.
const MOST: usize = 20;
const NAME: f64 = 12.5;
const NAME_ROOM: f64 = 230.0;

impl Ranking {
    pub fn draw(&self, heading: &Heading) -> String {
        let bars: Vec<&Bar> = self.bars.iter().filter(|bar| drawable(bar.value, Scale::Linear)).collect();
        let shown = &bars[..bars.len().min(MOST)];
        let names = shown.iter().map(|bar| width(&bar.name, NAME)).fold(40.0, f64::max);
        let mut frame =
            Frame::new(&heading.with_remark(&self.remark(shown.len())), &[], names.min(NAME_ROOM) - 18.0);
        let axis = self.axis(shown);
        frame.draw_x(&axis);
        if shown.is_empty() {
            frame.draw_remark("no sources");
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

    /// From zero, or from below it where a removal does harm.
    fn axis(&self, bars: &[&Bar]) -> Axis {
        let values = bars.iter().flat_map(|bar| [bar.value, bar.low, bar.high]);
        let values: Vec<f64> = values.chain([0.0]).filter(|&value| drawable(value, Scale::Linear)).collect();
        let is_negative = values.iter().any(|&value| value < 0.0);
        let values = if bars.is_empty() { Vec::new() } else { values };
        let title = if self.what.is_empty() { "what its removal gives" } else { &self.what };
        let axis = Axis::fitting(title, Scale::Linear, self.unit, values);
        // Numbers stand behind the bars.
        axis.with_room(if is_negative { 0.05 } else { 0.0 }, 0.12)
    }

    fn remark(&self, shown: usize) -> String {
        match self.bars.len() - shown {
            0 => String::new(),
            more => format!("{} not shown", counted(more as u64, "bar", "bars")),
        }
    }
}

fn draw_bar(frame: &mut Frame, bar: &Bar, axis: &Axis, middle: f64, height: f64) {
    let at = |frame: &Frame, value: f64| frame.left + axis.share(value) * frame.width();
    let name = shortened(&bar.name, NAME, NAME_ROOM);
    let ink = Ink::new(NAME, palette::TEXT, Anchor::End);
    frame.canvas.text((frame.left - 10.0, middle + 4.4), ink, &name);
    let (zero, end) = (at(frame, 0.0), at(frame, bar.value));
    let corner = (zero.min(end), middle - height / 2.0);
    frame.canvas.rectangle(corner, ((end - zero).abs().max(1.0), height), palette::colour(0));
    let mut label_at = end.max(zero);
    if drawable(bar.low, Scale::Linear) && drawable(bar.high, Scale::Linear) && bar.low < bar.high {
        let (low, high) = (at(frame, bar.low), at(frame, bar.high));
        let (stroke, half) = (Stroke::new(palette::TEXT, 1.4), (height / 4.0).min(5.0));
        frame.canvas.line((low, middle), (high, middle), stroke);
        for x in [low, high] {
            frame.canvas.line((x, middle - half), (x, middle + half), stroke);
        }
        label_at = label_at.max(high);
    }
    let ink = Ink::new(12.0, palette::TEXT, Anchor::Start);
    frame.canvas.text((label_at + 7.0, middle + 4.2), ink, &axis.unit.show(bar.value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_whiskers_and_numbers() {
        let bar =
            |name: &str, value: f64| Bar { name: name.into(), value, low: value - 0.02, high: value + 0.02 };
        let bars = vec![bar("timer tick", 0.41), bar("kworker & co", 0.1), bar("harm", -0.03)];
        let ranking = Ranking { bars, what: "time saved".into(), unit: Unit::Share };
        let svg = ranking.draw(&Heading::default());
        assert_eq!(svg.matches(palette::COLOURS[0]).count(), 3);
        assert_eq!(svg.matches("stroke-width=\"1.4\"").count(), 9);
        for text in ["41 %", "-3 %", "kworker &amp; co", "time saved", ">0 %<"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
    }

    #[test]
    fn too_many_bars_are_counted() {
        let bars =
            (0..30).map(|index| Bar { name: format!("s{index}"), value: 1.0, ..Bar::default() }).collect();
        let svg = Ranking { bars, ..Ranking::default() }.draw(&Heading::default());
        assert!(svg.contains("10 bars not shown") && !svg.contains(">s20<"));
    }
}
