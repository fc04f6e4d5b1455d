//! Filled steps over bins, with series overlaid.

use super::{entry, legend, looks};
use crate::charts::Heading;
use crate::charts::axis::{Axis, Extent, Range, drawable};
use crate::charts::canvas::{Drawing, Point, Stroke};
use crate::charts::frame::{Frame, Mark};
use crate::page::{Histogram, HistogramSeries, Scale};

pub fn draw(plot: &Histogram, heading: &Heading) -> Drawing {
    let (x, y) = axes(plot);
    let looks = looks(plot.series.iter().map(|series| series.sum));
    let entries = plot.series.iter().zip(&looks);
    let entries = entries.map(|(series, &(colour, _))| entry(&series.name, colour, Mark::Area));
    let mut frame = Frame::with_axes(heading, &legend(entries.collect()), &x, &y);
    if plot.series.iter().flat_map(|series| &series.counts).all(|&count| !is_some(count)) {
        frame.draw_remark("no data");
        return frame.finish();
    }
    let fill = if plot.series.len() > 1 { 0.22 } else { 0.32 };
    for (series, &(colour, dashed)) in plot.series.iter().zip(&looks) {
        let places = outline(&frame, series, (&x, &y));
        if !places.is_empty() {
            frame.canvas.polygon(&places, colour, fill);
            frame.canvas.open_path(&places, true, Stroke { dashed, ..Stroke::new(colour, 1.5) });
        }
    }
    frame.finish()
}

fn is_some(count: f64) -> bool {
    count > 0.0
}

pub fn axes(plot: &Histogram) -> (Axis, Axis) {
    let edges = plot.series.iter().flat_map(|series| series.edges.iter().copied());
    let counts = plot.series.iter().flat_map(|series| series.counts.iter().copied());
    let across = Extent::new(&plot.x, edges).home(&plot.x, 0.01);
    let up = Extent::new(&plot.y, counts).with_zero(0.05);
    // On a logarithmic axis a bin with a count of one needs some height, too.
    let below = if plot.y.scale == Scale::Linear { 0.0 } else { 0.3 };
    (Axis::new(&plot.x, across), Axis::new(&plot.y, Range { low: up.low - below, ..up }))
}

/// The start, end and height of each bin, as shares.
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

/// The steps of a series, from its first to its last nonempty bin.
fn outline(frame: &Frame, series: &HistogramSeries, axes: (&Axis, &Axis)) -> Vec<Point> {
    let bins = bins(series, axes);
    let used = |bin: &(f64, f64, f64)| is_some(bin.2);
    let (Some(first), Some(last)) = (bins.iter().position(used), bins.iter().rposition(used)) else {
        return Vec::new();
    };
    let bins = &bins[first..=last];
    let mut places = vec![frame.place(bins[0].0, 0.0)];
    for &(from, to, height) in bins {
        places.extend([frame.place(from, height), frame.place(to, height)]);
    }
    places.push(frame.place(bins[bins.len() - 1].1, 0.0));
    places
}
