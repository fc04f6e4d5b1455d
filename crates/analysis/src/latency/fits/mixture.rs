//! Two log-normal distributions, by expectation and maximisation over cells.

use super::Data;
use super::family::{LogNormal, Model};

const ROUNDS: usize = 300;
/// Narrower than this a part stands for one cell only.
const NARROWEST: f64 = 0.005;

/// The best of searches from several splits and shifts, and how far below the minimum it begins.
pub(super) fn fit(data: &Data, starts: &[f64]) -> Option<(Model, f64)> {
    let most = data.min / data.unit;
    // Without a shift as well: two modes far above 0 are then most alike on a logarithmic axis.
    let shifts = starts.iter().copied().chain([8.0, most]).filter(|&below| below <= most);
    let splits = [0.15, 0.5, 0.8, 0.95];
    let tried = shifts.flat_map(|below| splits.map(|split| (below, split)));
    let judged = tried.filter_map(|(below, split)| {
        let model = from_split(data, below, split)?;
        Some((data.log_likelihood(&model, below), model, below))
    });
    let best = judged.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some((best.1, best.2))
}

/// A cell as the logarithm of its middle and its weight.
struct Point {
    at: f64,
    count: f64,
    /// Half of its width.
    half: f64,
}

fn from_split(data: &Data, below: f64, split: f64) -> Option<Model> {
    let points: Vec<Point> = data
        .cells
        .iter()
        .map(|cell| {
            let (low, high) = ((cell.low + below).max(1e-9), cell.high + below);
            let at = ((low + high) / 2.0).ln();
            Point { at, count: cell.count as f64, half: ((high / low).ln() / 2.0).min(1.0) }
        })
        .collect();
    // Hard shares first: the lower part of the trials and the rest.
    let mut seen = 0.0;
    let mut first: Vec<f64> = points
        .iter()
        .map(|point| {
            seen += point.count;
            f64::from(seen <= split * data.count)
        })
        .collect();
    let mut model = maximised(&points, &first)?;
    for _ in 0..ROUNDS {
        let (weight, parts) = model;
        for (share, point) in first.iter_mut().zip(&points) {
            let likely = |part: &LogNormal| {
                let z = (point.at - part.location) / part.sigma;
                (-0.5 * z * z).exp() / part.sigma
            };
            let (one, two) = (weight * likely(&parts[0]), (1.0 - weight) * likely(&parts[1]));
            *share =
                if one + two > 0.0 { one / (one + two) } else { f64::from(point.at < parts[0].location) };
        }
        let next = maximised(&points, &first)?;
        let moved = (next.0 - model.0).abs() + (next.1[0].location - model.1[0].location).abs();
        model = next;
        if moved < 1e-9 {
            break;
        }
    }
    let (weight, parts) = model;
    let ordered = parts[0].location <= parts[1].location;
    let (weight, parts) = if ordered { (weight, parts) } else { (1.0 - weight, [parts[1], parts[0]]) };
    Some(Model::Two { weight, parts })
}

/// The parts that are most likely for these shares; nothing where one of them has lost its trials.
fn maximised(points: &[Point], first: &[f64]) -> Option<(f64, [LogNormal; 2])> {
    let part = |share: &dyn Fn(f64) -> f64| {
        let weighed = || points.iter().zip(first).map(|(point, &one)| (point, share(one) * point.count));
        let sum: f64 = weighed().map(|(_, weight)| weight).sum();
        if sum < 3.0 {
            return None;
        }
        let location = weighed().map(|(point, weight)| weight * point.at).sum::<f64>() / sum;
        // A third of the squared half width is the variance within a cell, which its middle does not have.
        let square = |point: &Point| (point.at - location).powi(2) + point.half.powi(2) / 3.0;
        let variance = weighed().map(|(point, weight)| weight * square(point)).sum::<f64>() / sum;
        Some((sum, LogNormal { location, sigma: variance.sqrt().max(NARROWEST) }))
    };
    let ((one, first_part), (two, second_part)) = (part(&|one| one)?, part(&|one| 1.0 - one)?);
    Some((one / (one + two), [first_part, second_part]))
}
