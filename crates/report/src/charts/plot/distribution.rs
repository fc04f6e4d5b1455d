//! Empirical distribution functions: the share of values that are at most x, with a step at every
//! value.

use super::{entry, left_out, looks, marks};
use crate::charts::Heading;
use crate::charts::axis::{Axis, Extent, Range, drawable};
use crate::charts::canvas::{Drawing, Point, Stroke};
use crate::charts::frame::{Entry, Frame, Mark};
use crate::charts::palette::{self, Colour};
use crate::charts::reduced::reduced;
use crate::numbers::counted;
use crate::page::{self, Distribution, Sample, Scale, Unit};

/// With more values than this, steps are smaller than pixels.
const MOST_STEPS: usize = 4000;

pub fn draw(plot: &Distribution, heading: &Heading) -> Drawing {
    let values: Vec<Vec<f64>> = plot.series.iter().map(|sample| shown(sample, plot.x.scale)).collect();
    let (x, y) = axes(plot);
    let missing: usize =
        plot.series.iter().zip(&values).map(|(sample, values)| sample.values.len() - values.len()).sum();
    let heading = heading.with_remark(&left_out(missing, "value", "values"));
    if values.iter().all(Vec::is_empty) {
        return super::empty(&heading, &x, &y);
    }
    let looks = looks(plot.series.iter().map(|sample| sample.sum));
    let entry = |((sample, values), &(colour, _)): ((&Sample, &Vec<f64>), &(Colour, bool))| Entry {
        detail: counted(values.len() as u64, "value", "values"),
        ..entry(&sample.name, colour, Mark::Line)
    };
    let legend: Vec<Entry> = plot.series.iter().zip(&values).zip(&looks).map(entry).collect();
    let mut frame = Frame::with_axes(&heading, &legend, &x, &y);
    let mut curves = Vec::new();
    for ((sample, values), &(colour, dashed)) in plot.series.iter().zip(&values).zip(&looks) {
        let places = curve(&frame, values, sample.values.len(), (&x, &y));
        curves.extend(places.windows(2).map(|part| (part[0], part[1])));
        frame.canvas.open_path(&reduced(&places), true, Stroke { dashed, ..Stroke::new(colour, 2.0) });
    }
    marks::draw(&mut frame, &plot.marks, &curves, (&x, &y), palette::REFERENCE);
    frame.finish()
}

pub fn axes(plot: &Distribution) -> (Axis, Axis) {
    let values = plot.series.iter().flat_map(|sample| sample.values.iter().copied());
    let values = values.chain(plot.marks.iter().filter_map(|mark| mark.x));
    let y = page::Axis::linear("share of values up to x", Unit::Share);
    let across = Extent::new(&plot.x, values).padded(0.02);
    (Axis::new(&plot.x, across), Axis::new(&y, Range { low: 0.0, high: 1.02 }))
}

/// The values that the axis can show, sorted. [`curve`] counts the others as lying below them.
fn shown(sample: &Sample, scale: Scale) -> Vec<f64> {
    let mut values: Vec<f64> =
        sample.values.iter().copied().filter(|&value| drawable(value, scale)).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn curve(frame: &Frame, values: &[f64], all: usize, (x, y): (&Axis, &Axis)) -> Vec<Point> {
    let (below, all) = (all - values.len(), all.max(1) as f64);
    let share = |index: usize| y.share((below + index) as f64 / all);
    let Some(&first) = values.first() else { return Vec::new() };
    let mut places = vec![frame.place(x.share(first), share(0))];
    for (index, &value) in values.iter().enumerate() {
        if values.len() <= MOST_STEPS {
            places.push(frame.place(x.share(value), share(index)));
        }
        places.push(frame.place(x.share(value), share(index + 1)));
    }
    places.push(frame.place(1.0, share(values.len())));
    places
}
