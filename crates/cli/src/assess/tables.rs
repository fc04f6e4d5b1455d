//! The tables of an assessment, for the terminal and for the page. The terminal has a column per operation; the page
//! has a row per point, which can be sorted.

use crate::assess::{Report, Subject};
use crate::noise::words::evidence;
use straggler_analysis::assess::{Curve, Point, Ranking, Removal};
use straggler_analysis::inflection::Slowdown;
use straggler_model::Time;
use straggler_report::numbers::{grouped, rounded};
use straggler_report::{Cell, Columns, Table, numbers};

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
pub fn points(report: &Report) -> Table {
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
pub fn quiet(report: &Report, ranking: &Ranking) -> Option<Time> {
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
