//! The page of an assessment.

use crate::assess::findings::title;
use crate::assess::scale::largest_scale;
use crate::assess::words::{STAR, what_the_curves_show};
use crate::assess::{Kind, Report, findings, programs, tables};
use crate::kernel::command_line;
use crate::kernel::pages::{self, Finding, FindingKind};
use straggler_analysis::assess;
use straggler_analysis::noise::Analysis;
use straggler_model::Time;
use straggler_report::numbers::{SLOWDOWN_LEGEND, grouped, longer, slowdown};
use straggler_report::page::{Axis, Bar, Bars, Chart, Line, Lines, Mark, Page, Role, Scale, Section, Unit};

pub fn page(report: &Report, findings: &[Finding], synthetic: bool) -> Page {
    let command = command_line();
    let mut sections: Vec<Section> = of_programs(report, &command, synthetic).into_iter().collect();
    sections.push(costs(report, findings, &command, synthetic));
    sections
        .extend(report.answer.rankings.last().map(|ranking| removals(report, ranking, &command, synthetic)));
    if let Some(recording) = &report.subject.recording {
        let name = &report.subject.name;
        let note = report.subject.batches.and_then(|batches| batches.joined()).unwrap_or_default();
        let subject =
            crate::noise::page::Subject { recording, name, seed: report.seed, headline: Vec::new(), note };
        sections.push(subject.section(&Analysis::new(recording, report.seed)));
    }
    let title = format!("Cost of noise: {}", report.subject.name);
    let mut page = pages::page(title, FindingKind::Verdict.select(findings), sections);
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
    if let Some(recording) = &report.subject.recording {
        crate::noise::page::add_machine(&mut page.facts, recording);
    }
    page.facts.add("Largest scale", largest_scale(report));
    page.facts.add("Seed", report.seed.to_string());
    page.notes = [FindingKind::Note, FindingKind::Detail].map(|kind| kind.select(findings)).concat();
    page
}

/// What a program pays, if programs were simulated.
fn of_programs(report: &Report, command: &str, synthetic: bool) -> Option<Section> {
    let (chart, table) = (programs::chart(report)?, programs::table(report)?);
    let mut section = Section::new("What a program pays");
    section.add(Chart { command: command.into(), synthetic, ..chart });
    section.add(table.titled("Mean slowdowns of programs", command).with_note(programs::LEGEND));
    if let Some(table) = programs::removals(report) {
        section.add(table.titled(programs::removals_title(report), command));
    }
    Some(section)
}

fn costs(report: &Report, findings: &[Finding], command: &str, synthetic: bool) -> Section {
    let mut section = Section::new(match report.program {
        Some(_) => "Slowdowns by processes",
        None => "A single operation",
    });
    section.text.push(what_the_curves_show(report).into());
    section.add(Chart { command: command.into(), synthetic, ..slowdowns(report) });
    section.add(tables::points(report).titled("Slowdowns", command).with_note(SLOWDOWN_LEGEND));
    if findings.iter().any(|finding| finding.text == STAR) {
        section.text.push(STAR.into());
    }
    section
}

pub fn slowdowns(report: &Report) -> Chart {
    let separate = || report.answer.curves.iter().filter(|curve| curve.same_as.is_none());
    let mark = |curve: &assess::Curve| {
        curve.inflection.map(|processes| Mark {
            x: Some(processes.into()),
            y: None,
            name: format!("{}: noise dominates from {} processes", curve.name, grouped(processes)),
        })
    };
    let threshold = Mark { x: None, y: Some(report.threshold), name: longer(report.threshold) };
    let plot = Lines {
        x: Axis::processes(),
        y: Axis::slowdown(Scale::of_slowdowns(medians(report))),
        series: separate().map(|curve| line(curve, &report.answer.curves)).collect(),
        marks: separate().filter_map(mark).chain([threshold]).collect(),
    };
    Chart::new(title(report), "", plot)
}

fn medians(report: &Report) -> impl Iterator<Item = f64> {
    report.answer.curves.iter().flat_map(|curve| &curve.points).map(|point| point.slowdown.median)
}

/// Operations with the same schedule share a line.
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

fn removals(report: &Report, ranking: &assess::Ranking, command: &str, synthetic: bool) -> Section {
    let mut section = match report.answer.program_ranking {
        Some(_) => Section::new("Removing a source, for a single operation"),
        None => Section::new("What to remove first"),
    };
    if report.answer.program_ranking.is_none() {
        section.text = vec![findings::advice(report, ranking)];
    }
    section.add(Chart { command: command.into(), synthetic, ..gains(report, ranking) });
    section
}

/// The time that the removal of each source saves, as in the table.
pub fn gains(report: &Report, ranking: &assess::Ranking) -> Chart {
    let quiet = tables::quiet(report, ranking).map_or(f64::NAN, Time::seconds);
    let bar = |removal: &assess::Removal| Bar {
        name: removal.cause.clone(),
        value: removal.gain * quiet,
        low: Some(removal.gain_low * quiet),
        high: Some(removal.gain_high * quiet),
        note: format!("leaves {}", slowdown(removal.slowdown.median)),
        ..Bar::default()
    };
    let plot = Bars {
        x: Axis::linear("time saved", Unit::Seconds),
        bars: ranking.removals.iter().map(bar).collect(),
    };
    let processes = grouped(ranking.processes);
    Chart::new(format!("Gain from removing each source at {processes} processes"), "", plot)
}
