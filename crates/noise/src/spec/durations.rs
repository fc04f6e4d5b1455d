//! Reading and writing distributions of durations.

use super::SpecError;
use super::arguments::Arguments;
use crate::generate::{Durations, Quantiles};
use std::fmt;
use std::str::FromStr;
use straggler_model::Time;
use straggler_model::spelling::nearest;
use straggler_model::units::write_time;

const NAMES: [&str; 5] = ["exponential", "lognormal", "uniform", "pareto", "quantiles"];

impl FromStr for Durations {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Durations, SpecError> {
        parse("distribution", text)
    }
}

/// Written so that [`Durations::from_str`] reads back the same distribution.
impl fmt::Display for Durations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |time: &Time| write_time(*time);
        match self {
            Durations::Constant(duration) => f.write_str(&time(duration)),
            Durations::Exponential { mean } => write!(f, "exponential(mean={})", time(mean)),
            Durations::LogNormal { median, sigma } => {
                write!(f, "lognormal(median={},sigma={sigma})", time(median))
            }
            Durations::Uniform { min, max } => write!(f, "uniform({},{})", time(min), time(max)),
            Durations::Pareto { min, alpha } => write!(f, "pareto(min={},alpha={alpha})", time(min)),
            Durations::Quantiles(quantiles) => {
                let pairs: Vec<String> = quantiles
                    .points()
                    .iter()
                    .map(|(share, duration)| format!("{share}={}", time(duration)))
                    .collect();
                write!(f, "quantiles({})", pairs.join(","))
            }
        }
    }
}

/// Parses a time, or the name of a distribution with its parameters in parentheses; `place` names the owner
/// in errors.
pub(super) fn parse(place: &str, text: &str) -> Result<Durations, SpecError> {
    let (place, key) = (|| place.to_string(), || "duration".to_string());
    let text = text.trim();
    let Some((name, rest)) = text.split_once('(') else {
        let unit = |fault| SpecError::Unit { place: place(), key: key(), fault };
        return text.parse().map(Durations::Constant).map_err(unit);
    };
    let inside = rest.strip_suffix(')').ok_or_else(|| SpecError::Unclosed { text: text.into() })?;
    let (read, keys): (fn(&mut Arguments) -> _, &[&str]) = match name.trim() {
        "exponential" => (exponential, &["mean"]),
        "lognormal" => (log_normal, &["median", "mean", "sigma"]),
        "uniform" => (uniform, &["min", "max"]),
        "pareto" => (pareto, &["min", "alpha"]),
        "quantiles" => (quantiles, &[]),
        other => {
            let nearest = nearest(other, NAMES);
            return Err(SpecError::UnknownDistribution { place: place(), text: text.into(), nearest });
        }
    };
    // Only `uniform` may be written without keys.
    let positions: &[&str] = if name.trim() == "uniform" { keys } else { &[] };
    let mut arguments = Arguments::parse(name.trim(), inside, positions)?;
    if name.trim() != "quantiles" {
        arguments.refuse_others(keys)?;
    }
    let durations = read(&mut arguments)?;
    arguments.finish()?;
    Ok(durations)
}

fn exponential(arguments: &mut Arguments) -> Result<Durations, SpecError> {
    Ok(Durations::Exponential { mean: arguments.require_time("mean")? })
}

/// By its median, or by its mean, which is exp(sigma^2 / 2) times larger.
fn log_normal(arguments: &mut Arguments) -> Result<Durations, SpecError> {
    let sigma = arguments.require_positive("sigma")?;
    let median = match (arguments.time("median")?, arguments.time("mean")?) {
        (Some(median), None) => median,
        (None, Some(mean)) => Time((mean.ps() as f64 * (-sigma * sigma / 2.0).exp()).round() as u64),
        (Some(_), Some(_)) => return Err(arguments.both("median", "mean")),
        (None, None) => return Err(arguments.missing("median=TIME or mean=TIME")),
    };
    Ok(Durations::LogNormal { median, sigma })
}

fn uniform(arguments: &mut Arguments) -> Result<Durations, SpecError> {
    let (min, max) = (arguments.require_time("min")?, arguments.require_time("max")?);
    if min > max {
        let text = format!("{min} to {max}");
        return Err(arguments.bad("min", &text, "a range from the smaller to the larger"));
    }
    Ok(Durations::Uniform { min, max })
}

fn pareto(arguments: &mut Arguments) -> Result<Durations, SpecError> {
    let min = arguments.require_time("min")?;
    let alpha = arguments.require_positive("alpha")?;
    Ok(Durations::Pareto { min, alpha })
}

/// `0=1us,0.5=2us,1=30us`: the share of detours that are at most that long.
fn quantiles(arguments: &mut Arguments) -> Result<Durations, SpecError> {
    let mut points = Vec::new();
    for (share, duration) in arguments.take_all() {
        let fault = |fault| SpecError::Unit { place: "quantiles".into(), key: share.clone(), fault };
        let duration = duration.parse().map_err(fault)?;
        let number = share.parse().map_err(|_| arguments.bad("share", &share, "a number from 0 to 1"))?;
        points.push((number, duration));
    }
    Ok(Durations::Quantiles(Quantiles::new(points)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Durations, SpecError> {
        text.parse()
    }

    fn durations() -> impl Strategy<Value = Durations> {
        let time = || (0u64..1 << 50).prop_map(Time);
        let number = || (1e-6f64..1e6).prop_map(|number| number);
        let points = prop::collection::vec((1u32..1 << 30, 0u64..1 << 40), 2..10);
        prop_oneof![
            time().prop_map(Durations::Constant),
            time().prop_map(|mean| Durations::Exponential { mean }),
            (time(), number()).prop_map(|(median, sigma)| Durations::LogNormal { median, sigma }),
            (time(), time()).prop_map(|(a, b)| Durations::Uniform { min: a.min(b), max: a.max(b) }),
            (time(), number()).prop_map(|(min, alpha)| Durations::Pareto { min, alpha }),
            points.prop_map(|steps| Durations::Quantiles(ascending(&steps))),
        ]
    }

    /// Quantiles from steps in share and duration.
    fn ascending(steps: &[(u32, u64)]) -> Quantiles {
        let total: f64 = steps.iter().skip(1).map(|(share, _)| f64::from(*share)).sum();
        let (mut share, mut duration) = (0.0, 0);
        let mut points = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            share += if index == 0 { 0.0 } else { f64::from(step.0) };
            duration += step.1;
            points.push((share / total, Time(duration)));
        }
        Quantiles::new(points).unwrap()
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(durations in durations()) {
            prop_assert_eq!(durations.to_string().parse(), Ok(durations));
        }
    }

    #[test]
    fn quantiles_must_rise_from_0_to_1() {
        for (text, complaint) in [
            ("quantiles()", "at least two"),
            ("quantiles(0=1us)", "at least two"),
            ("quantiles(0.1=1us,1=2us)", "from 0 to 1"),
            ("quantiles(0=1us,0.9=2us)", "from 0 to 1"),
            ("quantiles(0=1us,0.5=2us,0.50=3us,1=4us)", "0.5"),
            ("quantiles(0=1us,nan=2us,1=4us)", "NaN"),
            ("quantiles(0=1us,0.5=5us,1=4us)", "4 µs"),
            ("quantiles(0=1us,half=5us,1=4us)", "half"),
            ("quantiles(0=1us,1=4)", "unit"),
        ] {
            let fault = parse(text).unwrap_err().to_string();
            assert!(fault.contains(complaint), "{text}: {fault}");
        }
    }

    #[test]
    fn every_distribution_can_be_written() {
        let us = |count: u64| Time::from_ns(count * 1000);
        for (text, expected) in [
            ("5us", Durations::Constant(us(5))),
            ("exponential(mean=5us)", Durations::Exponential { mean: us(5) }),
            ("lognormal(median=5us, sigma=1.2)", Durations::LogNormal { median: us(5), sigma: 1.2 }),
            ("uniform(1us,5us)", Durations::Uniform { min: us(1), max: us(5) }),
            ("uniform(max=5us,min=1us)", Durations::Uniform { min: us(1), max: us(5) }),
            ("pareto(min=1us,alpha=1.5)", Durations::Pareto { min: us(1), alpha: 1.5 }),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
        let by_mean = parse("lognormal(mean=5us,sigma=1)").unwrap();
        assert!((by_mean.mean_ps() / 5e6 - 1.0).abs() < 1e-6, "{by_mean:?}");
    }
}
