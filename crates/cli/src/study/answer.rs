//! A study as text: the verdict, then the numbers.

use crate::kernel::prelude::*;
use crate::study::file::About;
use straggler_analysis::study::{Coordinates, Series, Summary};
use straggler_model::{stats::Quantile, units::write_bytes};
use straggler_report::numbers::{SLOWDOWN_LEGEND, longer, slowdown_interval};

/// Only this many series get a sentence; the tables show all.
const SENTENCES: usize = 8;

pub fn summary(name: &str, all: &[Series], about: &About, threshold: f64, quantiles: &[f64]) -> String {
    let mut text = format!("{name}\n");
    for line in verdict(all, about, threshold) {
        text.push_str(&format!("{line}\n"));
    }
    for fitted in &about.fitted {
        text.push_str(&format!("{}.\n", fitted.sentence()));
    }
    for (series, label) in all.iter().zip(labels(all)) {
        let points = points(&[(series, &label, about.copies(series))], quantiles);
        text.push_str(&format!("\n{label}\n{points}"));
    }
    text.push_str(
        "\nIntervals have 95 % confidence. Whiskers end at the farthest run within 1.5 interquartile ranges. ",
    );
    text.push_str(SLOWDOWN_LEGEND);
    text.push('\n');
    text
}

/// Where noise becomes the bottleneck, how bad it gets, and what a run is.
pub fn verdict(all: &[Series], about: &About, threshold: f64) -> Vec<String> {
    let labels = labels(all);
    let noisy: Vec<(&Series, &String)> = all
        .iter()
        .zip(&labels)
        .filter(|(series, _)| series.coordinates().is_some_and(|at| at.noise != "none"))
        .collect();
    let only: Vec<&Series> = noisy.iter().map(|(series, _)| *series).collect();
    let mut lines: Vec<String> = Vec::new();
    let sentences = noisy.iter().take(SENTENCES);
    lines.extend(sentences.filter_map(|(series, label)| sentence(series, label, threshold)));
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
    lines.extend(about.repetition(&only).map(String::from));
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

/// The parts of a name, in order; some may be empty.
fn parts(at: &Coordinates) -> [String; 8] {
    [
        at.sweep.clone(),
        at.workload.clone(),
        at.size.map_or_else(String::new, write_bytes),
        format!("network {}", at.network),
        if at.network_scale == 1.0 { String::new() } else { format!("{} times as fast", at.network_scale) },
        format!("noise {}", at.noise),
        if at.cosched { "co-scheduled".into() } else { String::new() },
        format!("seed {}", at.seed),
    ]
}

/// A name for each series: the parts in which they differ.
pub fn labels(all: &[Series]) -> Vec<String> {
    let all: Vec<[String; 8]> = all.iter().filter_map(Series::coordinates).map(parts).collect();
    let varies: [bool; 8] = std::array::from_fn(|place| {
        all.iter().any(|one| all.first().is_some_and(|first| first[place] != one[place]))
    });
    let label = |one: &[String; 8]| {
        let told = one.iter().enumerate().filter(|(place, text)| varies[*place] && !text.is_empty());
        let text = told.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(", ");
        if text.is_empty() { one[1].clone() } else { text }
    };
    all.iter().map(label).collect()
}

/// A series with its name, and the number of trace copies at each point, if any.
pub type Named<'a> = (&'a Series, &'a str, &'a [u32]);

/// Shown if there are too few runs.
const NONE: &str = "–";

fn times((low, high): (u64, u64)) -> String {
    format!("{} to {}", Time(low), Time(high))
}

/// All points of some series.
pub fn points(group: &[Named<'_>], quantiles: &[f64]) -> Table {
    let rows = group.iter().flat_map(|&(series, name, copies)| {
        let points = series.points.iter().enumerate();
        points.map(move |(index, summary)| (name, copies.get(index).copied(), summary))
    });
    let with_copies = group.iter().any(|(_, _, copies)| !copies.is_empty());
    let interval = |summary: &Summary| summary.median_interval.map(|median| times((median.low, median.high)));
    let slowdown = |summary: &Summary| {
        summary.slowdown.map(|all| slowdown_interval(all.median, [all.low, all.high]).join(" to "))
    };
    let quantile = |summary: &Summary, q: f64| {
        let told =
            |found: Quantile<u64>| format!("{} ({})", Time(found.value), times((found.low, found.high)));
        summary.quantile(q).map_or_else(|_| NONE.into(), told)
    };
    Columns::over(rows)
        .text("series", |(name, _, _)| name)
        .page_only()
        .number("processes", |(_, _, row)| Cell::count(row.point.processes))
        .each(with_copies.then_some("copies"), |columns, name| {
            columns.number(name, |(_, copies, _)| copies.map_or_else(|| NONE.into(), Cell::count))
        })
        .number("runs", |(_, _, row)| Cell::count(row.times.count))
        .number("T0", |(_, _, row)| Cell::ps(row.quiet_ps))
        .number("median", |(_, _, row)| Cell::ps(row.times.median))
        .number("interval", |(_, _, row)| interval(row).unwrap_or_else(|| NONE.into()))
        .on_page_called("median's interval")
        .number("quartiles", |(_, _, row)| times((row.times.q1, row.times.q3)))
        .number("whiskers", |(_, _, row)| times((row.times.low, row.times.high)))
        .number("outliers", |(_, _, row)| Cell::count(row.times.outliers.len()))
        .number("largest", |(_, _, row)| Cell::ps(row.times.max))
        .number("slowdown", |(_, _, row)| Cell::slowdown(row.median_slowdown))
        .number("interval", |(_, _, row)| slowdown(row).unwrap_or_else(|| NONE.into()))
        .on_page_called("its interval")
        .number("largest slowdown", |(_, _, row)| Cell::slowdown(row.largest_slowdown))
        .page_only()
        .each(quantiles, |columns, &q| {
            columns.number(format!("{q} quantile"), |(_, _, row)| quantile(row, q))
        })
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::Time;
    use straggler_model::study::{PointResult, Results};

    fn place(sweep: &str, workload: &str, machine: &str, cosched: bool) -> Coordinates {
        Coordinates {
            sweep: sweep.into(),
            workload: workload.into(),
            size: Some(8),
            network: machine.into(),
            network_scale: 1.0,
            noise: machine.into(),
            cosched,
            seed: 1,
            processes: 4,
        }
    }

    fn names_at(places: Vec<Coordinates>) -> Vec<String> {
        let point = |point| PointResult { point, quiet: Time(1), makespans: vec![Time(2)] };
        let results = Results { points: places.into_iter().map(point).collect() };
        labels(&straggler_analysis::study::series(&results, 0.1))
    }

    fn names(places: &[(&str, &str, bool)]) -> Vec<String> {
        names_at(
            places
                .iter()
                .map(|&(sweep, workload, cosched)| place(sweep, workload, "chic", cosched))
                .collect(),
        )
    }

    #[test]
    fn the_top_level_and_a_sweep_tell_their_machines() {
        let names =
            names_at(vec![place("", "barrier", "chic", false), place("Altix", "barrier", "altix", false)]);
        assert_eq!(names, ["network chic, noise chic", "Altix, network altix, noise altix"]);
    }

    #[test]
    fn by_what_differs() {
        assert_eq!(names(&[("", "barrier", false)]), ["barrier"]);
        assert_eq!(
            names(&[("A", "barrier", false), ("B", "bcast", true)]),
            ["A, barrier", "B, bcast, co-scheduled"]
        );
        assert_eq!(
            names(&[
                ("", "barrier", false),
                ("", "barrier", true),
                ("", "bcast", false),
                ("", "bcast", true)
            ]),
            ["barrier", "barrier, co-scheduled", "bcast", "bcast, co-scheduled"]
        );
    }
}
