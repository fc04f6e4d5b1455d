//! The page of an assessment, and its tables. The terminal has a column per operation; the page has a row per point,
//! which can be sorted.

use crate::assess::findings::{self, title};
use crate::assess::words::{STAR, what_the_curves_show};
use crate::assess::{Kind, Report, Subject, programs};
use crate::kernel::pages::{Finding, FindingKind};
use crate::kernel::prelude::*;
use crate::{assess::target::largest_scale, noise::words::evidence};
use straggler_analysis::assess::{self, Curve, Point, Ranking, Removal};
use straggler_analysis::{inflection::Slowdown, noise::Analysis};
use straggler_report::numbers::{self, SLOWDOWN_LEGEND, longer, rounded, slowdown};
use straggler_report::page::{Bar, Bars, Line, Lines, Mark, Role, Scale};

pub fn page(report: &Report, findings: &[Finding], synthetic: bool) -> Page {
    let command = command_line();
    let mut sections: Vec<Section> = of_programs(report, &command, synthetic).into_iter().collect();
    sections.push(costs(report, findings, &command, synthetic));
    sections.extend(
        report.answer.rankings.last().map(|ranking| removals_chart(report, ranking, &command, synthetic)),
    );
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
    section.add(points(report).titled("Slowdowns", command).with_note(SLOWDOWN_LEGEND));
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

fn removals_chart(report: &Report, ranking: &assess::Ranking, command: &str, synthetic: bool) -> Section {
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
    let quiet = quiet(report, ranking).map_or(f64::NAN, Time::seconds);
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

fn copies(report: &Report) -> &[u32] {
    report.program.as_ref().map_or(&[][..], |program| &program.copies)
}

fn with_interval(slowdown: &Slowdown) -> Cell {
    let [median, low, high] = [slowdown.median, slowdown.low, slowdown.high].map(numbers::slowdown);
    Cell::number(format!("{median} [{low}, {high}]"), slowdown.median)
}

/// Adds the star that the notes explain.
fn starred(cell: Cell, point: &Point) -> Cell {
    if point.settled { cell } else { Cell { text: cell.text + " *", ..cell } }
}

/// Slowdowns by processes.
pub fn curves(report: &Report) -> Table {
    let (curves, copies) = (&report.answer.curves, copies(report));
    let name = |curve: &Curve| match &curve.same_as {
        Some(same) => format!("{} (same as {same})", curve.name),
        // The program was named above, possibly by a long path.
        None if report.program.is_some() => "slowdown".into(),
        None => curve.name.clone(),
    };
    // Curves begin at the same scale; one with larger slowdowns may end earlier.
    let longest = curves.iter().max_by_key(|curve| curve.points.len()).map_or(&[][..], |curve| &curve.points);
    // Times of the first operation alone; they name it if there are others.
    let of = |curve: &Curve, what: &str| match curves.len() > 1 && report.program.is_none() {
        true => format!("{} {what}", curve.name),
        false => what.to_string(),
    };
    Columns::over(longest.iter().enumerate())
        .number("processes", |(_, point)| Cell::count(point.processes))
        .each((!copies.is_empty()).then_some("copies"), |columns, name| {
            columns.number(name, |(index, _)| copies.get(index).map(|&copies| Cell::count(copies)))
        })
        .each(curves.iter().enumerate(), |columns, (number, curve)| {
            let at = |index: usize| curve.points.get(index);
            let columns = columns.number(name(curve), |(index, _)| {
                at(index).map(|point| starred(with_interval(&point.slowdown), point))
            });
            if number > 0 {
                return columns;
            }
            columns
                .number(of(curve, "replicas"), |(index, _)| {
                    at(index).map(|point| Cell::count(point.replicas))
                })
                .number(of(curve, "without noise"), |(index, _)| {
                    at(index).map(|point| Cell::ps(point.quiet_ps))
                })
                .number(of(curve, "with noise"), |(index, _)| {
                    at(index).map(|point| Cell::ps(point.median_ps))
                })
        })
        .build()
}

/// The same with one row per point.
fn points(report: &Report) -> Table {
    let copies = copies(report);
    let rows = report.answer.curves.iter().flat_map(|curve| {
        let points = curve.points.iter().enumerate();
        points.map(|(index, point)| (curve.name.as_str(), copies.get(index).copied(), point))
    });
    let what = if report.program.is_some() { "program" } else { "operation" };
    Columns::over(rows)
        .text(what, |(name, _, _)| name)
        .number("processes", |(_, _, point)| Cell::count(point.processes))
        .each((!copies.is_empty()).then_some("copies"), |columns, name| {
            columns.number(name, |(_, copies, _)| copies.map(Cell::count))
        })
        .number("slowdown", |(_, _, point)| starred(Cell::slowdown(point.slowdown.median), point))
        .number("at least", |(_, _, point)| Cell::slowdown(point.slowdown.low))
        .number("at most", |(_, _, point)| Cell::slowdown(point.slowdown.high))
        .number("replicas", |(_, _, point)| Cell::count(point.replicas))
        .number("without noise", |(_, _, point)| Cell::ps(point.quiet_ps))
        .number("with noise", |(_, _, point)| Cell::ps(point.median_ps))
        .build()
}

/// One row per cause, in the order of the ranking at the largest scale.
pub fn removals(report: &Report) -> Option<Table> {
    let rankings = &report.answer.rankings;
    let largest = rankings.last().filter(|ranking| !ranking.removals.is_empty())?;
    let subject = &report.subject;
    let quiet = quiet(report, largest);
    let durations = |removal: &Removal| subject.noise.durations(removal.id);
    let durations: Vec<Vec<Time>> = largest.removals.iter().map(durations).collect();
    // The last row is for all causes together.
    let table = Columns::over(largest.removals.iter().zip(&durations).map(Some).chain([None]))
        .text("source", |row| row.map_or("(all sources)", |(removal, _)| removal.cause.as_str()))
        .text("evidence", |row| row.and_then(|(removal, _)| subject.evidence_of(removal.id)))
        .number("detours", |row| row.map(|(removal, durations)| subject.detours_of(removal.id, durations)))
        .number("of noise", |row| row.map(|(removal, _)| subject.share_of(removal.id)))
        .number("longest", |row| {
            row.map(|(_, durations)| Cell::time(durations.first().copied().unwrap_or(Time::ZERO)))
        })
        .each(rankings, |columns, ranking| {
            columns.number(format!("without it at {}", grouped(ranking.processes)), |row| match row {
                None => with_interval(&ranking.slowdown),
                Some((removal, _)) => {
                    let found = ranking.removals.iter().find(|other| other.id == removal.id);
                    found.map_or("not simulated".into(), |found| with_interval(&found.slowdown))
                }
            })
        })
        // The rows are sorted by this column.
        .number(format!("saves at {}", grouped(largest.processes)), |row| {
            row.zip(quiet).map(|((removal, _), quiet)| saved(removal, quiet))
        });
    Some(table.build())
}

/// The time without noise of the operation or program that the sources were ranked for.
fn quiet(report: &Report, ranking: &Ranking) -> Option<Time> {
    let curve = report.answer.curves.first()?;
    curve.at(ranking.processes).map(|point| Time(point.quiet_ps))
}

/// The time that removing a source saves in one operation or one run of the program.
fn saved(removal: &Removal, quiet: Time) -> Cell {
    let ps = |share: f64| share * quiet.ps() as f64;
    let time = |share: f64| {
        let sign = if ps(share) <= -0.5 { "-" } else { "" };
        format!("{sign}{}", Time(ps(share).abs().round() as u64))
    };
    let [gain, low, high] = [removal.gain, removal.gain_low, removal.gain_high].map(time);
    Cell::number(format!("{gain} [{low}, {high}]"), ps(removal.gain) * 1e-12)
}

impl Subject {
    fn evidence_of(&self, id: u16) -> Option<&'static str> {
        self.noise.causes.get(usize::from(id)).map(|cause| evidence(cause.evidence))
    }

    fn detours_of(&self, id: u16, durations: &[Time]) -> Cell {
        if self.recording.is_some() {
            return Cell::count(durations.len());
        }
        // A noise spec has no end, so it has a rate instead of a count.
        let rate = durations.len() as f64 / self.noise.length_of(id).seconds().max(f64::MIN_POSITIVE);
        Cell::number(format!("{} per second", rounded(rate)), rate)
    }

    fn share_of(&self, id: u16) -> Cell {
        Cell::share(self.noise.share_of(id) / self.noise.share().max(f64::MIN_POSITIVE))
    }
}
