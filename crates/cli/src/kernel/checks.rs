//! Limits on results, and metrics for monitoring, as typed.

use crate::kernel::typed::path;
use clap::Args;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use straggler_model::{Time, units};

/// What to do with the metrics of a result besides printing them.
#[derive(Clone, Debug, Default, Args)]
pub struct ChecksOption {
    /// Exit with code 5 if a metric of the result is beyond a limit; METRICS below lists the metrics, with examples;
    /// repeatable
    #[arg(long, value_name = "CONDITION", help_heading = "Monitoring")]
    pub fail_if: Vec<Limit>,
    /// Also write the metrics in the Prometheus text format, for the textfile collector of node_exporter
    #[arg(long, value_name = "FILE.prom", help_heading = "Monitoring", value_parser = path(prom_name))]
    pub prometheus: Option<PathBuf>,
}

impl ChecksOption {
    pub fn is_given(&self) -> bool {
        !self.fail_if.is_empty() || self.prometheus.is_some()
    }
}

/// The textfile collector reads only files with this extension.
fn prom_name(path: PathBuf) -> Result<PathBuf, String> {
    match path.extension().is_some_and(|end| end == "prom") {
        true => Ok(path),
        false => Err("node_exporter reads only files that end in .prom: use such a name".into()),
    }
}

/// A limit: `slowdown[allreduce]@65536>2` is about the metric `slowdown` of allreduces on 65,536 processes.
#[derive(Clone, PartialEq, Debug)]
pub struct Limit {
    text: String,
    pub metric: String,
    /// Only results with this text in a label.
    pub label: Option<String>,
    pub processes: Option<u32>,
    pub above: bool,
    pub value: LimitValue,
}

/// The value of a limit, in the unit in which it was written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LimitValue {
    Plain(f64),
    /// As a fraction: 0.005 for 0.5 %.
    Percent(f64),
    /// T/T0: 2 for 2x.
    Factor(f64),
    Time(Time),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Limit, String> {
        let text = text.trim();
        let fault = |what: &str| {
            format!(
                "{what}; write METRIC>LIMIT or METRIC<LIMIT: METRICS in the --help of the command has examples"
            )
        };
        let place = text.find(['>', '<']).ok_or_else(|| fault("there is no > or <"))?;
        let (what, rest) = text.split_at(place);
        let (what, processes) = match what.split_once('@') {
            Some((what, number)) => {
                let number = units::count(number).and_then(|number| number.try_into().ok());
                (what, Some(number.ok_or_else(|| fault("the text after @ is not a number of processes"))?))
            }
            None => (what, None),
        };
        let (metric, label) = match what.trim().strip_suffix(']').map(|what| what.split_once('[')) {
            Some(Some((metric, label))) => (metric, Some(label.to_string())),
            Some(None) => return Err(fault("there is a ] without a [")),
            None => (what, None),
        };
        let metric = metric.trim().to_string();
        if metric.is_empty() || metric.contains('[') {
            return Err(fault("the name of the metric is missing"));
        }
        let value = value(rest[1..].trim())
            .ok_or_else(|| fault("the limit is not a number, a percentage, a factor like 2x or a time"))?;
        Ok(Limit { text: text.into(), metric, label, processes, above: rest.starts_with('>'), value })
    }
}

fn value(text: &str) -> Option<LimitValue> {
    let finite = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    if let Some(percent) = text.strip_suffix('%') {
        return finite(percent).map(|percent| LimitValue::Percent(percent / 100.0));
    }
    if let Some(factor) = text.strip_suffix(['x', 'X', '×']) {
        return finite(factor).map(LimitValue::Factor);
    }
    finite(text)
        .or_else(|| units::count(text).map(|count| count as f64))
        .map(LimitValue::Plain)
        .or_else(|| text.parse().ok().map(LimitValue::Time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        let limit: Limit = "slowdown[allreduce]@64Ki>2".parse().unwrap();
        assert_eq!(limit.metric, "slowdown");
        assert_eq!(limit.label.as_deref(), Some("allreduce"));
        assert_eq!(limit.processes, Some(65_536));
        assert!(limit.above);
        assert_eq!(limit.value, LimitValue::Plain(2.0));
        let limit: Limit = " longest < 50us ".parse().unwrap();
        assert_eq!((limit.metric.as_str(), limit.above), ("longest", false));
        assert_eq!(limit.value, LimitValue::Time(Time::from_ns(50_000)));
        assert_eq!("overhead>0.5%".parse::<Limit>().unwrap().value, LimitValue::Percent(0.005));
        for factor in ["slowdown>2.5x", "slowdown > 2.5 ×"] {
            assert_eq!(factor.parse::<Limit>().unwrap().value, LimitValue::Factor(2.5), "{factor}");
        }
    }

    #[test]
    fn what_is_no_limit_is_refused() {
        for wrong in [
            "",
            "slowdown",
            ">2",
            "slowdown@>2",
            "slowdown@x>2",
            "a]>1",
            "a[b>1",
            "a>",
            "a>x",
            "a>nan",
            "a>inf",
            "a>x2",
        ] {
            assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
        }
    }
}
