//! Metrics in the Prometheus text format, for the textfile collector of node_exporter.

use super::{Metric, MetricUnit};
use crate::exit::Outcome;
use crate::interrupt;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use straggler_report::replace_file;

/// Writes the metrics atomically: the collector may read them at any moment.
pub fn write(path: &Path, metrics: &[Metric]) -> Outcome<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    let text = text(metrics, now);
    interrupt::or_interrupted(replace_file(path, |out| out.write_all(text.as_bytes())))
}

/// One metric family: its help text and its samples, in the order in which they were added.
#[derive(Default)]
struct Family {
    help: String,
    samples: Vec<(Labels, f64)>,
}

/// Sorted by name, as Prometheus prints them.
type Labels = BTreeMap<&'static str, String>;

fn text(metrics: &[Metric], now: f64) -> String {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut add = |name: String, help: String, labels: Labels, value: f64| {
        let family = families.entry(name).or_insert_with(|| Family { help, samples: Vec::new() });
        // Of several values with the same labels, the last counts.
        family.samples.retain(|(there, _)| *there != labels);
        family.samples.push((labels, value));
    };
    for metric in metrics.iter().filter(|metric| metric.value.is_finite()) {
        let mut labels: Labels = metric.labels.iter().cloned().collect();
        labels.extend(metric.processes.map(|processes| ("processes", processes.to_string())));
        let help = metric.kind.help;
        let name = |part: &str| format!("straggler_{}{part}{}", metric.kind.name, suffix(metric.kind.unit));
        add(name(""), help.to_string(), labels.clone(), metric.value);
        let finite = metric.interval.filter(|ends| ends.iter().all(|end| end.is_finite()));
        if let Some([low, high]) = finite {
            for (part, end, value) in [("_low", "lower", low), ("_high", "upper", high)] {
                let help = format!("{help}: {end} end of its 95 % interval");
                add(name(part), help, labels.clone(), value);
            }
        }
    }
    let help = "When these metrics were written, in seconds since 1970";
    add("straggler_written_timestamp_seconds".to_string(), help.to_string(), Labels::new(), now);
    families.iter().map(|(name, family)| family.text(name)).collect()
}

impl Family {
    fn text(&self, name: &str) -> String {
        let help = self.help.replace('\\', r"\\").replace('\n', r"\n");
        let mut text = format!("# HELP {name} {help}\n# TYPE {name} gauge\n");
        for (labels, value) in &self.samples {
            let labels: Vec<String> =
                labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            text.push_str(&format!("{name}{labels} {value}\n"));
        }
        text
    }
}

/// A label's value, as it stands between quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n")
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
        let text = text(&[slowdown, none], 1.5);
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
