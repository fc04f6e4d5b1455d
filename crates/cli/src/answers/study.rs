//! A study as text: the verdict, then the numbers.

pub mod label;
pub mod table;

use crate::inputs::study::About;
use label::labels;
use straggler_analysis::study::Series;
use straggler_report::numbers::{SLOWDOWN_LEGEND, counted, grouped, longer, percent};

/// Only this many series get a sentence; the tables show all.
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
        let points = table::points(&[(series, &label, about.copies(series))], quantiles);
        text.push_str(&format!("\n{label}\n{points}"));
    }
    text.push_str(
        "\nIntervals have 95 % confidence. Whiskers end at the farthest run within 1.5 interquartile ranges. ",
    );
    text.push_str(SLOWDOWN_LEGEND);
    text.push('\n');
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
        lines.push(format!("{} more series below.", grouped((noisy.len() - SENTENCES) as u64)));
    }
    let worst =
        noisy.iter().flat_map(|(series, label)| series.points.iter().map(move |point| (point, label)));
    let worst = worst.max_by(|(one, _), (other, _)| one.largest_slowdown.total_cmp(&other.largest_slowdown));
    if let Some((point, label)) = worst {
        lines.push(format!(
            "With noise, the slowest run of all takes {}: {label} on {}.",
            longer(point.largest_slowdown),
            processes(point.point.processes)
        ));
    }
    lines
}

fn sentence(series: &Series, label: &str, threshold: f64) -> Option<String> {
    let largest = series.largest()?;
    let at_end = format!(
        "the median takes {} on {}",
        longer(largest.median_slowdown),
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
