//! What an assessment found, each thing once. The console, the page and the JSON all take it from this list.

use super::scale::{ended_early, smaller_scale};
use super::when::{depends_on_when, parts_left_out, repeats};
use super::words::number;
use super::{Report, Subject, jobs};
use crate::commands::noise::explained;
use crate::shell::quoted;
use serde::Serialize;
use straggler_analysis::assess::{Curve, Point, Ranking};
use straggler_analysis::noise::Explained;
use straggler_model::Time;
use straggler_model::noise::Recording;
use straggler_model::noise::recording::UNNAMED;
use straggler_report::numbers::{counted, grouped, percent, seconds, significant};

/// Scales the verdict speaks of: a small job, a large one, the largest.
const SCALES: [u32; 2] = [1024, 16384];

/// What a star in the table of slowdowns means.
pub const STAR: &str =
    "* the interval is still wider than a fifth of the slowdown: more replicas would narrow it";

/// One thing that a reader must know.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Finding {
    pub kind: Kind,
    pub text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Answers the question.
    Verdict,
    /// Says how far to trust the answer.
    Note,
}

impl Kind {
    /// The texts of this kind, in their order.
    pub fn of(self, findings: &[Finding]) -> Vec<String> {
        findings.iter().filter(|finding| finding.kind == self).map(|finding| finding.text.clone()).collect()
    }
}

pub fn findings(report: &Report) -> Vec<Finding> {
    let of = |kind: Kind| move |text: String| Finding { kind, text };
    let verdict = verdict(report).into_iter().map(of(Kind::Verdict));
    verdict.chain(notes(report).into_iter().map(of(Kind::Note))).collect()
}

/// What this is about, where noise becomes the bottleneck, what it costs, what to remove.
fn verdict(report: &Report) -> Vec<String> {
    let jobs = &report.subject.jobs;
    let mut lines: Vec<String> = jobs.is_busy().then(|| busy(report)).into_iter().collect();
    lines.push(report.subject.sentence());
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
    lines.extend(ended_early(report));
    lines.extend(depends_on_when(report));
    lines.extend(lower_bound(report));
    lines.extend(report.answer.rankings.last().map(|ranking| advice(report, ranking)));
    lines
}

/// That other jobs ran, and how to leave them out.
fn busy(report: &Report) -> String {
    let subject = &report.subject;
    let ignored: Vec<String> =
        subject.jobs.names.iter().map(|name| format!(" --ignore {}", quoted(name))).collect();
    let file =
        report.noise_file.as_ref().map_or_else(|| "FILE".into(), |path| quoted(&path.display().to_string()));
    format!(
        "{} These are other jobs, not the system's own noise, and all below includes them. Measure an idle node, or \
         leave them out: straggler assess {file}{}{}",
        subject.jobs.sentence(&subject.name),
        ignored.concat(),
        if report.program.is_some() { ", with the options that name the program as they were" } else { "" }
    )
}

/// The share of noise time without a name.
fn unnamed_share(report: &Report) -> f64 {
    let noise = &report.subject.noise;
    let named =
        noise.causes.get(usize::from(UNNAMED)).is_none_or(|cause| cause.name != Recording::unnamed()[0].name);
    if named { 0.0 } else { noise.share_of(UNNAMED) / noise.share().max(f64::MIN_POSITIVE) }
}

fn unnamed(report: &Report) -> Option<String> {
    let share = unnamed_share(report);
    (share > 0.0).then(|| {
        format!(
            "{} of the noise has no named source: it is simulated, but its removal is not",
            percent(share)
        )
    })
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
pub fn an_operation(report: &Report) -> String {
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

pub fn advice(report: &Report, ranking: &Ranking) -> String {
    if unnamed_share(report) > 0.5 {
        return "What to remove cannot be told: most of this noise has no named source. Measured by straggler as \
                root, it would have."
            .into();
    }
    let processes = grouped(ranking.processes);
    let mut helpful = ranking.removals.iter().filter(|removal| removal.helps());
    match helpful.next() {
        Some(first) if first.cause == jobs::NAME => format!(
            "Keep the {}{} off the node first. Without them, {} processes see a slowdown of {} instead of {}.",
            jobs::NAME,
            if report.subject.jobs.is_busy() { " named above" } else { "" },
            processes,
            number(first.slowdown.median),
            number(ranking.slowdown.median)
        ),
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

fn notes(report: &Report) -> Vec<String> {
    let mut notes = vec![report.subject.placement()];
    notes.extend(report.subject.jobs.note());
    notes.extend(repeats(report));
    notes.extend(unnamed(report));
    notes.extend(fitted(report));
    notes.extend(report.program.iter().flat_map(|program| program.notes.clone()));
    notes.extend(one_after_another(report));
    notes.extend(parts_left_out(report));
    notes.extend(smaller_scale(report));
    notes.extend(report.answer.rankings.last().and_then(|ranking| {
        let passed = ranking.passed_over.join(", ");
        (!passed.is_empty())
            .then(|| format!("not simulated, because too short or too rare beside these: {passed}"))
    }));
    if report.answer.curves.iter().flat_map(|curve| &curve.points).any(|point| !point.settled) {
        notes.push(STAR.into());
    }
    notes.extend(report.subject.recording.iter().flat_map(about_recording));
    notes.extend(report.warnings.iter().cloned());
    notes
}

/// What the network that was found in the trace is.
fn fitted(report: &Report) -> Option<String> {
    report.program.as_ref().filter(|program| program.fitted)?;
    Some(format!("Network fitted to the trace: {}", report.network.parameters()))
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

/// A run at scale meets more core time than was measured: noise rarer than the measurement is missing.
fn lower_bound(report: &Report) -> Option<String> {
    let measured = report.subject.noise.measured?.seconds();
    let points = &report.answer.curves.first()?.points;
    let first = points.iter().find(|point| point.exposure_core_seconds > measured)?;
    let largest = points.last()?;
    let mend =
        if report.subject.measured_here { "; measure longer with --time to see rarer noise" } else { "" };
    Some(format!(
        "From {} processes on this is a lower bound: one run at {} lasts {} of core time, but only {} were measured{mend}.",
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
        let (_, length) = recording.noise_and_length();
        // Without what was left out, as everything that follows.
        let left = self.noise.streams.iter().flat_map(|stream| &stream.detours);
        let (detours, longest) = (left.clone().count(), left.map(|detour| detour.duration).max());
        let lost = self.noise.share();
        let share = percent(lost);
        let cores = counted(recording.cores.len() as u64, "core", "cores");
        let each = Time(length.ps() / (recording.cores.len() as u64).max(1));
        let longest = longest.map_or_else(String::new, |longest| format!(", the longest {longest}"));
        let apart = match self.jobs.is_busy() {
            true => format!(
                " ({} to other jobs, {} to the system)",
                percent(self.jobs.share),
                percent(lost - self.jobs.share)
            ),
            false => String::new(),
        };
        format!(
            "{} loses {share} of its time to noise{apart}: {} on {cores} in {each}{longest}.",
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
}
