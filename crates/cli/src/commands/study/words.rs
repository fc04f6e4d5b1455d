//! A study for people: what it found, then the numbers.

use super::about::About;
use super::label::labels;
use straggler_analysis::study::{Series, Summary};
use straggler_model::Time;
use straggler_report::Table;
use straggler_report::numbers::{counted, grouped, percent};

/// So many series get a sentence; the rest is in the tables.
const SENTENCES: usize = 8;

pub fn say(name: &str, all: &[Series], about: &About, threshold: f64, quantiles: &[f64]) -> String {
    let mut text = format!("{name}\n");
    for line in verdict(all, threshold) {
        text.push_str(&format!("{line}\n"));
    }
    for fitted in &about.fitted {
        text.push_str(&format!("{}.\n", fitted.sentence()));
    }
    for (series, label) in all.iter().zip(labels(all)) {
        text.push_str(&format!("\n{label}\n{}", table(series, about.copies(series), quantiles)));
    }
    text.push_str(
        "\nIntervals hold with 95 % confidence. Whiskers end at the farthest run within 1.5 interquartile ranges; \
         slowdown is T/T0 - 1.\n",
    );
    text
}

/// Where noise becomes the bottleneck, and how bad it gets.
pub fn verdict(all: &[Series], threshold: f64) -> Vec<String> {
    let labels = labels(all);
    let noisy: Vec<(&Series, &String)> = all
        .iter()
        .zip(&labels)
        .filter(|(series, _)| series.coordinates().is_some_and(|at| at.noise != "none"))
        .collect();
    let mut lines: Vec<String> = noisy
        .iter()
        .take(SENTENCES)
        .filter_map(|(series, label)| sentence(series, label, threshold))
        .collect();
    if noisy.len() > SENTENCES {
        lines.push(format!("{} more below.", counted((noisy.len() - SENTENCES) as u64, "series", "series")));
    }
    let worst =
        noisy.iter().flat_map(|(series, label)| series.points.iter().map(move |point| (point, label)));
    let worst = worst.max_by(|(one, _), (other, _)| one.largest_slowdown.total_cmp(&other.largest_slowdown));
    if let Some((point, label)) = worst {
        lines.push(format!(
            "The slowest run of all is {} slower than without noise: {label} on {}.",
            percent(point.largest_slowdown),
            processes(point.point.processes)
        ));
    }
    lines
}

fn sentence(series: &Series, label: &str, threshold: f64) -> Option<String> {
    let largest = series.largest()?;
    let at_end = format!(
        "the median is {} slower on {}",
        percent(largest.median_slowdown),
        processes(largest.point.processes)
    );
    let limit = percent(threshold);
    Some(match series.inflection {
        Some(first) => {
            format!("{label}: noise costs more than {limit} from {} on; {at_end}.", processes(first))
        }
        None if largest.slowdown.is_none() => format!("{label}: {at_end}; too few replicas for an interval."),
        None => format!("{label}: noise is not shown to exceed {limit} anywhere; {at_end}."),
    })
}

fn processes(count: u32) -> String {
    counted(count.into(), "process", "processes")
}

fn table(series: &Series, copies: &[u32], quantiles: &[f64]) -> Table {
    let names = ["runs", "T0", "median", "interval", "quartiles", "whiskers", "outliers", "largest"];
    let first = std::iter::once("processes").chain((!copies.is_empty()).then_some("copies"));
    let names = first.chain(names).chain(["slowdown", "interval"]).map(String::from);
    let mut table = Table::with_header(names.chain(quantiles.iter().map(|q| format!("{q} quantile"))));
    for (index, summary) in series.points.iter().enumerate() {
        let copies = copies.get(index).map(|&copies| grouped(copies));
        let first = std::iter::once(grouped(summary.point.processes)).chain(copies);
        table.row(first.chain(row(summary, quantiles)));
    }
    table
}

fn row(summary: &Summary, quantiles: &[f64]) -> Vec<String> {
    let times = &summary.times;
    let range = |low: u64, high: u64| format!("{} – {}", Time(low), Time(high));
    let none = || "–".to_string();
    let mut cells = vec![
        grouped(times.count as u64),
        Time(summary.quiet_ps).to_string(),
        Time(times.median).to_string(),
        summary.median_interval.map_or_else(none, |interval| range(interval.low, interval.high)),
        range(times.q1, times.q3),
        range(times.low, times.high),
        grouped(times.outliers.len() as u64),
        Time(times.max).to_string(),
        percent(summary.median_slowdown),
        summary.slowdown.map_or_else(none, |all| format!("{} – {}", percent(all.low), percent(all.high))),
    ];
    for &q in quantiles {
        let told = |found: straggler_model::stats::Quantile<u64>| {
            format!("{} ({})", Time(found.value), range(found.low, found.high))
        };
        cells.push(summary.quantile(q).map_or_else(|_| none(), told));
    }
    cells
}
