//! The page of a resampling.

use super::answer::{CaseAnswer, ResampleAnswer};
use super::{tables, words};
use crate::invocation::command_line;
use crate::pages;
use straggler_model::Time;
use straggler_model::stats::Summary;
use straggler_report::histograms::Histogram as Bins;
use straggler_report::numbers::grouped;
use straggler_report::page::{
    Axis, BoxSeries, Boxes, Chart, Histogram, HistogramSeries, Page, Scale, Section, Unit,
};

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
    section.add(tables::totals(answer).titled("Total time of an all-to-all", &command));
    section.add(tables::idle(answer).titled("Idle time of a processor", &command));
    if let Some(found) = &answer.one_to_one {
        section.add(tables::one_to_one(found).titled("One exchange of two processors", &command));
    }
    let summary = pages::paragraphs(&words::say(answer)).into_iter().take(1).collect();
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
