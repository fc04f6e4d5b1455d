//! The tables of `resample`, for the terminal and for the page.

use super::answer::{CaseAnswer, Comparison, ResampleAnswer};
use straggler_model::Time;
use straggler_model::stats::Summary;
use straggler_report::{Cell, Columns, Table};

/// Adds mean, standard deviation and quantiles of a summary.
fn with_summary<R: Copy>(columns: Columns<R>, of: impl Fn(R) -> Summary) -> Columns<R> {
    type Part = (&'static str, fn(&Summary) -> u64);
    const PARTS: [Part; 9] = [
        ("mean", |all| all.mean.round() as u64),
        ("sd", |all| all.sd.round() as u64),
        ("min", |all| all.min),
        ("1 %", |all| all.p1),
        ("25 %", |all| all.p25),
        ("50 %", |all| all.median),
        ("75 %", |all| all.p75),
        ("99 %", |all| all.p99),
        ("max", |all| all.max),
    ];
    columns.each(PARTS, |columns, (name, part)| columns.number(name, |row| Cell::time(Time(part(&of(row))))))
}

pub fn totals(answer: &ResampleAnswer) -> Table {
    let rows = answer.cases.iter().filter_map(|case| Some((case, case.total_ps.as_ref()?)));
    let columns = Columns::over(rows)
        .number("processors", |(case, _)| Cell::count(case.processes))
        .number("samples", |(case, _)| Cell::count(case.samples));
    let columns = with_summary(columns, |(_, total)| *total);
    if answer.size_bytes.is_none() {
        return columns.build();
    }
    let speed = |speed: f64| Cell::number(format!("{:.3}", speed / 1e6), speed / 1e6);
    columns
        .number("MB/s", |(case, _)| case.throughput_bytes_per_second.map(speed))
        .number("of the slowest", |(case, _)| case.slowest_throughput_bytes_per_second.map(speed))
        .build()
}

pub fn idle(answer: &ResampleAnswer) -> Table {
    #[derive(Clone, Copy)]
    struct Row<'a> {
        case: &'a CaseAnswer,
        /// "all", or one by its number.
        processor: &'static str,
        never: f64,
        idle: &'a Summary,
    }
    let rows = answer.cases.iter().flat_map(|case| {
        let first = case.processors.first().map_or(0.0, |first| first.never_idle_share);
        let both = [
            ("all", case.never_idle(), case.idle_ps.as_ref()),
            ("0", first, case.idle_ps_of_processor_0.as_ref()),
        ];
        both.into_iter()
            .filter_map(move |(processor, never, idle)| Some(Row { case, processor, never, idle: idle? }))
    });
    let columns = Columns::over(rows)
        .number("processors", |row| Cell::count(row.case.processes))
        .text("processor", |row| row.processor)
        .number("never idle", |row| Cell::share(row.never))
        .number("share", |row| {
            Cell::share(row.idle.mean / row.case.total_ps.map_or(1.0, |total| total.mean))
        });
    with_summary(columns, |row| *row.idle).build()
}

pub fn one_to_one(found: &Comparison) -> Table {
    let columns = Columns::over([("measured", &found.measured_ps), ("resampled", &found.resampled_ps)])
        .text("", |(name, _)| name)
        .number("values", |(_, all)| Cell::count(all.count));
    with_summary(columns, |(_, all)| *all).build()
}
