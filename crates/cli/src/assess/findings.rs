//! Findings of an assessment, each listed once. The console, the page and the JSON all read this list.

use crate::assess::scale::{ended_early, smaller_scale};
use crate::assess::words::{
    STAR, an_operation, depends_on_when, in_sentence, parts_left_out, remove_first, repeats,
};
use crate::assess::{Report, Subject, programs};
use crate::kernel::pages::{Finding, FindingKind};
use crate::kernel::quoted;
use crate::noise::words::explained;
use straggler_analysis::assess::{Curve, Point, ProgramPoint, Ranking};
use straggler_analysis::inflection::Slowdown;
use straggler_model::Time;
use straggler_model::words::list;
use straggler_noise::NoiseRecording;
use straggler_noise::recording::UNNAMED;
use straggler_report::numbers::{NO_LONGER, NOTHING, counted, grouped, longer, percent, seconds, slowdown};

/// Scales that the verdict mentions, besides the largest: a small job and a large one.
const SCALES: [u32; 2] = [1024, 16384];

pub fn findings(report: &Report) -> Vec<Finding> {
    let of = |kind: FindingKind| move |text: String| Finding { kind, text };
    let verdict = verdict(report).into_iter().map(of(FindingKind::Verdict));
    verdict.chain(notes(report).into_iter().map(of(FindingKind::Note))).collect()
}

/// What a program pays, the subject, and what to remove. If the program itself is simulated, its run time is the
/// answer; else a single operation is a detail.
fn verdict(report: &Report) -> Vec<String> {
    let mut lines: Vec<String> = programs::verdict(report).into_iter().collect();
    lines.extend(report.subject.jobs.is_busy().then(|| busy(report)));
    lines.push(report.subject.sentence());
    lines.extend(programs::costs(report));
    if report.answer.programs.is_empty() {
        lines.extend(of_the_operation(report));
    }
    lines.extend(ended_early(report));
    lines.extend(depends_on_when(report));
    lines.extend(lower_bound(report));
    let of_the_operation = || report.answer.rankings.last().map(|ranking| advice(report, ranking));
    lines.extend(programs::advice(report).or_else(of_the_operation));
    lines
}

/// Where noise becomes the bottleneck of the first operation or of the program, and what it costs.
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
    vec![bottleneck, costs(curve, report.program.is_some())]
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
fn costs(curve: &Curve, is_program: bool) -> String {
    let largest = curve.points.last().map_or(0, |point| point.processes);
    let smaller = SCALES.into_iter().filter(|&scale| scale < largest);
    let mut points: Vec<&Point> = smaller.chain([largest]).filter_map(|scale| curve.at(scale)).collect();
    if is_program {
        // Starts with the unscaled program; no point is listed twice.
        points.splice(..0, curve.points.first());
        points.dedup_by_key(|point| point.processes);
    }
    let each = points.into_iter().map(|point| {
        let (noisy, quiet) = (Time(point.median_ps), Time(point.quiet_ps));
        let processes = counted(point.processes.into(), "process", "processes");
        match longer(point.slowdown.median).as_str() {
            NO_LONGER => format!("at {processes} a typical one takes no longer ({noisy})"),
            more => format!("at {processes} it takes {more} ({noisy}, not {quiet})"),
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
    let text = |found: Slowdown| {
        let Slowdown { median, low, high, .. } = found;
        in_sentence(median, [low, high], high - low <= NARROW * median.max(0.01))
    };
    let mut helpful = ranking.removals.iter().filter(|removal| removal.helps());
    match helpful.next() {
        Some(first) => format!(
            "{} This cuts the slowdown of {} on {processes} processes from {} to {}.",
            remove_first(report, &first.cause),
            an_operation(report),
            text(ranking.slowdown),
            text(first.slowdown)
        ),
        None if ranking.removals.is_empty() => "There is no source to remove.".into(),
        None => format!(
            "No single source is to blame at {processes} processes: no gain from removing any one of them \
             is statistically significant."
        ),
    }
}

fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    if !report.answer.programs.is_empty() {
        notes.push(of_the_operation(report).join(" "));
    }
    notes.push(report.subject.placement());
    notes.extend(report.subject.jobs.note());
    notes.extend(repeats(report));
    notes.extend(unnamed(report));
    notes.extend(fitted(report));
    notes.extend(report.program.iter().flat_map(|program| program.notes.clone()));
    notes.extend(one_after_another(report));
    notes.extend(parts_left_out(report));
    notes.extend(programs::smaller_scale(report));
    notes.extend(programs::passed_over(report));
    notes.extend(smaller_scale(report));
    notes.extend(report.answer.rankings.last().and_then(|ranking| {
        let passed = ranking.passed_over.join(", ");
        (!passed.is_empty()).then(|| {
            format!("not simulated, because their detours are too short or too rare to matter: {passed}")
        })
    }));
    if report.answer.curves.iter().flat_map(|curve| &curve.points).any(|point| !point.settled) {
        notes.push(STAR.into());
    }
    let sources = report.subject.explained().map(|sources| explained(&sources)).unwrap_or_default();
    notes.extend((!sources.is_empty()).then(|| sources.trim_end().to_string()));
    notes.extend(report.subject.recording.iter().flat_map(about_recording));
    notes.extend(report.warnings.iter().cloned());
    notes
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
        format!(" Within {interval} it repeats, so there the numbers look more certain than they are.")
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
        let Some(recording) = &self.recording else { return format!("Assessed: {}.", self.name) };
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
