//! The tables of `resample`, for the terminal and for the page.

use crate::kernel::invocation::command_line;
use crate::kernel::pages;
use crate::papers::resample::answer::{CaseAnswer, Comparison, ResampleAnswer};
use crate::papers::resample::words;
use straggler_model::Time;
use straggler_model::stats::Summary;
use straggler_report::histograms::Histogram as Bins;
use straggler_report::numbers::grouped;
use straggler_report::page::{
    Axis, BoxSeries, Boxes, Chart, Histogram, HistogramSeries, Page, Scale, Section, Unit,
};
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

pub fn page(answer: &ResampleAnswer, histograms: &[Bins], synthetic: bool) -> Page {
    let command = command_line();
    let mut section = Section::new("All-to-alls");
    let charts = [
        boxes("Duration of an all-to-all", "total time", &answer.cases, |case| case.total_ps, &command),
        boxes("Idle time of a processor", "idle time", &answer.cases, |case| case.idle_ps, &command),
    ];
    charts.into_iter().for_each(|chart| section.add(chart.synthetic(synthetic)));
    for (quantity, title) in [
        ("total", "Total times"),
        ("idle", "Idle times of all processors"),
        ("idle_0", "Idle times of processor 0"),
    ] {
        section.add(histogram(quantity, title, histograms, &command).synthetic(synthetic));
    }
    section.add(totals(answer).titled("Total time of an all-to-all", &command));
    section.add(idle(answer).titled("Idle time of a processor", &command));
    if let Some(found) = &answer.one_to_one {
        section.add(one_to_one(found).titled("One exchange of two processors", &command));
    }
    let summary = pages::paragraphs(&words::summary(answer)).into_iter().take(1).collect();
    let mut page = pages::page("All-to-alls of resampled exchanges", summary, vec![section]);
    page.facts.add("Times", &answer.times);
    page.facts.add("Noise", &answer.noise);
    page.facts.add("Seed", answer.seed.to_string());
    page.warnings = answer.warnings.clone();
    page
}

fn boxes(
    title: &str,
    label: &str,
    cases: &[CaseAnswer],
    of: fn(&CaseAnswer) -> Option<Summary>,
    command: &str,
) -> Chart {
    let mut series: BoxSeries = BoxSeries { name: label.into(), ..BoxSeries::default() };
    for (case, summary) in cases.iter().filter_map(|case| Some((case, of(case)?))) {
        let time = |ps: u64| Time(ps).seconds();
        series.x.push(case.processes.into());
        series.low.push(time(summary.p1));
        series.q1.push(time(summary.p25));
        series.median.push(time(summary.median));
        series.q3.push(time(summary.p75));
        series.high.push(time(summary.p99));
        series.count.push(summary.count as f64);
        series.median_low.push(f64::NAN);
        series.median_high.push(f64::NAN);
    }
    let x = Axis::new("processors", Unit::Count, Scale::Log2);
    let y = Axis::linear(label, Unit::Seconds);
    Chart::new(title, command, Boxes { x, y, series: vec![series] })
        .with_note("Box: quartiles. Line: median. Whiskers end at 1 % and 99 % of the samples.")
}

fn histogram(quantity: &str, title: &str, histograms: &[Bins], command: &str) -> Chart {
    let series = |one: &Bins| HistogramSeries {
        name: format!("{} processors", grouped(one.processes)),
        edges: edges(one),
        counts: one.bins.iter().map(|bin| bin.count as f64).collect(),
        sum: false,
    };
    let of_quantity = histograms.iter().filter(|one| one.quantity == quantity);
    let plot = Histogram {
        x: Axis::linear("time", Unit::Seconds),
        y: Axis::linear("samples", Unit::Count),
        series: of_quantity.map(series).collect(),
    };
    Chart::new(title, command, plot)
}

/// The edges of adjacent bins.
fn edges(histogram: &Bins) -> Vec<f64> {
    let first = histogram.bins.first().map(|bin| bin.from);
    let ends = histogram.bins.iter().map(|bin| bin.to);
    first.into_iter().chain(ends).map(|ps| Time(ps).seconds()).collect()
}
