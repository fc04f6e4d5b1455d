//! Bars over bins: filled for one series, steps for several.

use super::{axis, colour, entry, legend};
use crate::charts::Heading;
use crate::charts::axis::{Axis, Scale, drawable};
use crate::charts::canvas::{Place, Stroke};
use crate::charts::frame::{Frame, Mark};
use crate::page::{Histogram, HistogramSeries};

pub fn draw(plot: &Histogram, heading: &Heading) -> String {
    let edges = plot.series.iter().flat_map(|series| series.edges.iter().copied());
    let counts = || plot.series.iter().flat_map(|series| series.counts.iter().copied());
    let x = axis(&plot.x, edges);
    let y = axis(&plot.y, counts().filter(|&count| count > 0.0).chain(floor(super::scale(&plot.y))));
    let y = y.with_room(0.0, 0.05);
    let entries =
        plot.series.iter().enumerate().map(|(i, series)| entry(&series.name, colour(i), Mark::Line));
    let mut frame = Frame::with_axes(heading, &legend(entries.collect()), &x, &y);
    if counts().all(|count| count.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater)) {
        frame.draw_remark("no data");
        return frame.finish();
    }
    for (index, series) in plot.series.iter().enumerate() {
        match plot.series.len() {
            1 => fill(&mut frame, series, (&x, &y)),
            _ => {
                let places = outline(&frame, series, (&x, &y));
                frame.canvas.open_path(&places, true, Stroke::new(colour(index), 1.8));
            }
        }
    }
    frame.finish()
}

/// Bars stand on zero, or on half of a count where there is no zero.
fn floor(scale: Scale) -> Option<f64> {
    Some(if scale == Scale::Linear { 0.0 } else { 0.5 })
}

/// From where to where each bin goes and how high it is, as shares.
fn bins(series: &HistogramSeries, (x, y): (&Axis, &Axis)) -> Vec<(f64, f64, f64)> {
    let pairs = series.edges.windows(2).zip(&series.counts);
    let bin = |(edges, &count): (&[f64], &f64)| match edges {
        &[from, to] if drawable(to, x.scale) && from < to && !count.is_nan() => {
            let height = if drawable(count, y.scale) { y.share(count) } else { 0.0 };
            Some((x.share(from), x.share(to), height))
        }
        _ => None,
    };
    pairs.filter_map(bin).collect()
}

fn fill(frame: &mut Frame, series: &HistogramSeries, axes: (&Axis, &Axis)) {
    for (from, to, height) in bins(series, axes).into_iter().filter(|bin| bin.2 > 0.0) {
        let ((left, top), (right, bottom)) = (frame.place(from, height), frame.place(to, 0.0));
        frame.canvas.rectangle((left, top), ((right - left - 1.0).max(0.5), bottom - top), colour(0));
    }
}

fn outline(frame: &Frame, series: &HistogramSeries, axes: (&Axis, &Axis)) -> Vec<Place> {
    let bins = bins(series, axes);
    let (Some(&(first, ..)), Some(&(_, last, _))) = (bins.first(), bins.last()) else { return Vec::new() };
    let mut places = vec![frame.place(first, 0.0)];
    for (from, to, height) in bins {
        places.extend([frame.place(from, height), frame.place(to, height)]);
    }
    places.push(frame.place(last, 0.0));
    places
}
