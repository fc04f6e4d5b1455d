//! Derives parameters from the samples, with their uncertainty.
//!
//! [`Values`] is one set of parameters, from the medians over some batches and some of the sizes. From all of them it
//! is the estimate; from batches and sizes resampled with replacement, it shows what a repeated measurement might
//! have given. An interval contains 95 % of the resampled values.

use super::experiments::{Samples, Series};
use super::{Estimate, Settings};
use crate::regression::{LEAST, Line, Point, robust_line, segments};
use std::ops::Range;
use straggler_model::philox::Stream;
use straggler_model::stats::robust::MAD_TO_SIGMA;
use straggler_model::stats::{median_in_place, quantile_of_sorted};

/// The share outside an interval, at either end.
const OUTSIDE: f64 = 0.025;

/// Deviations of a real network from a straight line are at least this share of the time.
const STRAIGHT: f64 = 0.005;

/// For normal values: the standard error of the median relative to that of the mean, and the standard deviation
/// relative to the median absolute deviation.
const OF_MEDIAN: f64 = 1.2533;
const OF_DEVIATION: f64 = MAD_TO_SIGMA;

/// A sender is limited by g + b·G if sends in a row take this many times as long as single ones.
const HELD_UP: f64 = 1.1;

/// At most this many sizes are used for g: the smallest ones, because the error of b·G grows with b.
const TELLING: usize = 8;

/// One set of parameters, in picoseconds.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Values {
    /// o_s; none if no message is sent eagerly.
    pub send: Option<f64>,
    /// o_s from sends with a computation between them.
    pub spaced: f64,
    /// o_r.
    pub receive: f64,
    /// One byte there and one byte back.
    pub trip: f64,
    /// From one byte to the next in a train, until all are received: max(o_s, o_r, g).
    pub period: f64,
    /// The same, until the sender is done: max(o_s, g).
    pub sent_period: f64,
    /// g from the sizes at which it holds up the sender; none if there are none.
    pub gap: Option<f64>,
    /// O; none if too few sizes are sent eagerly.
    pub overhead_per_byte: Option<f64>,
    /// Time there and one byte back over the size, for each protocol.
    pub lines: Vec<Line>,
    /// Time per byte in a stream of the largest messages.
    pub stream_per_byte: f64,
}

impl Values {
    /// o_s, or a quarter of the one-way time if o_s is unknown.
    pub fn send_overhead(&self) -> f64 {
        self.send.unwrap_or(self.trip / 8.0)
    }

    pub fn latency(&self) -> f64 {
        self.trip / 2.0 - self.send_overhead() - self.receive
    }
}

/// The parameters, and those of the bootstrap samples.
#[derive(Debug)]
pub(super) struct Estimates {
    /// The ranges of sizes of each protocol.
    pub pieces: Vec<Range<usize>>,
    pub point: Values,
    drawn: Vec<Values>,
}

impl Estimates {
    pub fn new(samples: &Samples, settings: &Settings) -> Estimates {
        let analysis = Analysis::new(samples);
        let all: Vec<usize> = (0..samples.batches).collect();
        let point = analysis.values(&all, &mut |sizes| sizes.collect());
        let drawn = (0..settings.draws.max(1)).map(|draw| {
            let mut stream = Stream::new(settings.seed, draw as u32, 0, 0);
            let mut pick = |range: Range<usize>| range.start + stream.below(range.len() as u64) as usize;
            let batches: Vec<usize> = all.iter().map(|_| pick(0..all.len())).collect();
            analysis.values(&batches, &mut |sizes| sizes.clone().map(|_| pick(sizes.clone())).collect())
        });
        Estimates { drawn: drawn.collect(), pieces: analysis.pieces.clone(), point }
    }

    /// Any quantity with its interval, which is extended to contain the estimate itself.
    pub fn estimate(&self, quantity: impl Fn(&Values) -> f64) -> Estimate {
        let ps = quantity(&self.point);
        let mut drawn: Vec<f64> = self.drawn.iter().map(quantity).collect();
        drawn.sort_unstable_by(f64::total_cmp);
        let at = |share| quantile_of_sorted(&drawn, share).unwrap_or(ps);
        Estimate { ps, low_ps: at(OUTSIDE).min(ps), high_ps: at(1.0 - OUTSIDE).max(ps) }
    }
}

/// Decisions made once for all bootstrap samples.
struct Analysis<'a> {
    samples: &'a Samples,
    /// The errors of `single` and of `sends`.
    single_errors: Vec<f64>,
    send_errors: Vec<f64>,
    pieces: Vec<Range<usize>>,
    /// Eager sizes used for O: the last range that is sent in the same way.
    copied: Range<usize>,
    /// Sizes used for g.
    telling: Vec<usize>,
}

/// The median over some batches.
fn median(series: &Series, batches: &[usize]) -> f64 {
    let mut values: Vec<i64> = batches.iter().filter_map(|&batch| series.get(batch).copied()).collect();
    median_in_place(&mut values).unwrap_or(0) as f64
}

fn medians(all: &[Series], batches: &[usize]) -> Vec<f64> {
    all.iter().map(|series| median(series, batches)).collect()
}

/// How far the median of a series may deviate from a straight line.
fn error(series: &Series) -> f64 {
    let middle = median_in_place(&mut series.clone()).unwrap_or(0);
    let mut off: Vec<u64> = series.iter().map(|value| value.abs_diff(middle)).collect();
    let deviation = OF_DEVIATION * median_in_place(&mut off).unwrap_or(0) as f64;
    1.0 + STRAIGHT * middle.unsigned_abs() as f64
        + OF_MEDIAN * deviation / (series.len().max(1) as f64).sqrt()
}

/// Splits the sizes into ranges that do not cross `cut`, the first size beyond S: larger messages use another
/// protocol, even if their times do not show it. If one side has too few sizes for a line, `cut` is ignored.
fn segments_around(points: &[Point], cut: usize) -> Vec<Range<usize>> {
    let (eager, waiting) = points.split_at(cut.min(points.len()));
    if eager.len() < LEAST || waiting.len() < LEAST {
        return segments(points);
    }
    let behind = segments(waiting).into_iter().map(|piece| piece.start + cut..piece.end + cut);
    segments(eager).into_iter().chain(behind).collect()
}

/// A level line at the median of some times.
fn level(times: &[f64]) -> Line {
    let mut times: Vec<i64> = times.iter().map(|time| time.round() as i64).collect();
    Line { at_zero: median_in_place(&mut times).unwrap_or(0) as f64, slope: 0.0 }
}

impl<'a> Analysis<'a> {
    fn new(samples: &'a Samples) -> Analysis<'a> {
        let errors = |all: &[Series]| all.iter().map(error).collect();
        let mut analysis = Analysis {
            samples,
            single_errors: errors(&samples.single),
            send_errors: errors(&samples.sends),
            pieces: Vec::new(),
            copied: 0..0,
            telling: Vec::new(),
        };
        let all: Vec<usize> = (0..samples.batches).collect();
        let single = medians(&samples.single, &all);
        let points: Vec<Point> =
            (0..single.len()).map(|index| analysis.single_point(&single, index)).collect();
        analysis.pieces = segments_around(&points, samples.sends.len());
        let (sent, sends) = (medians(&samples.sent, &all), medians(&samples.sends, &all));
        let points: Vec<Point> = (0..sends.len()).map(|index| analysis.send_point(&sends, index)).collect();
        analysis.copied = segments(&points).pop().unwrap_or(0..0);
        let held_up = |&index: &usize| sent[index] > HELD_UP * sends[index];
        analysis.telling = (0..sent.len()).filter(held_up).take(TELLING).collect();
        analysis
    }

    /// The number of bytes that cost time.
    fn paid(&self, index: usize) -> f64 {
        self.samples.sizes[index].saturating_sub(1) as f64
    }

    fn single_point(&self, single: &[f64], index: usize) -> Point {
        Point { x: self.paid(index), y: single[index], error: self.single_errors[index] }
    }

    fn send_point(&self, sends: &[f64], index: usize) -> Point {
        Point { x: self.paid(index), y: sends[index], error: self.send_errors[index] }
    }

    fn values(&self, batches: &[usize], choose: &mut dyn FnMut(Range<usize>) -> Vec<usize>) -> Values {
        let of = |series: &Series| median(series, batches);
        let single = medians(&self.samples.single, batches);
        let sends = medians(&self.samples.sends, batches);
        let sent = medians(&self.samples.sent, batches);
        let stream = medians(&self.samples.stream, batches);
        Values {
            send: sends.first().copied(),
            spaced: of(&self.samples.spaced),
            receive: of(&self.samples.receive),
            trip: single.first().copied().unwrap_or(0.0),
            period: stream.first().copied().unwrap_or(0.0),
            sent_period: sent.first().copied().unwrap_or(0.0),
            gap: self.gap(&sent, &single),
            overhead_per_byte: self.overhead_per_byte(&sends, choose(self.copied.clone())),
            lines: self.pieces.iter().map(|piece| self.line(&single, piece, choose)).collect(),
            stream_per_byte: self.stream_per_byte(&stream),
        }
    }

    /// If g + b·G holds up the sender, g is the time between sends less b·G, the extra time of a message of that size
    /// over one byte.
    fn gap(&self, sent: &[f64], single: &[f64]) -> Option<f64> {
        let told =
            self.telling.iter().map(|&index| (sent[index] - (single[index] - single[0])).round() as i64);
        let mut told: Vec<i64> = told.collect();
        median_in_place(&mut told).map(|gap| gap as f64)
    }

    fn overhead_per_byte(&self, sends: &[f64], chosen: Vec<usize>) -> Option<f64> {
        let point = |index| self.send_point(sends, index);
        let points: Vec<Point> = chosen.into_iter().map(point).collect();
        robust_line(&points).map(|line| line.slope)
    }

    /// The line of a protocol. If the chosen sizes do not determine one, all sizes are used. A falling line is noise,
    /// because larger messages are not faster; it is replaced by a level one.
    fn line(
        &self,
        single: &[f64],
        piece: &Range<usize>,
        choose: &mut dyn FnMut(Range<usize>) -> Vec<usize>,
    ) -> Line {
        let points = |chosen: Vec<usize>| -> Vec<Point> {
            chosen.into_iter().map(|index| self.single_point(single, index)).collect()
        };
        let line = robust_line(&points(choose(piece.clone())));
        let line = line.or_else(|| robust_line(&points(piece.clone().collect())));
        line.filter(|line| line.slope >= 0.0).unwrap_or_else(|| level(&single[piece.clone()]))
    }

    /// From the largest size and the smallest one at least half as large.
    fn stream_per_byte(&self, stream: &[f64]) -> f64 {
        let sizes = &self.samples.sizes;
        let (Some(last), Some(&largest)) = (sizes.len().checked_sub(1), sizes.last()) else { return 0.0 };
        let half = sizes.partition_point(|&bytes| bytes < largest / 2);
        let bytes = self.paid(last) - self.paid(half);
        if bytes > 0.0 { (stream[last] - stream[half]) / bytes } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes on one straight line are still cut at S, unless a side has too few of them.
    #[test]
    fn pieces_end_at_the_eager_limit() {
        let points: Vec<Point> =
            (0..20).map(|x| Point { x: f64::from(x), y: 100.0 + f64::from(x), error: 1.0 }).collect();
        let whole = std::slice::from_ref(&(0..20));
        assert_eq!(segments(&points), whole);
        assert_eq!(segments_around(&points, 12), [0..12, 12..20]);
        for cut in [0, LEAST - 1, 20 - LEAST + 1, 20, 30] {
            assert_eq!(segments_around(&points, cut), whole, "{cut}");
        }
    }
}
