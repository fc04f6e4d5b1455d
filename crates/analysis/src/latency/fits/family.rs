//! The families of distributions and their members.

use super::Parameter;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, FisherSnedecor, Gamma};
use statrs::function::erf::erfc;
use std::fmt;

/// The families of distributions that are tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    LogNormal,
    Gamma,
    Weibull,
    F,
    TwoLogNormals,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Family::LogNormal => "log-normal",
            Family::Gamma => "gamma",
            Family::Weibull => "Weibull",
            Family::F => "F",
            Family::TwoLogNormals => "two log-normals",
        })
    }
}

impl Family {
    pub const ALL: [Family; 5] =
        [Family::LogNormal, Family::Gamma, Family::Weibull, Family::F, Family::TwoLogNormals];

    /// Parameters other than the shift.
    pub fn parameters(self) -> usize {
        match self {
            Family::LogNormal | Family::Gamma | Family::Weibull => 2,
            Family::F => 3,
            Family::TwoLogNormals => 5,
        }
    }

    /// The distance that a sample stays below in 99 of 100 cases, after the family and its shift were fitted to it: the
    /// quantile of 200 samples each of 200 and of 1000 trials, the larger one. With the true parameters it would be
    /// 1.63 / √n.
    pub(super) fn chance_distance(self, count: f64) -> f64 {
        let factor = match self {
            Family::LogNormal | Family::F => 0.96,
            Family::Gamma => 0.98,
            Family::Weibull => 1.0,
            Family::TwoLogNormals => 0.77,
        };
        factor / count.sqrt()
    }

    /// The start of a search, as logarithms, for data with median 1 and a distribution that begins `below` 0.
    pub(super) fn start(self, below: f64) -> Vec<f64> {
        let middle = (1.0 + below).ln();
        match self {
            Family::LogNormal => vec![middle, -0.7],
            Family::Gamma => vec![0.7, middle - 0.7],
            Family::Weibull => vec![0.4, middle],
            Family::F | Family::TwoLogNormals => vec![1.8, 2.0, middle],
        }
    }

    /// The model with these parameters, given as logarithms. Mixtures are not built here.
    pub(super) fn model(self, point: &[f64]) -> Model {
        let value = |index: usize| point.get(index).copied().unwrap_or(0.0).clamp(-30.0, 30.0).exp();
        match self {
            Family::LogNormal | Family::TwoLogNormals => {
                Model::LogNormal(LogNormal { location: point[0], sigma: value(1) })
            }
            Family::Gamma => Model::Gamma { shape: value(0), scale: value(1) },
            Family::Weibull => Model::Weibull { shape: value(0), scale: value(1) },
            Family::F => {
                Model::F { freedom: [0, 1].map(|index| value(index).min(MOST_FREEDOM)), scale: value(2) }
            }
        }
    }
}

/// More degrees of freedom than this count as infinitely many.
const MOST_FREEDOM: f64 = 1e4;

/// The parameters, as logarithms, of the F distribution closest to a gamma distribution, which is the limit of F for
/// many denominator degrees of freedom.
pub(super) fn f_like_gamma(model: &Model) -> Option<[f64; 3]> {
    let Model::Gamma { shape, scale } = model else { return None };
    Some([(2.0 * shape).ln(), MOST_FREEDOM.ln(), (shape * scale).ln()])
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct LogNormal {
    pub location: f64,
    pub sigma: f64,
}

impl LogNormal {
    fn tail(&self, x: f64, side: f64) -> f64 {
        0.5 * erfc(side * (x.ln() - self.location) / self.sigma / std::f64::consts::SQRT_2)
    }
}

/// A distribution, in units of the data.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Model {
    LogNormal(LogNormal),
    Gamma {
        shape: f64,
        scale: f64,
    },
    Weibull {
        shape: f64,
        scale: f64,
    },
    F {
        freedom: [f64; 2],
        scale: f64,
    },
    /// The first part has this weight, the second the rest.
    Two {
        weight: f64,
        parts: [LogNormal; 2],
    },
}

impl Model {
    pub fn share_below(&self, x: f64) -> f64 {
        if x <= 0.0 {
            return 0.0;
        }
        match self {
            Model::LogNormal(one) => one.tail(x, -1.0),
            Model::Gamma { shape, scale } => {
                Gamma::new(*shape, 1.0).map_or(f64::NAN, |gamma| gamma.cdf(x / scale))
            }
            Model::Weibull { shape, scale } => -(-(x / scale).powf(*shape)).exp_m1(),
            Model::F { freedom: [a, b], scale } => {
                FisherSnedecor::new(*a, *b).map_or(f64::NAN, |f| f.cdf(x / scale))
            }
            Model::Two { weight, parts: [one, two] } => {
                weight * one.tail(x, -1.0) + (1.0 - weight) * two.tail(x, -1.0)
            }
        }
    }

    /// The complement of `share_below`, computed directly to stay accurate in far tails.
    pub fn share_above(&self, x: f64) -> f64 {
        if x <= 0.0 {
            return 1.0;
        }
        match self {
            Model::LogNormal(one) => one.tail(x, 1.0),
            Model::Gamma { shape, scale } => {
                Gamma::new(*shape, 1.0).map_or(f64::NAN, |gamma| gamma.sf(x / scale))
            }
            Model::Weibull { shape, scale } => (-(x / scale).powf(*shape)).exp(),
            Model::F { freedom: [a, b], scale } => {
                FisherSnedecor::new(*a, *b).map_or(f64::NAN, |f| f.sf(x / scale))
            }
            Model::Two { weight, parts: [one, two] } => {
                weight * one.tail(x, 1.0) + (1.0 - weight) * two.tail(x, 1.0)
            }
        }
    }

    pub fn share_between(&self, low: f64, high: f64) -> f64 {
        let below = self.share_below(low);
        if below > 0.5 {
            self.share_above(low) - self.share_above(high)
        } else {
            self.share_below(high) - below
        }
    }

    /// Found by bisection.
    pub fn quantile(&self, level: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        while self.share_below(high) < level && high < 1e12 {
            high *= 2.0;
        }
        for _ in 0..80 {
            let middle = (low + high) / 2.0;
            if self.share_below(middle) < level { low = middle } else { high = middle }
        }
        high
    }

    /// The parameters, converted to ps.
    pub fn parameters(&self, unit: f64) -> Vec<Parameter> {
        let list = |items: &[(&'static str, f64)]| {
            items.iter().map(|&(name, value)| Parameter { name, value }).collect()
        };
        match self {
            Model::LogNormal(one) => list(&[("median_ps", unit * one.location.exp()), ("sigma", one.sigma)]),
            Model::Gamma { shape, scale } | Model::Weibull { shape, scale } => {
                list(&[("shape", *shape), ("scale_ps", unit * scale)])
            }
            Model::F { freedom: [a, b], scale } => {
                list(&[("freedom_1", *a), ("freedom_2", *b), ("scale_ps", unit * scale)])
            }
            Model::Two { weight, parts: [one, two] } => list(&[
                ("weight_1", *weight),
                ("median_1_ps", unit * one.location.exp()),
                ("sigma_1", one.sigma),
                ("median_2_ps", unit * two.location.exp()),
                ("sigma_2", two.sigma),
            ]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shares below and above add up to 1, and quantiles invert shares.
    #[test]
    fn tails_and_quantiles() {
        let one = LogNormal { location: 0.2, sigma: 0.4 };
        let models = [
            Model::LogNormal(one),
            Model::Gamma { shape: 2.5, scale: 0.4 },
            Model::Weibull { shape: 1.4, scale: 1.2 },
            Model::F { freedom: [6.0, 9.0], scale: 1.1 },
            Model::Two { weight: 0.3, parts: [one, LogNormal { location: 1.0, sigma: 0.1 }] },
        ];
        for model in models {
            for x in [0.1, 1.0, 3.0] {
                assert!((model.share_below(x) + model.share_above(x) - 1.0).abs() < 1e-9, "{model:?} {x}");
            }
            assert!((model.share_below(model.quantile(0.99)) - 0.99).abs() < 1e-9, "{model:?}");
            assert_eq!((model.share_below(0.0), model.share_above(-1.0)), (0.0, 1.0));
        }
        // Twice a gamma deviate of shape 5 is chi-squared of 10 degrees: 18.307 leaves 5 % above it.
        assert!((Model::Gamma { shape: 5.0, scale: 2.0 }.share_above(18.307) - 0.05).abs() < 1e-4);
        // F of 6 and 9 degrees leaves 5 % above 3.374.
        assert!((Model::F { freedom: [6.0, 9.0], scale: 1.0 }.share_above(3.374) - 0.05).abs() < 1e-4);
    }
}
