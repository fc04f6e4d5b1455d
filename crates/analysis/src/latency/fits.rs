//! Fits one-sided distributions with a shift, the smallest possible time, to binned trials.
//!
//! The likelihood is that of the counts in cells, so no trial is assumed to be known better than its bin. The shift
//! is fitted too: the minimum of a sample lies above that of its distribution, but approaches it with many trials.

mod family;
mod mixture;
mod simplex;

pub use family::Family;

use super::Distribution;
use super::distribution::Cell;
use family::Model;
use serde::Serialize;

/// All families that were fitted, the best first.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Fits {
    pub fits: Vec<Fit>,
}

/// A family with its most likely parameters.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Fit {
    pub family: Family,
    /// The shift of the distribution, at most the minimum.
    pub shift_ps: f64,
    pub parameters: Vec<Parameter>,
    /// The largest difference between the distribution functions at the edges of bins (Kolmogorov–Smirnov distance).
    pub distance: f64,
    /// The distance that a sample of this family stays below in 99 of 100 cases, after its parameters were fitted.
    pub chance_distance: f64,
    /// Whether the distance may be due to chance. With many trials no family fits exactly; then judge by the size of
    /// the distance.
    pub fits: bool,
    pub log_likelihood: f64,
    /// The Bayesian information criterion: smaller is better; a difference of 10 leaves no doubt. Akaike's would prefer
    /// two log-normals for every third sample of one, because the second may vanish.
    pub bic: f64,
    /// The 99 % quantile of the fitted distribution, for comparison with the measured one.
    pub p99_ps: f64,
}

/// A parameter of a fitted distribution.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Parameter {
    pub name: &'static str,
    pub value: f64,
}

/// With fewer trials or cells, the shape is not recognisable.
const LEAST_TRIALS: u64 = 50;
const LEAST_CELLS: usize = 6;
/// For the likelihood, cells are merged to about BODY_CELLS in all; none spans more than a relative TAIL_STEP.
const BODY_CELLS: u64 = 80;
const TAIL_STEP: f64 = 0.25;

impl Fits {
    /// None if the shape is not recognisable: too few trials, too few different values, or a median or minimum
    /// outside the bins.
    pub fn new(distribution: &Distribution) -> Option<Fits> {
        let data = Data::new(distribution)?;
        let (mut fits, mut found) = (Vec::new(), Vec::new());
        for family in Family::ALL {
            let Some(begun) = data.search(family, &found) else { continue };
            found.push(begun);
            fits.extend(data.judge(distribution, family, begun));
        }
        fits.sort_by(|a, b| a.bic.total_cmp(&b.bic));
        Some(Fits { fits })
    }

    pub fn best(&self) -> Option<&Fit> {
        self.fits.first()
    }
}

impl Fit {
    pub fn parameter(&self, name: &str) -> Option<f64> {
        self.parameters.iter().find(|parameter| parameter.name == name).map(|parameter| parameter.value)
    }
}

/// A distribution and how far below the minimum it begins, in the units of [`Data`].
type Begun = (Model, f64);

/// Cells above the minimum, in units of the distance from the minimum to the median.
struct Data {
    cells: Vec<Cell>,
    min: f64,
    unit: f64,
    count: f64,
}

impl Data {
    fn new(distribution: &Distribution) -> Option<Data> {
        let (min, median) = (distribution.min_ps, distribution.median());
        let unit = median - min;
        if distribution.outside(0.5).is_some() || distribution.outside(0.0).is_some() {
            return None;
        }
        if distribution.count() < LEAST_TRIALS || distribution.cells().len() < LEAST_CELLS || unit <= 0.0 {
            return None;
        }
        let enough = (distribution.count() / BODY_CELLS).max(1);
        let mut cells: Vec<Cell> = Vec::new();
        for cell in distribution.cells() {
            let end = |ps: f64| (ps.max(min) - min) / unit;
            let (low, high) = (end(cell.low), end(cell.high.min(distribution.max_ps + 1.0)));
            match cells.last_mut() {
                Some(last) if last.count < enough && high < last.low.max(1e-3) * (1.0 + TAIL_STEP) => {
                    (last.high, last.count) = (high, last.count + cell.count);
                }
                _ => cells.push(Cell { low, high: high.max(low + 1e-9), count: cell.count }),
            }
        }
        Some(Data { cells, min, unit, count: distribution.count() as f64 })
    }

    /// The most likely member of a family, and how far below the minimum it begins. `found` holds the results of
    /// earlier families: the search for a family that contains one of them also starts there, so it is never less
    /// likely.
    fn search(&self, family: Family, found: &[Begun]) -> Option<Begun> {
        let starts: &[f64] = if family == Family::F { &[0.1, 1.0] } else { &[0.03, 0.3, 2.0] };
        if family == Family::TwoLogNormals {
            let single = found.iter().find_map(|(model, below)| match model {
                Model::LogNormal(one) => Some((*one, *below)),
                _ => None,
            });
            return mixture::fit(self, starts, single);
        }
        // How far below the minimum the distribution begins. The search uses logarithms, so all parameters stay
        // positive.
        let below = |logarithm: f64| logarithm.exp().min(self.most_below());
        let mut points: Vec<Vec<f64>> =
            starts.iter().map(|start| [vec![start.ln()], family.start(*start)].concat()).collect();
        if family == Family::F {
            points.extend(found.iter().find_map(|(model, below)| {
                Some([vec![below.max(1e-9).ln()], family::f_like_gamma(model)?.to_vec()].concat())
            }));
        }
        let search = |point: &Vec<f64>| {
            simplex::minimise(point, 0.4, |point| {
                -self.log_likelihood(&family.model(&point[1..]), below(point[0]))
            })
        };
        let (point, _) = points.iter().map(search).min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((family.model(&point[1..]), below(point[0])))
    }

    /// The upper limit of `below`: a distribution of times cannot begin before 0.
    fn most_below(&self) -> f64 {
        self.min / self.unit
    }

    /// The fit of a model that begins `below` the minimum; none if its likelihood is not finite.
    fn judge(&self, distribution: &Distribution, family: Family, (model, below): Begun) -> Option<Fit> {
        let log_likelihood = self.log_likelihood(&model, below);
        let at = |ps: f64| (ps - self.min) / self.unit + below;
        let (mut seen, mut distance) = (0u64, 0.0f64);
        for cell in distribution.cells() {
            seen += cell.count;
            let share = seen as f64 / self.count;
            distance = distance.max((model.share_below(at(cell.high)) - share).abs());
        }
        let chance_distance = family.chance_distance(self.count);
        log_likelihood.is_finite().then(|| Fit {
            family,
            shift_ps: self.min - below * self.unit,
            parameters: model.parameters(self.unit),
            distance,
            chance_distance,
            fits: distance <= chance_distance,
            log_likelihood,
            bic: (family.parameters() as f64 + 1.0) * self.count.ln() - 2.0 * log_likelihood,
            p99_ps: (model.quantile(0.99) - below) * self.unit + self.min,
        })
    }

    /// The log-likelihood of the counts in cells, for a model that begins `below` the minimum.
    fn log_likelihood(&self, model: &Model, below: f64) -> f64 {
        let part = |cell: &Cell| {
            let share = model.share_between(cell.low + below, cell.high + below);
            cell.count as f64 * share.max(1e-300).ln()
        };
        self.cells.iter().map(part).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::draws::Draws;
    use crate::latency::samples::{distribution, lognormal};
    use family::LogNormal;
    use straggler_model::Time;
    use straggler_model::latency::{Bins, Histogram};

    fn fitted(values: &[u64], family: Family) -> (Fit, Fits) {
        let fits = Fits::new(&distribution(values)).unwrap();
        (fits.fits.iter().find(|fit| fit.family == family).unwrap().clone(), fits)
    }

    fn near(found: Option<f64>, expected: f64, part: f64) {
        assert!(found.is_some_and(|found| (found / expected - 1.0).abs() < part), "{found:?} {expected}");
    }

    /// Shift 4 µs, median 1 µs above it, sigma 0.5.
    #[test]
    fn a_lognormal_is_recovered() {
        for seed in 0..3 {
            let (fit, fits) = fitted(&lognormal(seed, 20_000, 4e6, 1e6, 0.5), Family::LogNormal);
            near(Some(fit.shift_ps), 4e6, 0.02);
            near(fit.parameter("median_ps"), 1e6, 0.06);
            near(fit.parameter("sigma"), 0.5, 0.06);
            assert!(fit.fits, "{fits:?}");
            let best = fits.best().unwrap();
            assert!(matches!(best.family, Family::LogNormal | Family::TwoLogNormals | Family::F), "{fits:?}");
            assert!(fit.bic < best.bic + 10.0, "{fits:?}");
        }
    }

    #[test]
    fn gamma_and_weibull_are_recovered() {
        let mut draws = Draws::new(5, 0);
        let values: Vec<u64> = (0..20_000).map(|_| (3e6 + 5e5 * draws.gamma(3.0)) as u64).collect();
        let (fit, fits) = fitted(&values, Family::Gamma);
        near(fit.parameter("shape"), 3.0, 0.1);
        near(fit.parameter("scale_ps"), 5e5, 0.1);
        near(Some(fit.shift_ps), 3e6, 0.02);
        assert!(fit.distance < fit.chance_distance && fit.bic < fits.best().unwrap().bic + 10.0, "{fits:?}");
        let values: Vec<u64> =
            (0..20_000).map(|_| (3e6 + 1e6 * (-draws.unit().ln()).powf(1.0 / 1.7)) as u64).collect();
        let (fit, fits) = fitted(&values, Family::Weibull);
        near(fit.parameter("shape"), 1.7, 0.05);
        near(fit.parameter("scale_ps"), 1e6, 0.05);
        assert_eq!(fits.best().unwrap().family, Family::Weibull, "{fits:?}");
    }

    /// The ratio of two gamma deviates, each divided by its shape, follows F.
    #[test]
    fn an_f_distribution_is_recovered() {
        let mut draws = Draws::new(9, 0);
        let value = |draws: &mut Draws| draws.gamma(4.0) / 4.0 / (draws.gamma(6.0) / 6.0);
        let values: Vec<u64> = (0..20_000).map(|_| (5e6 + 1e6 * value(&mut draws)) as u64).collect();
        let (fit, fits) = fitted(&values, Family::F);
        near(fit.parameter("freedom_1"), 8.0, 0.3);
        near(fit.parameter("freedom_2"), 12.0, 0.3);
        assert!(fit.distance < fit.chance_distance && fit.bic < fits.best().unwrap().bic + 10.0, "{fits:?}");
    }

    #[test]
    fn two_lognormals_are_recovered() {
        let mut values = lognormal(1, 14_000, 0.0, 4.6e6, 0.05);
        values.extend(lognormal(2, 6000, 0.0, 6.0e6, 0.03));
        let (fit, fits) = fitted(&values, Family::TwoLogNormals);
        assert_eq!(fits.best().unwrap().family, Family::TwoLogNormals);
        near(fit.parameter("weight_1"), 0.7, 0.03);
        near(fit.parameter("median_1_ps").map(|median| median + fit.shift_ps), 4.6e6, 0.01);
        near(fit.parameter("median_2_ps").map(|median| median + fit.shift_ps), 6.0e6, 0.01);
        assert!(fit.distance < 2.0 * fit.chance_distance, "{fit:?}");
    }

    /// A mixture contains the single log-normal, and F contains the gamma. With 3 and 1 more parameters, BIC is at
    /// most 3 and 1 times the logarithm of the number of trials larger.
    #[test]
    fn a_family_is_as_likely_as_one_that_it_contains() {
        for (seed, sigma) in [(1, 0.1), (2, 0.5), (3, 1.0)] {
            let values = lognormal(seed, 5000, 4e6, 1e6, sigma);
            // All trials, and the same trials with 40 % of them beyond the last bin.
            let mut cut = Histogram::new(Bins::FixedWidth { width_ps: 50_000, count: 105 });
            values.iter().for_each(|&ps| cut.record(Time(ps)));
            for distribution in [distribution(&values), Distribution::from_histogram(&cut).unwrap()] {
                let fits = Fits::new(&distribution).unwrap();
                let bic = |family| fits.fits.iter().find(|fit| fit.family == family).unwrap().bic;
                let more = 5000f64.ln();
                assert!(bic(Family::TwoLogNormals) < bic(Family::LogNormal) + 3.0 * more + 0.01, "{fits:?}");
                assert!(bic(Family::F) < bic(Family::Gamma) + more + 0.5, "{fits:?}");
            }
        }
    }

    /// Overlapping parts above a shift: the fit is at least as likely as the parameters that the trials were drawn
    /// from.
    #[test]
    fn a_mixture_above_a_shift_is_the_most_likely() {
        for seed in 0..3 {
            let mut values = lognormal(seed, 7000, 1e6, 1e6, 0.3);
            values.extend(lognormal(seed + 10, 3000, 1e6, 2e6, 0.2));
            let distribution = distribution(&values);
            let (data, fits) = (Data::new(&distribution).unwrap(), Fits::new(&distribution).unwrap());
            let fit = fits.fits.iter().find(|fit| fit.family == Family::TwoLogNormals).unwrap();
            let part = |median: f64, sigma| LogNormal { location: (median / data.unit).ln(), sigma };
            let truth = Model::Two { weight: 0.7, parts: [part(1e6, 0.3), part(2e6, 0.2)] };
            let likely = data.log_likelihood(&truth, (data.min - 1e6) / data.unit);
            assert!(fit.log_likelihood >= likely, "{} {likely} {fit:?}", fit.log_likelihood);
            near(Some(fit.shift_ps), 1e6, 0.1);
        }
    }

    /// Samples of one log-normal: the family fits in 99 of 100 cases, and a second log-normal is not preferred.
    #[test]
    fn chance_is_no_second_lognormal() {
        let (mut bad, mut two) = (0, 0);
        for seed in 0..30 {
            let (fit, fits) = fitted(&lognormal(seed, 600, 4e6, 1e6, 0.5), Family::LogNormal);
            bad += usize::from(!fit.fits);
            two += usize::from(fits.best().unwrap().family == Family::TwoLogNormals);
            assert!(fit.chance_distance < 1.1 / 600f64.sqrt(), "{fit:?}");
        }
        assert!(bad <= 2 && two <= 1, "{bad} {two}");
    }

    #[test]
    fn what_has_no_shape_is_not_fitted() {
        assert!(Fits::new(&distribution(&[5_000_000; 1000])).is_none());
        assert!(Fits::new(&distribution(&lognormal(1, 30, 0.0, 5e6, 0.4))).is_none());
    }
}
