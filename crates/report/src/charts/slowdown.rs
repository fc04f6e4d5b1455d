//! What noise costs by the number of processes: one curve an operation, a band for the interval of its
//! median, and a line where noise becomes the bottleneck.

use super::axis::{Axis, Scale, drawable};
use super::canvas::{Anchor, Ink, Place, Stroke};
use super::frame::{Entry, Frame, Mark};
use super::text::{shortened, width};
use super::unit::Unit;
use super::{Heading, palette};
use crate::numbers::{counted, grouped};

/// The run time at one number of processes, over that without noise (T / T0, so that 1 is no loss and has a
/// place on a logarithmic axis): its median and the interval that holds it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct CurvePoint {
    pub processes: f64,
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

/// One operation.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Curve {
    pub name: String,
    /// By rising number of processes.
    pub points: Vec<CurvePoint>,
    /// From how many processes on noise is the bottleneck.
    pub inflection: Option<f64>,
}

/// How the slowdown is scaled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ValueScale {
    /// Logarithmic where the values span more than a factor of 20.
    #[default]
    Fitting,
    Linear,
    Log,
}

/// Slowdowns of several operations.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SlowdownCurves {
    pub curves: Vec<Curve>,
    pub scale: ValueScale,
}

impl SlowdownCurves {
    pub fn draw(&self, heading: &Heading) -> String {
        let (x, y) = self.axes();
        let shown: Vec<Vec<CurvePoint>> = self.curves.iter().map(|curve| shown(curve, y.scale)).collect();
        let all: usize = self.curves.iter().map(|curve| curve.points.len()).sum();
        let remark = remark(all - shown.iter().map(Vec::len).sum::<usize>());
        let mut frame = Frame::with_axes(&heading.with_remark(&remark), &self.legend(), &x, &y);
        if shown.iter().all(Vec::is_empty) {
            frame.draw_remark("nothing was simulated");
            return frame.finish();
        }
        for (index, points) in shown.iter().enumerate() {
            draw_band(&mut frame, points, (&x, &y), palette::colour(index));
        }
        self.draw_inflections(&mut frame, &x);
        for (index, points) in shown.iter().enumerate() {
            draw_curve(&mut frame, points, (&x, &y), palette::colour(index));
        }
        frame.finish()
    }

    fn axes(&self) -> (Axis, Axis) {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let values = || points().flat_map(|point| [point.median, point.low, point.high]);
        let x = Axis::fitting("processes", Scale::Doublings, Unit::Processes, points().map(|p| p.processes));
        let scale = match self.scale {
            ValueScale::Linear => Scale::Linear,
            ValueScale::Log => Scale::Decades,
            ValueScale::Fitting if spans_much(values()) => Scale::Decades,
            ValueScale::Fitting => Scale::Linear,
        };
        // One, no loss, is always in the picture.
        let y = Axis::fitting(
            "run time over the noiseless one (T / T0)",
            scale,
            Unit::Times,
            values().chain([1.0]),
        );
        (x.with_room(0.01, 0.01), y.with_room(0.04, 0.06))
    }

    fn legend(&self) -> Vec<Entry> {
        let entry = |(index, curve): (usize, &Curve)| Entry {
            name: curve.name.clone(),
            detail: String::new(),
            colour: palette::colour(index),
            mark: Mark::Line,
        };
        let band = Entry {
            name: "interval of the median".into(),
            detail: String::new(),
            colour: palette::TOTAL,
            mark: Mark::Area,
        };
        let band = (!self.curves.is_empty()).then_some(band);
        self.curves.iter().enumerate().map(entry).chain(band).collect()
    }

    /// Dashed lines; their labels stand one below the other, since the lines may lie close together.
    fn draw_inflections(&self, frame: &mut Frame, x: &Axis) {
        let curves = self.curves.iter().enumerate();
        let marked = curves.filter_map(|(index, curve)| Some((index, curve, curve.inflection?)));
        for (line, (index, curve, processes)) in marked.filter(|(.., at)| drawable(*at, x.scale)).enumerate()
        {
            let (place, _) = frame.place(x.share(processes), 0.0);
            let stroke = Stroke { dashed: true, ..Stroke::new(palette::colour(index), 1.4) };
            frame.canvas.line((place, frame.top), (place, frame.bottom), stroke);
            let name = shortened(&curve.name, 12.0, 160.0);
            let label =
                format!("{name}: noise dominates from {} processes", grouped(processes.round() as u64));
            let room = width(&label, 12.0) + 8.0;
            let (anchor, shift) =
                if place - room < frame.left { (Anchor::Start, 6.0) } else { (Anchor::End, -6.0) };
            let ink = Ink::new(12.0, palette::TEXT, anchor);
            frame.canvas.text_over((place + shift, frame.top + 14.0 + 17.0 * line as f64), ink, &label);
        }
    }
}

fn shown(curve: &Curve, scale: Scale) -> Vec<CurvePoint> {
    let shown =
        |point: &CurvePoint| drawable(point.processes, Scale::Doublings) && drawable(point.median, scale);
    let mut points: Vec<CurvePoint> = curve.points.iter().copied().filter(shown).collect();
    points.sort_by(|a, b| a.processes.total_cmp(&b.processes));
    points
}

fn spans_much(values: impl Iterator<Item = f64>) -> bool {
    let positive = values.filter(|&value| drawable(value, Scale::Decades));
    let (least, most) = positive.fold((1.0, 1.0), |(low, high): (f64, f64), v| (low.min(v), high.max(v)));
    most > 20.0 * least
}

fn remark(left_out: usize) -> String {
    match left_out {
        0 => String::new(),
        left_out => format!("{} cannot be drawn", counted(left_out as u64, "point", "points")),
    }
}

fn draw_band(frame: &mut Frame, points: &[CurvePoint], (x, y): (&Axis, &Axis), colour: &str) {
    let edge = |frame: &Frame, point: &CurvePoint, value: f64| {
        let value = if drawable(value, y.scale) { value } else { point.median };
        frame.place(x.share(point.processes), y.share(value))
    };
    let above = points.iter().map(|point| edge(frame, point, point.high));
    let below = points.iter().rev().map(|point| edge(frame, point, point.low));
    let places: Vec<Place> = above.chain(below).collect();
    if points.len() > 1 {
        frame.canvas.polygon(&places, colour, 0.18);
    }
}

fn draw_curve(frame: &mut Frame, points: &[CurvePoint], (x, y): (&Axis, &Axis), colour: &'static str) {
    let places: Vec<Place> =
        points.iter().map(|point| frame.place(x.share(point.processes), y.share(point.median))).collect();
    frame.canvas.open_path(&places, true, Stroke::new(colour, 2.2));
    if places.len() <= 40 {
        frame.canvas.dots(&places, 6.0, colour);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(name: &str, growth: f64, inflection: Option<f64>) -> Curve {
        let point = |power: i32| {
            let (processes, median) = (f64::from(power).exp2(), 1.0 + growth * f64::from(power));
            CurvePoint { processes, median, low: 0.9 * median, high: 1.1 * median }
        };
        Curve { name: name.into(), points: (1..=20).map(point).collect(), inflection }
    }

    #[test]
    fn curves_have_bands_names_and_a_line() {
        let curves = vec![curve("allreduce", 1.5, Some(4096.0)), curve("<barrier>", 0.5, None)];
        let svg = SlowdownCurves { curves, ..Default::default() }.draw(&Heading::default());
        assert_eq!(svg.matches("fill-opacity=\"0.18\"").count(), 2);
        assert_eq!(svg.matches("stroke-dasharray").count(), 1);
        assert!(
            svg.contains("allreduce: noise dominates from 4,096 processes")
                && svg.contains("&lt;barrier&gt;")
        );
        assert!(svg.contains(">1M<") && svg.contains(">10×<"), "{svg}");
    }

    #[test]
    fn small_slowdowns_are_linear() {
        let curves = vec![curve("x", 0.01, None)];
        let svg = SlowdownCurves { curves, ..Default::default() }.draw(&Heading::default());
        assert!(svg.contains(">1.0×<") && svg.contains(">1.2×<"), "{svg}");
    }
}
