//! Which share of the values is at most x: a step at every value.

use super::{axis, colour, entry, left_out, scale};
use crate::charts::Heading;
use crate::charts::axis::{Axis, Scale, drawable};
use crate::charts::canvas::{Place, Stroke};
use crate::charts::frame::{Entry, Frame, Mark};
use crate::charts::lines::reduced;
use crate::charts::unit::Unit;
use crate::numbers::counted;
use crate::page::{Distribution, Sample};

/// Beyond so many values, steps are smaller than pixels.
const MOST_STEPS: usize = 4000;

pub fn draw(plot: &Distribution, heading: &Heading) -> String {
    let values: Vec<Vec<f64>> = plot.series.iter().map(|sample| shown(sample, scale(&plot.x))).collect();
    let x = axis(&plot.x, values.iter().flatten().copied()).with_room(0.02, 0.02);
    let y = Axis::fitting("share of the values up to it", Scale::Linear, Unit::Share, [0.0, 1.0])
        .with_room(0.0, 0.03);
    let missing: usize =
        plot.series.iter().zip(&values).map(|(sample, values)| sample.values.len() - values.len()).sum();
    let heading = heading.with_remark(&left_out(missing, "value", "values"));
    if values.iter().all(Vec::is_empty) {
        return super::empty(&heading, &x, &y);
    }
    let entry = |(index, (sample, values)): (usize, (&Sample, &Vec<f64>))| Entry {
        detail: counted(values.len() as u64, "value", "values"),
        ..entry(&sample.name, colour(index), Mark::Line)
    };
    let legend: Vec<Entry> = plot.series.iter().zip(&values).enumerate().map(entry).collect();
    let mut frame = Frame::with_axes(&heading, &legend, &x, &y);
    for (index, (sample, values)) in plot.series.iter().zip(&values).enumerate() {
        let places = curve(&frame, values, sample.values.len(), (&x, &y));
        frame.canvas.open_path(&reduced(&places), true, Stroke::new(colour(index), 2.0));
    }
    frame.finish()
}

/// Values below what a logarithmic axis shows still count, so that shares stay those of all values.
fn shown(sample: &Sample, scale: Scale) -> Vec<f64> {
    let mut values: Vec<f64> =
        sample.values.iter().copied().filter(|&value| drawable(value, scale)).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn curve(frame: &Frame, values: &[f64], all: usize, (x, y): (&Axis, &Axis)) -> Vec<Place> {
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
