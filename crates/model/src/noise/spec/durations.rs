//! Distributions of durations, as they are written.

use super::SpecError;
use super::arguments::Arguments;
use crate::Time;
use crate::noise::generate::Durations;

const EXPECTED: &str = "a time or one of exponential(…), lognormal(…), uniform(…), pareto(…)";

/// A time, or the name of a distribution with its parameters in parentheses.
pub(super) fn parse(text: &str) -> Result<Durations, SpecError> {
    let (place, key) = (|| "poisson".to_string(), || "duration".to_string());
    let Some((name, rest)) = text.split_once('(') else {
        let unit = |fault| SpecError::Unit { place: place(), key: key(), fault };
        return text.parse().map(Durations::Constant).map_err(unit);
    };
    let inside = rest.strip_suffix(')').ok_or_else(|| SpecError::Unclosed { text: text.into() })?;
    let (read, positions): (fn(&mut Arguments) -> _, &[&str]) = match name.trim() {
        "exponential" => (exponential, &[]),
        "lognormal" => (log_normal, &[]),
        "uniform" => (uniform, &["min", "max"]),
        "pareto" => (pareto, &[]),
        _ => {
            let text = text.into();
            return Err(SpecError::Bad { place: place(), key: key(), text, expected: EXPECTED });
        }
    };
    let mut arguments = Arguments::parse_positional(name.trim(), inside, positions)?;
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

#[cfg(test)]
mod tests {
    use super::*;

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
