//! What a program pays that synchronises all its processes at an interval: sentences, table, chart and metrics.

use crate::assess::words::{from_to, remove_first};
use crate::assess::{Report, findings};
use crate::kernel::metrics::{Metric, PROGRAM_SLOWDOWN};
use crate::kernel::prelude::*;
use straggler_analysis::assess::ProgramPoint;
use straggler_report::numbers::{longer, percent_within, slowdown_within};
use straggler_report::page::{Line, Lines, Mark, Role, Scale};

/// How to read the table.
pub const LEGEND: &str = "Mean slowdown of a program, by the time between two synchronisations of all its processes. A \
                          range is a wide 95 % interval of the mean.";

/// A scale that is quoted besides the largest: a small job.
const SMALL_JOB: u32 = 1024;

/// Says from where on noise costs more than the threshold, or how much it costs at most.
pub fn verdict(report: &Report) -> Option<String> {
    let points = &report.answer.programs;
    let certain = |point: &&ProgramPoint| point.low > report.threshold;
    let processes = points.iter().find(certain).map(|point| point.processes);
    match processes {
        Some(processes) => Some(bottleneck(report, processes)),
        None => no_bottleneck(report),
    }
}

/// "From 1,024 processes up, noise costs a program more than 10 % if it synchronises every 1 ms or more often."
fn bottleneck(report: &Report, processes: u32) -> String {
    let there = report.answer.programs.iter().filter(|point| point.processes == processes);
    let above: Vec<Time> =
        there.clone().filter(|point| point.low > report.threshold).map(|point| point.interval).collect();
    let longest = above.iter().copied().max().unwrap_or_default();
    let mut shorter = there.filter(|point| point.interval < longest).peekable();
    let more_often = shorter.peek().is_some() && shorter.all(|point| point.slowdown > report.threshold);
    format!(
        "From {} processes up, noise costs a program more than {} if it synchronises every {longest}{}.",
        grouped(processes),
        percent(report.threshold),
        if more_often { " or more often" } else { "" }
    )
}

/// "Noise costs at most 3.2 % (±0.4) on up to 65,536 processes, even if a program synchronises every 100 µs."
fn no_bottleneck(report: &Report) -> Option<String> {
    let points = &report.answer.programs;
    let most = points.iter().max_by(|one, other| one.high.total_cmp(&other.high))?;
    let largest = grouped(points.last()?.processes);
    let interval = most.interval;
    if most.high > report.threshold {
        return Some(format!(
            "It is not certain whether noise costs a program more than {}: on {} processes it costs {}, the 95 % \
             interval of the mean, if the program synchronises every {interval}.",
            percent(report.threshold),
            grouped(most.processes),
            slowdown_within(most.slowdown, [most.low, most.high], false)
        ));
    }
    let shortest = points.iter().map(|point| point.interval).min()?;
    let even = if interval == shortest { "even" } else { "most" };
    let cost = match percent_within(most.slowdown, most.uncertainty()) {
        cost if most.is_narrow() => cost,
        _ => format!("{} (the upper end of a wide interval)", percent(most.high)),
    };
    Some(match most.high > 0.0 {
        true => format!(
            "Noise costs at most {cost} on up to {largest} processes, {even} if a program synchronises every \
             {interval}."
        ),
        false => format!(
            "Noise costs nothing on up to {largest} processes, even if a program synchronises every {shortest}."
        ),
    })
}

/// "With 1,024 processes on the network chic, the mean slowdown is +54 % if they synchronise every 100 µs, +12 % every 1 ms."
pub fn costs(report: &Report) -> Vec<String> {
    let largest = report.answer.programs.last().map_or(0, |point| point.processes);
    let mut scales = vec![SMALL_JOB.min(largest), largest];
    scales.dedup();
    scales.retain(|&scale| scale > 0);
    let at = |processes: u32| {
        let points = report.answer.programs.iter().filter(|point| point.processes == processes);
        let each: Vec<String> =
            points.map(|point| format!("{} every {}", written(point), point.interval)).collect();
        format!(
            "With {} processes on the network {}, the mean slowdown is {}.",
            grouped(processes),
            report.network.name,
            each.join(", ").replacen(" every", " if they synchronise every", 1)
        )
    };
    scales.into_iter().map(at).collect()
}

/// "Remove first: kswapd. With 1,024 processes and a synchronisation every 1 ms, this cuts the slowdown from 6.2× to
/// 12 %." None if no program was simulated without a source.
pub fn advice(report: &Report) -> Option<String> {
    let ranking = report.answer.program_ranking.as_ref().filter(|_| !findings::is_mostly_unnamed(report))?;
    let (processes, interval) = (grouped(ranking.all.processes), ranking.all.interval);
    let Some(best) = ranking.best() else {
        return Some(format!(
            "No single source is to blame: with {processes} processes and a synchronisation every {interval}, removing \
             one of them gains no more than chance."
        ));
    };
    let found = |point: &ProgramPoint| (point.slowdown, [point.low, point.high], point.is_narrow());
    Some(format!(
        "{} With {processes} processes and a synchronisation every {interval}, this cuts the slowdown {}.",
        remove_first(report, &best.cause),
        from_to([found(&ranking.all), found(&best.left)])
    ))
}

/// What the program pays without each of the largest sources.
pub fn removals(report: &Report) -> Option<Table> {
    let ranking = report.answer.program_ranking.as_ref()?;
    let all = std::iter::once(("nothing", &ranking.all));
    let rows = all.chain(ranking.removals.iter().map(|removal| (removal.cause.as_str(), &removal.left)));
    let table = Columns::over(rows)
        .text("removed", |(name, _)| name)
        .number("slowdown left", |(_, point)| Cell::number(written(point), point.slowdown));
    Some(table.build())
}

/// The title of that table.
pub fn removals_title(report: &Report) -> String {
    let ranking = report.answer.program_ranking.as_ref();
    ranking.map_or_else(String::new, |ranking| {
        format!(
            "Removing a source, with {} processes and a synchronisation every {}",
            grouped(ranking.all.processes),
            ranking.all.interval
        )
    })
}

/// Says that larger scales were left out.
pub fn smaller_scale(report: &Report) -> Option<String> {
    let largest = report.answer.programs.last()?.processes;
    let wanted = report.answer.curves.first()?.points.last()?.processes;
    (largest < wanted).then(|| {
        format!(
            "Programs on more than {} processes were not simulated: they would take too long.",
            grouped(largest)
        )
    })
}

fn written(point: &ProgramPoint) -> String {
    slowdown_within(point.slowdown, [point.low, point.high], point.is_narrow())
}

/// The simulated intervals.
fn intervals(report: &Report) -> Vec<Time> {
    let points = &report.answer.programs;
    let first = points.first().map(|point| point.processes);
    points.iter().filter(|point| Some(point.processes) == first).map(|point| point.interval).collect()
}

/// A row for each number of processes, a column for each interval.
pub fn table(report: &Report) -> Option<Table> {
    let points = &report.answer.programs;
    let intervals = intervals(report);
    let rows = points.chunks(intervals.len().max(1));
    let processes = |row: &&[ProgramPoint]| row.first().map(|point| Cell::count(point.processes));
    let table = Columns::over(rows).number("processes", |row| processes(&row)).each(
        intervals.iter().enumerate(),
        |columns, (index, interval)| {
            columns.number(format!("every {interval}"), |row| {
                row.get(index).map(|point| Cell::number(written(point), point.slowdown))
            })
        },
    );
    (!points.is_empty()).then(|| table.build())
}

/// Slowdowns by processes, a line for each interval.
pub fn chart(report: &Report) -> Option<Chart> {
    let points = &report.answer.programs;
    let scale = Scale::of_slowdowns(points.iter().map(|point| point.slowdown).filter(|&more| more > 0.0));
    // A logarithmic axis has no 0.
    let drawn = |point: &&ProgramPoint| scale == Scale::Linear || point.slowdown > 0.0;
    let line = |interval: Time| {
        let of = |value: fn(&ProgramPoint) -> f64| -> Vec<f64> {
            let points = points.iter().filter(|point| point.interval == interval);
            points.filter(drawn).map(value).collect()
        };
        Line {
            name: format!("every {interval}"),
            role: Role::Simulated,
            x: of(|point| point.processes.into()),
            y: of(|point| point.slowdown),
            low: Some(of(|point| point.low)),
            high: Some(of(|point| point.high)),
        }
    };
    let plot = Lines {
        x: Axis::processes(),
        y: Axis::slowdown(scale),
        series: intervals(report).into_iter().map(line).collect(),
        marks: vec![Mark { x: None, y: Some(report.threshold), name: longer(report.threshold) }],
    };
    let title = format!("Cost of this noise for a program on {}", report.network.name);
    (!points.is_empty()).then(|| Chart::new(title, "", plot))
}

pub fn metrics(report: &Report) -> impl Iterator<Item = Metric> {
    report.answer.programs.iter().map(|point| {
        // As options are typed: 1ms, 100us.
        let interval = point.interval.to_string().replace(' ', "").replace('µ', "u");
        Metric::new(&PROGRAM_SLOWDOWN, point.slowdown)
            .label("interval", interval)
            .on(point.processes)
            .within(point.low, point.high)
    })
}
