//! The page of an assessment.

use super::findings::{self, Finding, title};
use super::scale::largest_scale;
use super::{Kind, Report};
use crate::commands::{command_line, report};
use straggler_analysis::assess;
use straggler_analysis::noise::Analysis;
use straggler_model::Time;
use straggler_report::numbers::{grouped, percent, significant};
use straggler_report::page::{
    Axis, Bar, Bars, Cell, Chart, Line, Lines, Mark, Page, Role, Scale, Section, Table, Unit,
};

pub fn page(report: &Report, findings: &[Finding], synthetic: bool) -> Page {
    let command = command_line();
    let mut sections = vec![costs(report, findings, &command, synthetic)];
    sections
        .extend(report.answer.rankings.last().map(|ranking| removals(report, ranking, &command, synthetic)));
    if let Some(recording) = &report.subject.recording {
        let name = &report.subject.name;
        let subject = report::NoiseSubject { recording, name, seed: report.seed };
        sections.push(subject.section(&Analysis::of(recording, report.seed)));
    }
    let title = format!("What noise costs: {}", report.subject.name);
    let mut page = report::page(title, findings::Kind::Verdict.of(findings), sections);
    if let Some(program) = &report.program {
        page.facts.add(if program.kind == Kind::Trace { "Trace" } else { "Schedule" }, &program.name);
        let copies: Vec<String> = program.copies.iter().map(|&copies| grouped(copies)).collect();
        if !copies.is_empty() {
            page.facts.add("Copies", copies.join(", "));
        }
    }
    let fitted = report.program.as_ref().is_some_and(|program| program.fitted);
    match fitted {
        true => page.facts.add("Network fitted to the trace", report.network.parameters()),
        false => page.facts.add("Network", &report.network.name),
    }
    page.facts.add("Largest scale", largest_scale(report));
    page.facts.add("Seed", report.seed.to_string());
    page.warnings = findings::Kind::Note.of(findings);
    page
}

fn costs(report: &Report, findings: &[Finding], command: &str, synthetic: bool) -> Section {
    let separate = || report.answer.curves.iter().filter(|curve| curve.same_as.is_none());
    let mark = |curve: &assess::Curve| {
        curve.inflection.map(|processes| Mark {
            x: Some(processes.into()),
            y: None,
            name: format!("{}: noise dominates from {} processes", curve.name, grouped(processes)),
        })
    };
    let threshold =
        Mark { x: None, y: Some(report.threshold), name: format!("{} slower", percent(report.threshold)) };
    let plot = Lines {
        x: Axis::processes(),
        y: Axis::new("slowdown T / T0 - 1", Unit::Share, scale(report)),
        series: separate().map(|curve| line(curve, &report.answer.curves)).collect(),
        marks: separate().filter_map(mark).chain([threshold]).collect(),
    };
    let title = title(report);
    let mut section = Section::new("Slowdowns by processes");
    section.text.push("Median of the replicas, with its interval; T / T0 - 1, so that 0 is no loss.".into());
    section.add(Chart::new(title, command, plot).synthetic(synthetic));
    section.add(points(report, command));
    if findings.iter().any(|finding| finding.text == findings::STAR) {
        section.text.push(findings::STAR.into());
    }
    section
}

/// Logarithmic where slowdowns differ much and all of them are losses.
fn scale(report: &Report) -> Scale {
    let medians = report.answer.curves.iter().flat_map(|curve| &curve.points);
    let medians: Vec<f64> = medians.map(|point| point.slowdown.median).collect();
    let least = medians.iter().copied().fold(f64::INFINITY, f64::min);
    let most = medians.iter().copied().fold(0.0, f64::max);
    if least > 0.0 && most > 20.0 * least { Scale::Log10 } else { Scale::Linear }
}

/// Operations with the very same schedule share a line.
fn line(curve: &assess::Curve, all: &[assess::Curve]) -> Line {
    let twins = all.iter().filter(|twin| twin.same_as.as_ref() == Some(&curve.name));
    let names = std::iter::once(curve).chain(twins).map(|curve| curve.name.clone());
    let of = |value: fn(&assess::Point) -> f64| -> Vec<f64> { curve.points.iter().map(value).collect() };
    Line {
        name: names.collect::<Vec<_>>().join(" and "),
        role: Role::Simulated,
        x: of(|point| point.processes.into()),
        y: of(|point| point.slowdown.median),
        low: Some(of(|point| point.slowdown.low)),
        high: Some(of(|point| point.slowdown.high)),
    }
}

fn points(report: &Report, command: &str) -> Table {
    let copies = report.program.as_ref().map_or(&[][..], |program| &program.copies);
    let mut columns = vec![if report.program.is_some() { "program" } else { "operation" }, "#processes"];
    columns.extend((!copies.is_empty()).then_some("#copies"));
    columns.extend(["#slowdown", "#at least", "#at most", "#replicas", "#without noise", "#with noise"]);
    let mut table = Table::new("Slowdowns (T / T0 - 1)", &columns);
    table.command = command.into();
    for curve in &report.answer.curves {
        for (index, point) in curve.points.iter().enumerate() {
            let [low, high] = [point.slowdown.low, point.slowdown.high]
                .map(|value| Cell::number(significant(value), value));
            let median = Cell::number(starred(point), point.slowdown.median);
            let times = [point.quiet_ps, point.median_ps]
                .map(|ps| Cell::number(Time(ps).to_string(), Time(ps).seconds()));
            let count = |count: u32| Cell::number(grouped(count), count.into());
            let first = [Cell::text(&curve.name), count(point.processes)];
            let copies = copies.get(index).map(|&copies| count(copies));
            let found = [median, low, high, count(point.replicas)];
            table.row(first.into_iter().chain(copies).chain(found).chain(times));
        }
    }
    table
}

/// With the star that the notes explain.
fn starred(point: &assess::Point) -> String {
    let star = if point.settled { "" } else { " *" };
    significant(point.slowdown.median) + star
}

fn removals(report: &Report, ranking: &assess::Ranking, command: &str, synthetic: bool) -> Section {
    let bar = |removal: &assess::Removal| Bar {
        name: removal.cause.clone(),
        value: removal.gain,
        low: Some(removal.gain_low),
        high: Some(removal.gain_high),
        note: format!("leaves {}", significant(removal.slowdown.median)),
    };
    let plot = Bars {
        x: Axis::linear("the slowdown T / T0 - 1 falls by", Unit::None),
        bars: ranking.removals.iter().map(bar).collect(),
    };
    let processes = grouped(ranking.processes);
    let title = format!("What the removal of each source gives at {processes} processes");
    let mut section = Section::new("What to remove first");
    section.text = vec![findings::advice(report, ranking)];
    section.add(Chart::new(title, command, plot).synthetic(synthetic));
    section
}
