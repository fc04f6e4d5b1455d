//! An assessment on the console: the verdict, tables, then what to know about them.

use super::findings::{Finding, Kind, STAR, an_operation};
use super::{Report, Subject};
use crate::commands::noise::evidence;
use straggler_analysis::assess::{Point, Removal};
use straggler_analysis::inflection::Slowdown;
use straggler_model::Time;
use straggler_report::Table;
use straggler_report::numbers::{grouped, percent, rounded, significant};

pub fn say(report: &Report, findings: &[Finding]) -> String {
    let mut text = Kind::Verdict.of(findings).join("\n");
    text += &format!("\n\nSlowdowns by processes (T / T0 - 1, median of the replicas)\n\n{}", curves(report));
    let mut notes = Kind::Note.of(findings);
    // The star is explained below the table in which it stands.
    if let Some(star) = notes.iter().position(|note| note == STAR) {
        text += &format!("  {}\n", notes.remove(star));
    }
    if let Some(table) = removals(report) {
        text += &format!("\nWhat the removal of a source gives to {}\n\n{table}", an_operation(report));
    }
    if !notes.is_empty() {
        text += "\nNotes\n";
        notes.iter().for_each(|note| text += &format!("  - {note}\n"));
    }
    text
}

pub fn number(slowdown: f64) -> String {
    match slowdown.abs() {
        large if large >= 0.995 => significant(slowdown),
        // Two digits that say something, down to where chance is all there is.
        small if (1e-5..0.095).contains(&small) => {
            let decimals = 1 - small.log10().floor() as i32;
            format!("{slowdown:.*}", decimals.max(2) as usize)
        }
        // No minus in front of nothing.
        _ => format!("{:.2}", slowdown + 0.0),
    }
}

fn with_interval(slowdown: &Slowdown) -> String {
    format!("{} [{}, {}]", number(slowdown.median), number(slowdown.low), number(slowdown.high))
}

fn gain(removal: &Removal) -> String {
    format!("{} [{}, {}]", number(removal.gain), number(removal.gain_low), number(removal.gain_high))
}

fn curves(report: &Report) -> Table {
    let curves = &report.answer.curves;
    let copies = report.program.as_ref().map_or(&[][..], |program| &program.copies);
    let mut header = vec!["processes".to_string()];
    header.extend((!copies.is_empty()).then(|| "copies".to_string()));
    for curve in curves {
        header.push(match &curve.same_as {
            Some(same) => format!("{} (as {same})", curve.name),
            // The program was named above, maybe by a long path.
            None if report.program.is_some() => "slowdown".into(),
            None => curve.name.clone(),
        });
    }
    header.extend(["replicas", "without noise", "with noise"].map(String::from));
    let mut table = Table::with_header(header);
    // Curves begin at the same scale; one that is slowed down more may end earlier.
    let longest = curves.iter().max_by_key(|curve| curve.points.len()).map_or(&[][..], |curve| &curve.points);
    let first = curves.first().map_or(&[][..], |curve| &curve.points);
    for (index, point) in longest.iter().enumerate() {
        let mut row = vec![grouped(point.processes)];
        row.extend(copies.get(index).map(|&copies| grouped(copies)));
        row.extend(curves.iter().map(|curve| curve.points.get(index).map_or_else(String::new, cell)));
        let of_first = |text: fn(&Point) -> String| first.get(index).map_or_else(String::new, text);
        row.push(of_first(|point| grouped(point.replicas)));
        row.push(of_first(|point| Time(point.quiet_ps).to_string()));
        row.push(of_first(|point| Time(point.median_ps).to_string()));
        table.row(row);
    }
    table
}

fn cell(point: &Point) -> String {
    let text = with_interval(&point.slowdown);
    if point.settled { text } else { format!("{text} *") }
}

/// A row for each cause, in the order of the ranking at the largest scale.
fn removals(report: &Report) -> Option<Table> {
    let rankings = &report.answer.rankings;
    let largest = rankings.last().filter(|ranking| !ranking.removals.is_empty())?;
    let mut header = vec!["source".to_string(), "how sure".into(), "detours".into(), "of noise".into()];
    header.push("longest".into());
    for ranking in rankings {
        header.push(format!("without it at {}", grouped(ranking.processes)));
    }
    // What the rows are ordered by, and the picture shows.
    header.push("falls by".into());
    let mut table = Table::with_header(header).text(1);
    for removal in &largest.removals {
        let mut row = report.subject.cause_cells(removal.id);
        row.extend(rankings.iter().map(|ranking| {
            let found = ranking.removals.iter().find(|other| other.id == removal.id);
            found.map_or_else(|| "not tried".into(), |found| with_interval(&found.slowdown))
        }));
        row.push(gain(removal));
        table.row(row);
    }
    let mut all = vec!["(with all of them)".to_string()];
    all.extend(std::iter::repeat_n(String::new(), 4));
    all.extend(rankings.iter().map(|ranking| with_interval(&ranking.slowdown)));
    all.push(String::new());
    table.row(all);
    Some(table)
}

impl Subject {
    /// Name, evidence, detours, share of noise, longest.
    fn cause_cells(&self, id: u16) -> Vec<String> {
        let Some(cause) = self.noise.causes.get(usize::from(id)) else { return Vec::new() };
        let durations = self.noise.durations(id);
        let detours = match &self.recording {
            Some(_) => grouped(durations.len() as u64),
            // A description has no end.
            None => {
                let rate = durations.len() as f64 / self.noise.length_of(id).seconds().max(f64::MIN_POSITIVE);
                format!("{} a second", rounded(rate))
            }
        };
        vec![
            cause.name.clone(),
            evidence(cause.evidence).into(),
            detours,
            percent(self.noise.share_of(id) / self.noise.share().max(f64::MIN_POSITIVE)),
            durations.first().copied().unwrap_or(Time::ZERO).to_string(),
        ]
    }
}
