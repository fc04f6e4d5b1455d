//! Metrics in the Prometheus text format, for the textfile collector of node_exporter.

use super::{Metric, MetricUnit};
use crate::exit::{Exit, Failure, Outcome};
use crate::interrupt;
use prometheus::{GaugeVec, Opts, Registry, TextEncoder};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use straggler_report::replace_file;

/// Writes the metrics atomically: the collector may read them at any moment.
pub fn write(path: &Path, metrics: &[Metric]) -> Outcome<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    let text = text(metrics, now).map_err(|fault| Failure::new(Exit::CheckFailed, fault))?;
    interrupt::or_interrupted(replace_file(path, |out| out.write_all(text.as_bytes())))
}

fn text(metrics: &[Metric], now: f64) -> prometheus::Result<String> {
    let registry = Registry::new();
    let mut families: BTreeMap<String, GaugeVec> = BTreeMap::new();
    for metric in metrics.iter().filter(|metric| metric.value.is_finite()) {
        let mut labels: Vec<(&str, String)> = metric.labels.clone();
        labels.extend(metric.processes.map(|processes| ("processes", processes.to_string())));
        let (names, values): (Vec<&str>, Vec<String>) = labels.into_iter().unzip();
        let finite = metric.interval.filter(|ends| ends.iter().all(|end| end.is_finite()));
        let ends = finite.map(|[low, high]| [("_low", low, "lower"), ("_high", high, "upper")]);
        let own = std::iter::once(("", metric.value, metric.kind.help.to_string()));
        let of_ends = ends.into_iter().flatten().map(|(part, value, which)| {
            (part, value, format!("{}: {which} end of its 95 % interval", metric.kind.help))
        });
        for (part, value, help) in own.chain(of_ends) {
            let name = format!("straggler_{}{part}{}", metric.kind.name, suffix(metric.kind.unit));
            let family = match families.entry(name.clone()) {
                std::collections::btree_map::Entry::Occupied(there) => there.into_mut(),
                std::collections::btree_map::Entry::Vacant(place) => {
                    let family = GaugeVec::new(Opts::new(name, help), &names)?;
                    registry.register(Box::new(family.clone()))?;
                    place.insert(family)
                }
            };
            family.get_metric_with_label_values(&values)?.set(value);
        }
    }
    let age = GaugeVec::new(
        Opts::new(
            "straggler_written_timestamp_seconds",
            "When these metrics were written, in seconds since 1970",
        ),
        &[],
    )?;
    age.get_metric_with_label_values::<&str>(&[])?.set(now);
    registry.register(Box::new(age))?;
    TextEncoder::new().encode_to_string(&registry.gather())
}

/// Metric names in Prometheus end with their unit.
fn suffix(unit: MetricUnit) -> &'static str {
    match unit {
        MetricUnit::Ratio | MetricUnit::Slowdown => "_ratio",
        MetricUnit::Seconds => "_seconds",
        MetricUnit::Count | MetricUnit::Processes => "",
    }
}

#[cfg(test)]
mod tests {
    use super::super::slowdown::{INFLECTION, SLOWDOWN};
    use super::*;

    #[test]
    fn the_text_is_what_the_collector_reads() {
        let slowdown = Metric::new(&SLOWDOWN, 0.25).label("operation", "a \"b\"\\").on(64).within(0.2, 0.5);
        let none = Metric::new(&INFLECTION, f64::INFINITY).within(64.0, f64::INFINITY);
        let text = text(&[slowdown, none], 1.5).unwrap();
        for line in [
            "# HELP straggler_slowdown_ratio T/T0 - 1 of the median makespan, with noise and without",
            "# TYPE straggler_slowdown_ratio gauge",
            "straggler_slowdown_ratio{operation=\"a \\\"b\\\"\\\\\",processes=\"64\"} 0.25",
            "straggler_slowdown_low_ratio{operation=\"a \\\"b\\\"\\\\\",processes=\"64\"} 0.2",
            "straggler_slowdown_high_ratio{operation=\"a \\\"b\\\"\\\\\",processes=\"64\"} 0.5",
            "straggler_written_timestamp_seconds 1.5",
        ] {
            assert!(text.lines().any(|there| there == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("inflection"), "{text}");
    }
}
