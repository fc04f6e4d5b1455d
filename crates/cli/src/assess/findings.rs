//! Findings of an assessment, each listed once. The console, the page and the JSON all read this list.

use crate::assess::target::{ended_early, smaller_scale};
use crate::assess::words::{
    STAR, an_operation, depends_on_when, from_to, parts_left_out, remove_first, repeats,
};
use crate::assess::{Report, Subject, programs};
use crate::kernel::pages::{Finding, FindingKind};
use crate::kernel::prelude::*;
use crate::noise::words::explained;
use straggler_analysis::assess::{Curve, Point, ProgramPoint, Ranking};
use straggler_analysis::inflection::Slowdown;
use straggler_model::words::list;
use straggler_noise::{NoiseRecording, recording::UNNAMED, signature::SYNTHESISED};
use straggler_report::numbers::{NO_LONGER, NOTHING, longer, longer_range, slowdown};

/// Scales that the verdict mentions, besides the largest: a small job and a large one.
const SCALES: [u32; 2] = [1024, 16384];

pub fn findings(report: &Report) -> Vec<Finding> {
    let of = |kind: FindingKind| move |text: String| Finding { kind, text };
    let verdict = verdict(report).into_iter().map(of(FindingKind::Verdict));
    let notes = notes(report).into_iter().map(of(FindingKind::Note));
    verdict.chain(notes).chain(details(report).into_iter().map(of(FindingKind::Detail))).collect()
}

/// What was wrong with the measurement, what a program pays, the subject, and what to remove. If the program itself is simulated, its run time is the
/// answer; else a single operation is a detail.
fn verdict(report: &Report) -> Vec<String> {
    // What is measured on a busy node is not about the node.
    let mut lines: Vec<String> = report.subject.jobs.is_busy().then(|| busy(report)).into_iter().collect();
    lines.extend(programs::verdict(report));
    if report.answer.programs.is_empty() {
        lines.extend(of_the_operation(report));
    }
    lines.push(report.subject.sentence());
    lines.extend(programs::costs(report));
    lines.extend(programs::smaller_scale(report));
    lines.extend(ended_early(report));
    lines.extend(depends_on_when(report));
    lines.extend(lower_bound(report));
    lines.extend((!report.subject.noise.is_in_wallclock()).then(|| NEARLY_ALL.into()));
    let of_the_operation = || report.answer.rankings.last().map(|ranking| advice(report, ranking));
    lines.extend(too_little(report).or_else(|| programs::advice(report)).or_else(of_the_operation));
    lines
}

const NEARLY_ALL: &str = "This noise takes more than 90 % of some process's time. What strikes while a process is delayed is \
    not simulated, so costs are lower bounds.";

/// No source is worth removing if all noise together surely costs less than this.
const TOO_LITTLE: f64 = 0.005;

fn too_little(report: &Report) -> Option<String> {
    let programs = report.answer.programs.iter().map(|point| point.high);
    let points = report.answer.curves.first().filter(|_| report.answer.programs.is_empty());
    let points = points.into_iter().flat_map(|curve| &curve.points).map(|point| point.slowdown.high);
    let most = programs.chain(points).fold(0.0, f64::max);
    (report.subject.noise.share() > 0.0 && most <= TOO_LITTLE)
        .then(|| "Noise costs too little to act on: no source is worth removing.".into())
}

/// The run time of the program and where noise becomes its bottleneck; the same for the first operation, the bottleneck
/// first.
fn of_the_operation(report: &Report) -> Vec<String> {
    let Some(curve) = report.answer.curves.first() else { return Vec::new() };
    let bottleneck = match curve.inflection {
        Some(processes) => format!(
            "From {} processes up, noise adds more than {} to {} on {}.",
            grouped(processes),
            percent(report.threshold),
            typical(report),
            network(report)
        ),
        None => no_bottleneck(report, curve),
    };
    match &report.program {
        // Unless noise is a bottleneck, the run time says all.
        Some(program) if is_clear(report, curve) => vec![run_time(&program.describe(), curve)],
        Some(program) => vec![run_time(&program.describe(), curve), bottleneck],
        None => vec![bottleneck, costs(curve)],
    }
}

/// "On 64 processes the traced program run takes 656.1 µs with this noise, 0.13 % longer than without (655.3 µs). On 4
/// processes it takes 516.9 µs, no longer."
fn run_time(program: &str, curve: &Curve) -> String {
    let [first, .., last] = curve.points.as_slice() else {
        return curve.points.first().map_or_else(String::new, |only| at_scale(program, only));
    };
    format!("{} {}", at_scale(program, last), at_scale("it", first))
}

fn at_scale(program: &str, point: &Point) -> String {
    let processes = counted(point.processes.into(), "process", "processes");
    let (noisy, quiet) = (Time(point.median_ps), Time(point.quiet_ps));
    let more = found(point);
    let than = if more.ends_with("as long") { "as" } else { "than" };
    format!("On {processes} {program} takes {noisy} with this noise, {more} {than} without ({quiet}).")
}

/// Whether noise is surely no bottleneck.
fn is_clear(report: &Report, curve: &Curve) -> bool {
    curve.points.iter().all(|point| point.slowdown.median <= report.threshold)
}

/// How much longer a point takes: its median, or its interval if that is wide.
fn found(point: &Point) -> String {
    let Slowdown { median, low, high, .. } = point.slowdown;
    match longer(median) {
        more if more == NO_LONGER || high - low <= NARROW * median.max(0.01) => more,
        _ => longer_range(low.max(0.0), high),
    }
}

/// "a typical allreduce", "the traced program run".
fn typical(report: &Report) -> String {
    match &report.program {
        Some(_) => an_operation(report),
        None => an_operation(report).replacen("a single", "a typical", 1),
    }
}

/// Says that noise is no bottleneck, or may be one: a median lies above the threshold, but its interval
/// does not.
fn no_bottleneck(report: &Report, curve: &Curve) -> String {
    let processes = grouped(curve.points.last().map_or(0, |point| point.processes));
    let slowdowns = curve.points.iter().map(|point| point.slowdown);
    let largest = slowdowns.max_by(|one, other| one.median.total_cmp(&other.median));
    match largest {
        Some(largest) if largest.median > report.threshold => format!(
            "On {}, up to {processes} processes, noise may add more than {} to {}: the median takes {}, but the 95 % \
             interval starts below ({} to {}). More replicas would decide.",
            network(report),
            percent(report.threshold),
            typical(report),
            longer(largest.median),
            slowdown(largest.low),
            slowdown(largest.high)
        ),
        _ => format!(
            "On {}, up to {processes} processes, noise adds {} to {}.",
            network(report),
            match percent(largest.map_or(0.0, |largest| largest.median.max(0.0))).as_str() {
                NOTHING => "nothing".into(),
                share => format!("at most {share}"),
            },
            typical(report)
        ),
    }
}

/// Says that other jobs ran, and how to ignore them.
fn busy(report: &Report) -> String {
    let subject = &report.subject;
    let ignored: Vec<String> =
        subject.jobs.names.iter().map(|name| format!(" --ignore {}", quoted(name))).collect();
    let file =
        report.noise_file.as_ref().map_or_else(|| "FILE".into(), |path| quoted(&path.display().to_string()));
    format!(
        "{} These are other jobs, not the system's own noise, and the results below include them. Measure \
         an idle node, or ignore them: straggler assess {file}{}{}",
        subject.jobs.sentence(&subject.name),
        ignored.concat(),
        if report.program.is_some() { ", with the same options for the program" } else { "" }
    )
}

/// The share of unnamed noise.
fn unnamed_share(report: &Report) -> f64 {
    let noise = &report.subject.noise;
    let named = noise
        .causes
        .get(usize::from(UNNAMED))
        .is_none_or(|cause| cause.name != NoiseRecording::unnamed()[0].name);
    if named { 0.0 } else { noise.share_of(UNNAMED) / noise.share().max(f64::MIN_POSITIVE) }
}

/// Whether the sources of most noise are unknown, so that no advice is possible.
pub fn is_mostly_unnamed(report: &Report) -> bool {
    unnamed_share(report) > 0.5
}

fn unnamed(report: &Report) -> Option<String> {
    let share = unnamed_share(report);
    (share > 0.0).then(|| {
        format!(
            "{} of the noise has no named source: it is simulated, but not offered for removal",
            percent(share)
        )
    })
}

/// The title of the slowdown chart.
pub fn title(report: &Report) -> String {
    match &report.program {
        Some(program) => format!("Cost of this noise for {} on {}", program.describe(), network(report)),
        None => format!("Cost of this noise on {}", report.network.name),
    }
}

/// "chic", or the origin of the network.
fn network(report: &Report) -> &str {
    match &report.program {
        Some(program) if program.fitted => "the network fitted from the trace",
        _ => &report.network.name,
    }
}

/// "At 1,024 processes it takes 5.0 % longer (10.1 µs, not 9.6 µs), at …".
fn costs(curve: &Curve) -> String {
    let largest = curve.points.last().map_or(0, |point| point.processes);
    let smaller = SCALES.into_iter().filter(|&scale| scale < largest);
    let points = smaller.chain([largest]).filter_map(|scale| curve.at(scale));
    let each = points.map(|point| {
        let (noisy, quiet) = (Time(point.median_ps), Time(point.quiet_ps));
        let processes = counted(point.processes.into(), "process", "processes");
        match found(point).as_str() {
            NO_LONGER => format!("at {processes} it takes no longer ({noisy})"),
            more => format!("at {processes} it takes {more} (typically {noisy}, not {quiet})"),
        }
    });
    sentence(each)
}

/// A median is quoted alone if its interval is at most this share of it.
const NARROW: f64 = 0.4;

/// Joins parts to a sentence.
fn sentence(parts: impl Iterator<Item = String>) -> String {
    let text = parts.collect::<Vec<_>>().join("; ");
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}.", first.to_uppercase())
}

pub fn advice(report: &Report, ranking: &Ranking) -> String {
    if is_mostly_unnamed(report) {
        return "Cannot tell what to remove: most of this noise has no named source. Measure with straggler as \
            root to name the sources."
            .into();
    }
    let processes = grouped(ranking.processes);
    let found = |found: Slowdown| {
        let Slowdown { median, low, high, .. } = found;
        (median, [low, high], high - low <= NARROW * median.max(0.01))
    };
    let mut helpful = ranking.removals.iter().filter(|removal| removal.helps());
    match helpful.next() {
        Some(first) => format!(
            "{} This cuts the slowdown of {} on {processes} processes {}.",
            remove_first(report, &first.cause),
            an_operation(report),
            from_to([found(ranking.slowdown), found(first.slowdown)])
        ),
        None if ranking.removals.is_empty() => "There is no source to remove.".into(),
        None => format!(
            "No single source is to blame at {processes} processes: no gain from removing any one of them \
             is statistically significant."
        ),
    }
}

/// What makes the answer less sure.
fn notes(report: &Report) -> Vec<String> {
    let mut notes: Vec<String> = report.subject.jobs.note().into_iter().collect();
    notes.extend(unnamed(report));
    notes.extend(parts_left_out(report));
    notes.extend(report.subject.recording.iter().flat_map(about_recording));
    notes.extend(report.warnings.iter().cloned());
    notes
}

/// How the answer was found, and a single operation.
fn details(report: &Report) -> Vec<String> {
    let mut details = Vec::new();
    if !report.answer.programs.is_empty() {
        details.push(of_the_operation(report).join(" "));
    }
    details.push(report.subject.placement());
    details.extend(repeats(report));
    details.extend(fitted(report));
    details.extend(report.program.iter().flat_map(|program| program.notes.clone()));
    details.extend(one_after_another(report));
    details.extend(passed_over(report));
    details.extend(smaller_scale(report));
    if report.answer.curves.iter().flat_map(|curve| &curve.points).any(|point| !point.settled) {
        details.push(STAR.into());
    }
    let sources = report.subject.explained().map(|sources| explained(&sources)).unwrap_or_default();
    details.extend((!sources.is_empty()).then(|| sources.trim_end().to_string()));
    details
}

/// Sources whose removal was not simulated.
fn passed_over(report: &Report) -> Option<String> {
    let (names, why) = match (&report.answer.program_ranking, report.answer.rankings.last()) {
        (Some(ranking), _) => (&ranking.passed_over, "by estimate they cost a program less"),
        (None, Some(ranking)) => (&ranking.passed_over, "their detours are too short or too rare to matter"),
        (None, None) => return None,
    };
    (!names.is_empty()).then(|| format!("not simulated without {}: {why}", list(names)))
}

/// The network fitted to the trace.
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
        steps.map(|(name, left)| format!("without {name} {}", slowdown(left.median))).collect();
    Some(format!(
        "removed one after another at {} processes: {} with all, {}",
        grouped(ranking.processes),
        slowdown(ranking.slowdown.median),
        steps.join(", then ")
    ))
}

/// A run at scale lasts longer, in core time, than the measurement: noise rarer than the measurement is missing. A
/// recording that is shorter than an interval is repeated within it, so its variation is missing, too.
fn lower_bound(report: &Report) -> Option<String> {
    let measured = report.subject.noise.measured?.seconds();
    let longer = if report.subject.measured_here { " Measure longer with --time." } else { "" };
    let time = seconds(measured);
    let programs = &report.answer.programs;
    if programs.is_empty() {
        let points = &report.answer.curves.first()?.points;
        let first = points.iter().find(|point| point.exposure_core_seconds > measured)?;
        let processes = grouped(first.processes);
        return Some(format!(
            "Only {time} of CPU time was measured, so rare noise is missing from {processes} processes up, and costs are \
             lower bounds.{longer}"
        ));
    }
    let covers = |point: &ProgramPoint| f64::from(point.processes) * point.interval.seconds() > measured;
    if !programs.iter().any(covers) {
        return None;
    }
    let length = report.subject.noise.streams.iter().map(|stream| stream.length).min()?;
    let repeated = programs.iter().map(|point| point.interval).filter(|&interval| interval >= length).min();
    let repeated = repeated.map_or_else(String::new, |interval| {
        format!(
            " The recording is shorter than {interval} and repeats within it, so the numbers for it look more certain \
             than they are."
        )
    });
    Some(format!(
        "Only {time} of CPU time was measured: rarer noise is missing, so costs are lower bounds.{repeated}{longer}"
    ))
}

fn about_recording(recording: &NoiseRecording) -> Vec<String> {
    let mut notes = Vec::new();
    let slow: f64 =
        recording.cores.iter().flat_map(|core| &core.phases).map(|phase| phase.duration.seconds()).sum();
    let (_, length) = recording.noise_and_length();
    if slow > 0.0 {
        notes.push(format!(
            "for {} of the time the cores ran slower than at their best (another tenant, frequency, SMT): \
             this is not a detour and is not simulated",
            percent(slow / length.seconds().max(f64::MIN_POSITIVE))
        ));
    }
    let lost: u64 = recording.cores.iter().map(|core| core.lost.detours).sum();
    if lost > 0 {
        notes.push(format!(
            "{} were found but dropped: the buffer was full",
            counted(lost, "detour", "detours")
        ));
    }
    notes.extend(recording.attribution.hindrance.clone());
    notes
}

impl Subject {
    /// "On this node, noise takes 0.31 % of CPU time: 5,012 detours on 2 cores in 10 s, the longest 4.1 ms."
    pub fn sentence(&self) -> String {
        let Some(recording) = &self.recording else { return self.described() };
        let (_, length) = recording.noise_and_length();
        // Without ignored sources, like everything that follows.
        let left = self.noise.streams.iter().flat_map(|stream| &stream.detours);
        let (detours, longest) = (left.clone().count(), left.map(|detour| detour.duration).max());
        let lost = self.noise.share();
        let share = percent(lost);
        let cores = counted(recording.cores.len() as u64, "core", "cores");
        let place = match self.measured_here {
            true => "On this node".into(),
            false => format!("In {}", self.name),
        };
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
            "{place}, noise takes {share} of CPU time{apart}: {} on {cores} in {each}{longest}.",
            counted(detours as u64, "detour", "detours")
        )
    }

    /// "The noise chic (synthesised, not measured) takes 0.21 % of CPU time."
    fn described(&self) -> String {
        let label = if self.synthesised { format!(" {SYNTHESISED}") } else { String::new() };
        format!("The noise {}{label} takes {} of CPU time.", self.name, percent(self.noise.share()))
    }

    /// Which process replays which noise.
    fn placement(&self) -> String {
        let streams = &self.noise.streams;
        match (&self.recording, streams.as_slice()) {
            (Some(_), [only]) => {
                format!("every process replays the noise of {} from a random time", only.name)
            }
            (Some(_), all)
                if all.iter().enumerate().all(|(place, one)| one.name == format!("core {place}")) =>
            {
                format!("process r replays the noise of core r mod {} from a random time", all.len())
            }
            (Some(_), all) => format!(
                "processes replay the noise of {} in turn, each from a random time",
                list(&all.iter().map(|stream| stream.name.as_str()).collect::<Vec<_>>())
            ),
            (None, _) => "every process gets all sources of the description, each from a random time".into(),
        }
    }
}
