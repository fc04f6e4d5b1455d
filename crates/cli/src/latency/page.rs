//! Pictures of measured latencies: densities, distribution functions, tails, pairs and cycles.

use straggler_analysis::latency::{Distribution, Pairs, noise::NoiseTail};
use straggler_model::latency::Cycle;
use straggler_report::page::{Axis, Chart, Heat, Line, Lines, Role, Scale, Unit};

/// A distribution with the name of its curve.
pub struct Named<'a> {
    pub name: String,
    pub distribution: &'a Distribution,
}

/// Approximate number of points of a curve.
const POINTS: f64 = 250.0;
/// Smallest logarithmic step between points: about the width of a bin.
const FINEST: f64 = 0.008;
const SECONDS: f64 = 1e-12;

fn times() -> Axis {
    Axis::new("time of a trial", Unit::Seconds, Scale::Log10)
}

/// Counts trials in steps of equal ratio. Returns the logarithm of the start, the logarithmic step,
/// and the counts.
fn stepped(distribution: &Distribution) -> (f64, f64, Vec<f64>) {
    let (low, high) = distribution.known_range().unwrap_or((1.0, 1.0));
    let low = low.max(1.0);
    let step = ((high.max(low) / low).ln() / POINTS).max(FINEST);
    let (from, counts) = distribution.on_log_grid(step, 0.0);
    (from, step, counts)
}

/// Density of trials per microsecond; both axes are logarithmic.
pub fn density(all: &[Named<'_>], command: &str, synthetic: bool) -> Chart {
    let line = |one: &Named<'_>| curve(&one.name, densities(one.distribution).into_iter());
    let y = Axis::new("density per µs", Unit::None, Scale::Log10);
    let lines = Lines { x: times(), y, series: all.iter().map(line).collect(), marks: Vec::new() };
    Chart::new("Probability density", command, lines).synthetic(synthetic)
}

/// Fewest trials per point of the density: single bins would make the curve a comb.
const TOGETHER: f64 = 3.0;
/// More empty steps than this are a gap, not chance.
const GAP: usize = 4;

/// Times in seconds and densities per microsecond. At both ends of a gap the curve falls to a floor below all its
/// points, because a logarithmic axis has no 0. A NaN between them interrupts the line.
fn densities(distribution: &Distribution) -> Vec<(f64, f64)> {
    let (from, step, counts) = stepped(distribution);
    let edge = |place: usize| (from + place as f64 * step).exp();
    let (mut points, mut gaps) = (Vec::new(), Vec::new());
    let (mut start, mut held, mut empty) = (None, 0.0, 0);
    for (place, &count) in counts.iter().enumerate() {
        empty = if count > 0.0 { 0 } else { empty + 1 };
        if count > 0.0 && start.is_none() {
            start = Some(place);
        }
        held += count;
        let ends = held >= TOGETHER || empty > GAP || place + 1 == counts.len();
        if let Some(first) = start.filter(|_| ends) {
            let (low, high) = (edge(first), edge(place + 1 - empty));
            points.push(((low * high).sqrt() * SECONDS, held / ((high - low) * 1e-6)));
            (start, held) = (None, 0.0);
        }
        if empty == GAP + 1 {
            gaps.push(edge(place + 1 - empty) * SECONDS);
        } else if empty == 0
            && place > GAP
            && counts[place - GAP - 1..place].iter().all(|&count| count == 0.0)
        {
            gaps.push(edge(place) * SECONDS);
        }
    }
    let floor = points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min) / 2.0;
    let (first, last) =
        (points.first().map_or(0.0, |point| point.0), points.last().map_or(0.0, |point| point.0));
    let gaps: Vec<f64> = gaps.into_iter().filter(|&at| at > first && at < last).collect();
    points.extend(gaps.chunks_exact(2).map(|ends| ((ends[0] * ends[1]).sqrt(), f64::NAN)));
    points.extend(gaps.into_iter().map(|at| (at, floor)));
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total = distribution.count() as f64;
    points.into_iter().map(|(at, count)| (at, count / total)).collect()
}

/// The share of trials up to a time.
pub fn distribution(all: &[Named<'_>], command: &str, synthetic: bool) -> Chart {
    let line = |one: &Named<'_>| curve(&one.name, shares_below(one.distribution).into_iter());
    let series = all.iter().map(line).collect();
    let lines = Lines { x: times(), y: Axis::whole("share of trials up to x"), series, marks: Vec::new() };
    Chart::new("Cumulative distribution", command, lines).synthetic(synthetic)
}

/// The share of trials beyond a time, on logarithmic axes, to read quantiles of the tail.
pub fn tail(all: &[Named<'_>], noise: Option<&NoiseTail>, command: &str, synthetic: bool) -> Chart {
    let line = |one: &Named<'_>| {
        let points = shares_below(one.distribution).into_iter().map(|(at, share)| (at, 1.0 - share));
        // No share is smaller than that of a single trial; half of it forgives rounding.
        let least = 0.5 / one.distribution.count() as f64;
        curve(&one.name, points.filter(|&(_, share)| share > least))
    };
    let mut series: Vec<Line> = all.iter().map(line).collect();
    series.extend(noise.map(|noise| {
        let points = noise.points.iter().filter(|point| point.predicted > 0.0);
        let points = points.map(|point| (point.at_ps * SECONDS, point.predicted));
        Line { role: Role::Reference, ..curve("predicted by the noise", points) }
    }));
    let y = Axis::new("share of trials longer than x", Unit::Share, Scale::Log10);
    let lines = Lines { x: times(), y, series, marks: Vec::new() };
    Chart::new("Tail", command, lines).synthetic(synthetic)
}

fn shares_below(distribution: &Distribution) -> Vec<(f64, f64)> {
    let (from, step, counts) = stepped(distribution);
    let total = distribution.count() as f64;
    // Trials shorter than the timer's cost lie below all others.
    let mut seen = distribution.unknown()[0] as f64;
    let point = |(place, count): (usize, &f64)| {
        seen += count;
        ((from + (place + 1) as f64 * step).exp() * SECONDS, (seen / total).min(1.0))
    };
    counts.iter().enumerate().map(point).collect()
}

fn curve(name: &str, points: impl Iterator<Item = (f64, f64)>) -> Line {
    let (x, y) = points.unzip();
    Line { name: name.into(), role: Role::Measured, x, y, low: None, high: None }
}

/// The median of every pair.
pub fn heat(pairs: &Pairs, command: &str, synthetic: bool) -> Chart {
    let axis = |label: &str| Axis::linear(label, Unit::Count);
    let value = Axis::new("median", Unit::Seconds, Scale::Linear);
    let ranks: Vec<f64> = pairs.ranks.iter().map(|&rank| f64::from(rank)).collect();
    let mut values = vec![f64::NAN; ranks.len() * ranks.len()];
    let place = |rank| pairs.ranks.partition_point(|&other| other < rank);
    // A pair whose median lies outside the bins stays empty.
    for pair in pairs.pairs.iter().filter(|pair| pair.outside.is_none()) {
        let (from, to) = (place(pair.from), place(pair.to));
        values[from * ranks.len() + to] = pair.median_ps * SECONDS;
        // A pair measured in one direction only fills both cells.
        let turned = &mut values[to * ranks.len() + from];
        if turned.is_nan() {
            *turned = pair.median_ps * SECONDS;
        }
    }
    let heat = Heat { x: axis("process"), y: axis("process"), value, xs: ranks.clone(), ys: ranks, values };
    Chart::new("Pairs of processes", command, heat).synthetic(synthetic)
}

/// Medians of cycles over the run. None for fewer than three cycles, or several series of cycles.
pub fn cycles(cycles: &[Vec<Cycle>], command: &str, synthetic: bool) -> Option<Chart> {
    let mut all: Vec<&Cycle> = cycles.iter().flatten().collect();
    all.sort_by_key(|cycle| cycle.started_ns);
    let first = all.first()?.started_ns;
    if all.len() < 3 || cycles.len() > 1 {
        return None;
    }
    // Lists of times do not record when they were measured, so their cycles are numbered.
    let timed = first > 1_000_000;
    let unit = if timed { 1e-9 } else { 1.0 };
    // A median outside the bins is only a bound, which is not drawn.
    let known = all.iter().filter(|cycle| cycle.median_outside.is_none());
    let points =
        known.map(|cycle| ((cycle.started_ns - first) as f64 * unit, cycle.median.ps() as f64 * SECONDS));
    let x = if timed {
        Axis::linear("time since the first cycle", Unit::Seconds)
    } else {
        Axis::linear("cycle", Unit::Count)
    };
    let y = Axis::linear("median of the cycle", Unit::Seconds);
    let lines = Lines { x, y, series: vec![curve("cycles", points)], marks: Vec::new() };
    Some(Chart::new("Cycles", command, lines).synthetic(synthetic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::Time;

    /// Two modes with nothing between them: the curve ends, and begins again.
    #[test]
    fn a_gap_has_no_density() {
        let mut times: Vec<Time> = (0..400).map(|trial| Time(1_000_000 + 500 * trial)).collect();
        times.extend((0..400).map(|trial| Time(9_000_000 + 5000 * trial)));
        let points = densities(&Distribution::of_sorted(&times).unwrap());
        assert!(points.is_sorted_by(|a, b| a.0 <= b.0));
        let empty: Vec<f64> = points.iter().filter(|point| point.1.is_nan()).map(|point| point.0).collect();
        assert!(matches!(empty[..], [at] if at > 1.2e-6 && at < 9e-6), "{empty:?}");
        let whole: Vec<Time> = (0..4000).map(|trial| Time(1_000_000 + 500 * trial)).collect();
        assert!(densities(&Distribution::of_sorted(&whole).unwrap()).iter().all(|point| !point.1.is_nan()));
    }
}
