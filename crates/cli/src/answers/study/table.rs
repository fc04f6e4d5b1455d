//! The table of a study, for the terminal and for the page.

use straggler_analysis::study::{Series, Summary};
use straggler_model::Time;
use straggler_model::stats::Quantile;
use straggler_report::numbers::slowdown_interval;
use straggler_report::{Cell, Columns, Table};

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
