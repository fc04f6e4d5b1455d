//! The verdict of `assess`: a few lines a person understands, then tables, then what to know about them.

use super::{Report, Subject};
use crate::commands::noise::{evidence, explained};
use straggler_analysis::assess::{Curve, Point, Ranking};
use straggler_analysis::inflection::Slowdown;
use straggler_analysis::noise::Explained;
use straggler_model::Time;
use straggler_model::noise::Recording;
use straggler_model::noise::recording::UNNAMED;
use straggler_report::Table;
use straggler_report::numbers::{counted, grouped, percent, rounded, seconds, significant};

/// Scales the verdict speaks of: a small job, a large one, the largest.
const SCALES: [u32; 2] = [1024, 16384];

pub fn say(report: &Report) -> String {
    let mut text = verdict(report).join("\n");
    text += &format!("\n\nSlowdowns by processes (T / T0 - 1, median of the replicas)\n\n{}", curves(report));
    if let Some(table) = removals(report) {
        text += &format!("\nWhat the removal of a source gives to {}\n\n{table}", an_operation(report));
    }
    let notes = notes(report);
    if !notes.is_empty() {
        text += "\nTo know\n";
        notes.iter().for_each(|note| text += &format!("  - {note}\n"));
    }
    text
}

/// What this is about, where noise becomes the bottleneck, what it costs, what to remove.
pub fn verdict(report: &Report) -> Vec<String> {
    let mut lines = vec![report.subject.sentence()];
    let Some(curve) = report.answer.curves.first() else { return lines };
    let operation = an_operation(report);
    lines.push(match curve.inflection {
        Some(processes) => format!(
            "On {}, noise becomes the bottleneck of {operation} at {} processes: from there on it makes the \
             median more than {} slower.",
            network(report),
            grouped(processes),
            percent(report.threshold)
        ),
        None => format!(
            "On {}, noise is no bottleneck of {operation} up to {} processes: it makes the median at most {} \
             slower.",
            network(report),
            grouped(curve.points.last().map_or(0, |point| point.processes)),
            percent(curve.points.iter().map(|point| point.slowdown.median).fold(0.0, f64::max))
        ),
    });
    lines.push(costs(curve, report.program.is_some()));
    lines.extend(lower_bound(report));
    lines.extend(report.answer.rankings.last().map(advice));
    lines
}

/// The title of the chart of slowdowns.
pub fn title(report: &Report) -> String {
    match &report.program {
        Some(program) => format!("What this noise costs {} on {}", program.describe(), network(report)),
        None => format!("What this noise costs on {}", report.network.name),
    }
}

/// "chic", or where the network comes from.
fn network(report: &Report) -> &str {
    match &report.program {
        Some(program) if program.fitted => "the network fitted from the trace",
        _ => &report.network.name,
    }
}

/// "an allreduce", "the traced program run".
fn an_operation(report: &Report) -> String {
    if let Some(program) = &report.program {
        return program.describe();
    }
    let first = report.answer.curves.first().map_or("", |curve| curve.name.as_str());
    match first {
        "allreduce" => "an allreduce".into(),
        "barrier" => "a barrier".into(),
        _ => "a broadcast".into(),
    }
}

/// "At 1,024 processes it takes 5.0 % longer (10.1 µs instead of 9.6 µs), at …".
fn costs(curve: &Curve, is_program: bool) -> String {
    let largest = curve.points.last().map_or(0, |point| point.processes);
    let smaller = SCALES.into_iter().filter(|&scale| scale < largest);
    let mut points: Vec<&Point> = smaller.chain([largest]).filter_map(|scale| curve.at(scale)).collect();
    if is_program {
        // What it is without any scaling, and no point twice where there are few.
        points.splice(..0, curve.points.first());
        points.dedup_by_key(|point| point.processes);
    }
    let each = points.into_iter().map(|point| {
        let (noisy, quiet) = (Time(point.median_ps), Time(point.quiet_ps));
        let processes = grouped(point.processes);
        format!("{} at {processes} processes ({noisy} instead of {quiet})", longer(point.slowdown.median))
    });
    format!("It takes {}.", each.collect::<Vec<_>>().join(", "))
}

/// "17 % longer", "3.4 times as long".
fn longer(slowdown: f64) -> String {
    match slowdown {
        more if more >= 1.0 => format!("{} times as long", significant(more + 1.0)),
        more if more > 0.0 => format!("{} longer", percent(more)),
        _ => "no longer".into(),
    }
}

fn advice(ranking: &Ranking) -> String {
    let processes = grouped(ranking.processes);
    let mut helpful = ranking.removals.iter().filter(|removal| removal.helps());
    match helpful.next() {
        Some(first) if first.id == UNNAMED && first.cause == Recording::unnamed()[0].name => {
            "What to remove cannot be told: most of this noise has no named source. Measured by straggler as root, \
             it would have."
                .into()
        }
        Some(first) => format!(
            "Remove first: {}. Without it, {} processes see a slowdown of {} instead of {}.",
            first.cause,
            processes,
            number(first.slowdown.median),
            number(ranking.slowdown.median)
        ),
        None if ranking.removals.is_empty() => "There is no source to remove.".into(),
        None => format!(
            "No single source is to blame at {processes} processes: removing any one of them gives nothing that \
             is more than chance."
        ),
    }
}

fn number(slowdown: f64) -> String {
    if slowdown >= 0.995 { significant(slowdown) } else { format!("{slowdown:.2}") }
}

fn with_interval(slowdown: &Slowdown) -> String {
    format!("{} [{}, {}]", number(slowdown.median), number(slowdown.low), number(slowdown.high))
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
    let points = curves.first().map_or(&[][..], |curve| &curve.points);
    for (index, point) in points.iter().enumerate() {
        let mut row = vec![grouped(point.processes)];
        row.extend(copies.get(index).map(|&copies| grouped(copies)));
        row.extend(curves.iter().map(|curve| curve.points.get(index).map_or_else(String::new, cell)));
        row.extend([
            grouped(point.replicas),
            Time(point.quiet_ps).to_string(),
            Time(point.median_ps).to_string(),
        ]);
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
    let mut table = Table::with_header(header).text(1);
    for removal in &largest.removals {
        let mut row = report.subject.cause_cells(removal.id);
        row.extend(rankings.iter().map(|ranking| {
            let found = ranking.removals.iter().find(|other| other.id == removal.id);
            found.map_or_else(|| "not tried".into(), |found| with_interval(&found.slowdown))
        }));
        table.row(row);
    }
    let mut all = vec!["(with all of them)".to_string()];
    all.extend(std::iter::repeat_n(String::new(), 4));
    all.extend(rankings.iter().map(|ranking| with_interval(&ranking.slowdown)));
    table.row(all);
    Some(table)
}

fn notes(report: &Report) -> Vec<String> {
    let mut notes = vec![report.subject.placement()];
    notes.extend(report.program.iter().flat_map(|program| program.notes.clone()));
    notes.extend(one_after_another(report));
    notes.extend(ended_early(report));
    notes.extend(smaller_scale(report));
    notes.extend(report.answer.rankings.last().and_then(|ranking| {
        let passed = ranking.passed_over.join(", ");
        (!passed.is_empty())
            .then(|| format!("not simulated, because too short or too rare beside these: {passed}"))
    }));
    if report.answer.curves.iter().flat_map(|curve| &curve.points).any(|point| !point.settled) {
        notes.push(
            "* the interval is still wider than a fifth of the slowdown: more replicas would narrow it"
                .into(),
        );
    }
    notes.extend(report.subject.recording.iter().flat_map(about_recording));
    notes.extend(report.warnings.iter().cloned());
    notes
}

fn one_after_another(report: &Report) -> Option<String> {
    let ranking = report.answer.rankings.last()?;
    if ranking.one_after_another.len() < 2 {
        return None;
    }
    let names = ranking.removals.iter().map(|removal| removal.cause.as_str());
    let steps = names.zip(&ranking.one_after_another);
    let steps: Vec<String> =
        steps.map(|(name, left)| format!("without {name} {}", number(left.median))).collect();
    Some(format!(
        "one after another at {} processes: {} with all, {}",
        grouped(ranking.processes),
        number(ranking.slowdown.median),
        steps.join(", then ")
    ))
}

/// Whether the largest scales were left out.
fn ended_early(report: &Report) -> Option<String> {
    let largest = report.answer.curves.first()?.points.last()?.processes;
    let wanted = match report.program {
        Some(_) => report.processes,
        None => 1 << report.processes.ilog2(),
    };
    (largest < wanted).then(|| {
        format!(
            "with so much noise more than {} processes would take many minutes to simulate; {} were asked for",
            grouped(largest),
            grouped(wanted)
        )
    })
}

/// Whether sources were ranked at a smaller scale than the largest.
fn smaller_scale(report: &Report) -> Option<String> {
    let ranked = report.answer.rankings.last()?.processes;
    let largest = report.answer.curves.first()?.points.last()?.processes;
    (ranked < largest).then(|| {
        format!(
            "with so much noise the removal of sources takes long to simulate: it was done at {} processes, not at {}",
            grouped(ranked),
            grouped(largest)
        )
    })
}

/// A run at scale meets more core time than was measured: noise rarer than the measurement is missing.
pub fn lower_bound(report: &Report) -> Option<String> {
    let measured = report.subject.noise.measured?.seconds();
    let points = &report.answer.curves.first()?.points;
    let first = points.iter().find(|point| point.exposure_core_seconds > measured)?;
    let largest = points.last()?;
    let mend =
        if report.subject.measured_here { "; measure longer with --time to see rarer noise" } else { "" };
    Some(format!(
        "From {} processes on this is a lower bound: one run at {} lasts {} of core time, measured were {}{mend}.",
        grouped(first.processes),
        grouped(largest.processes),
        seconds(largest.exposure_core_seconds),
        seconds(measured)
    ))
}

fn about_recording(recording: &Recording) -> Vec<String> {
    let mut notes = Vec::new();
    let slow: f64 =
        recording.cores.iter().flat_map(|core| &core.phases).map(|phase| phase.duration.seconds()).sum();
    let (_, length) = recording.noise_and_length();
    if slow > 0.0 {
        notes.push(format!(
            "for {} of the time the cores ran slower than at their best (another tenant, frequency, SMT): that is \
             no detour and not simulated",
            percent(slow / length.seconds().max(f64::MIN_POSITIVE))
        ));
    }
    let lost: u64 = recording.cores.iter().map(|core| core.lost.detours).sum();
    if lost > 0 {
        notes.push(format!(
            "{} were found but not kept: the buffer was full",
            counted(lost, "detour", "detours")
        ));
    }
    let sure = explained(&Explained::of(recording));
    notes.extend((!sure.is_empty()).then(|| sure.trim_end().to_string()));
    notes.extend(recording.attribution.hindrance.clone());
    notes
}

impl Subject {
    /// "This node loses 0.31 % of its time to noise: 5,012 detours on 2 cores in 10 s, the longest 4.1 ms."
    pub fn sentence(&self) -> String {
        let Some(recording) = &self.recording else { return format!("Assessed is {}.", self.name) };
        let (noise, length) = recording.noise_and_length();
        let detours: usize = recording.cores.iter().map(|core| core.detours.len()).sum();
        let longest =
            recording.cores.iter().flat_map(|core| &core.detours).map(|detour| detour.duration).max();
        let share = percent(noise.ps() as f64 / length.ps().max(1) as f64);
        let cores = counted(recording.cores.len() as u64, "core", "cores");
        let each = Time(length.ps() / (recording.cores.len() as u64).max(1));
        let longest = longest.map_or_else(String::new, |longest| format!(", the longest {longest}"));
        format!(
            "{} loses {share} of its time to noise: {} on {cores} in {each}{longest}.",
            self.name,
            counted(detours as u64, "detour", "detours")
        )
    }

    /// Which process gets which trace.
    fn placement(&self) -> String {
        let streams = &self.noise.streams;
        match (&self.recording, streams.as_slice()) {
            (Some(_), [only]) => {
                format!("every process gets the trace of {}, from a moment of its own", only.name)
            }
            (Some(_), all) => format!(
                "process r gets the trace of the core at place r mod {} of {}, from a moment of its own",
                all.len(),
                all.iter().map(|stream| stream.name.as_str()).collect::<Vec<_>>().join(", ")
            ),
            (None, _) => "every process gets all sources of the description, from moments of its own".into(),
        }
    }

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
