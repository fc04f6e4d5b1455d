//! Fits two log-normal distributions with a common shift: expectation–maximisation over cells, then a search over all
//! parameters.

use super::family::{LogNormal, Model};
use super::{Data, simplex};

const ROUNDS: usize = 300;
/// The smallest sigma; a narrower part would cover a single cell.
const NARROWEST: f64 = 0.005;

/// How often a search restarts where it ended, with a fresh simplex: in six dimensions a simplex gets stuck.
const RESTARTS: usize = 4;
/// The number of EM results from which all parameters are searched.
const SEARCHED: usize = 2;

/// The most likely mixture, and how far below the minimum it begins. Expectation–maximisation locates the parts for a
/// few shifts; the search over all parameters starts from the best of these and from the `single` log-normal.
pub(super) fn fit(data: &Data, starts: &[f64], single: Option<(LogNormal, f64)>) -> Option<(Model, f64)> {
    let most = data.most_below();
    // `most` is a shift of zero: two modes far above 0 then have the most similar widths on a logarithmic axis.
    let shifts = starts.iter().copied().chain([8.0, most]).filter(|&below| below <= most);
    let splits = [0.15, 0.5, 0.8, 0.95];
    let tried = shifts.flat_map(|below| splits.map(|split| (below, split)));
    let mut begun: Vec<(f64, Mixture)> = tried
        .filter_map(|(below, split)| {
            let (weight, parts) = from_split(data, below, split)?;
            let mixture = Mixture { below, weight, parts };
            Some((mixture.log_likelihood(data), mixture))
        })
        .collect();
    begun.sort_by(|a, b| b.0.total_cmp(&a.0));
    let begun = begun.into_iter().take(SEARCHED).map(|(_, mixture)| mixture);
    let searched = begun.chain(single.into_iter().flat_map(like_single)).map(|start| start.improved(data));
    let best = searched.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some((best.1.model(), best.1.below))
}

/// Two starting points at a single log-normal: one with a negligible second part, and one with a wider second part.
fn like_single((one, below): (LogNormal, f64)) -> [Mixture; 2] {
    let wider = LogNormal { sigma: 1.5 * one.sigma, ..one };
    [1.0 - 1e-9, 0.8].map(|weight| Mixture { below, weight, parts: [one, wider] })
}

#[derive(Clone, Copy)]
struct Mixture {
    below: f64,
    weight: f64,
    parts: [LogNormal; 2],
}

impl Mixture {
    /// The lower part first.
    fn model(self) -> Model {
        let Mixture { weight, parts: [one, two], .. } = self;
        if one.location <= two.location {
            Model::Two { weight, parts: [one, two] }
        } else {
            Model::Two { weight: 1.0 - weight, parts: [two, one] }
        }
    }

    fn log_likelihood(self, data: &Data) -> f64 {
        data.log_likelihood(&self.model(), self.below)
    }

    /// All parameters, transformed to be unbounded: the weight as log-odds, positive values as logarithms.
    fn point(self) -> [f64; 6] {
        let Mixture { below, weight, parts: [one, two] } = self;
        let odds = (weight / (1.0 - weight)).ln();
        [below.max(1e-9).ln(), odds, one.location, one.sigma.ln(), two.location, two.sigma.ln()]
    }

    fn at(point: &[f64], most_below: f64) -> Mixture {
        let part = |location: f64, sigma: f64| LogNormal { location, sigma: sigma.exp().max(NARROWEST) };
        Mixture {
            below: point[0].exp().min(most_below),
            weight: 1.0 / (1.0 + (-point[1]).exp()),
            parts: [part(point[2], point[3]), part(point[4], point[5])],
        }
    }

    /// The most likely mixture near this one, and its likelihood.
    fn improved(self, data: &Data) -> (f64, Mixture) {
        let at = |point: &[f64]| Mixture::at(point, data.most_below());
        let mut best = (self.point().to_vec(), -self.log_likelihood(data));
        for _ in 0..RESTARTS {
            let next = simplex::minimise(&best.0, 0.1, |point| -at(point).log_likelihood(data));
            let gained = best.1 - next.1;
            best = if gained > 0.0 { next } else { best };
            if gained < 0.01 {
                break;
            }
        }
        (-best.1, at(&best.0))
    }
}

/// A cell: the logarithm of its middle, and its weight.
struct Point {
    at: f64,
    count: f64,
    /// Half of its width on the logarithmic axis.
    half: f64,
}

fn from_split(data: &Data, below: f64, split: f64) -> Option<(f64, [LogNormal; 2])> {
    let points: Vec<Point> = data
        .cells
        .iter()
        .map(|cell| {
            let (low, high) = ((cell.low + below).max(1e-9), cell.high + below);
            let at = ((low + high) / 2.0).ln();
            Point { at, count: cell.count as f64, half: ((high / low).ln() / 2.0).min(1.0) }
        })
        .collect();
    // Start with hard assignments: the lowest trials belong to the first part, the others to the second.
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
    Some(model)
}

/// The most likely parts for these assignments; none if one of them has lost its trials.
fn maximised(points: &[Point], first: &[f64]) -> Option<(f64, [LogNormal; 2])> {
    let part = |share: &dyn Fn(f64) -> f64| {
        let weighed = || points.iter().zip(first).map(|(point, &one)| (point, share(one) * point.count));
        let sum: f64 = weighed().map(|(_, weight)| weight).sum();
        if sum < 3.0 {
            return None;
        }
        let location = weighed().map(|(point, weight)| weight * point.at).sum::<f64>() / sum;
        // A third of the squared half width is the variance within a cell, which its middle lacks.
        let square = |point: &Point| (point.at - location).powi(2) + point.half.powi(2) / 3.0;
        let variance = weighed().map(|(point, weight)| weight * square(point)).sum::<f64>() / sum;
        Some((sum, LogNormal { location, sigma: variance.sqrt().max(NARROWEST) }))
    };
    let ((one, first_part), (two, second_part)) = (part(&|one| one)?, part(&|one| 1.0 - one)?);
    Some((one / (one + two), [first_part, second_part]))
}
