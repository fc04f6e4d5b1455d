//! An assessment on the console: the verdict, tables, then notes.

use crate::assess::{Report, jobs, page, programs};
use crate::kernel::metrics::{self, Metric};
use crate::kernel::pages::{Finding, FindingKind};
use straggler_analysis::assess::Variation;
use straggler_measure::sources::names::BELOW_THE_KERNEL;
use straggler_report::numbers::{
    NOTHING, SLOWDOWN_LEGEND, counted, grouped, is_factor, longer_range, slowdown_on,
};

/// Without `details`, what fits on a screen: a single operation and how the answer was found are left out.
pub fn summary(report: &Report, findings: &[Finding], details: bool) -> String {
    let mut text = FindingKind::Verdict.select(findings).join("\n");
    if let Some(table) = programs::table(report) {
        text += &format!("\n\n{}\n\n{}", programs::LEGEND, table.to_string().trim_end());
    }
    if let Some(table) = programs::removals(report) {
        text += &format!("\n\n{}\n\n{}", programs::removals_title(report), table.to_string().trim_end());
    }
    text += "\n";
    if details || report.answer.programs.is_empty() {
        text += &of_the_operation(report, findings);
    }
    let mut notes = FindingKind::Note.select(findings);
    if details {
        notes.extend(FindingKind::Detail.select(findings).into_iter().filter(|note| note != STAR));
    }
    if !notes.is_empty() {
        text += "\nNotes\n";
        notes.iter().for_each(|note| text += &format!("  - {note}\n"));
    }
    if !details {
        let operation = if report.program.is_none() { "a single operation and " } else { "" };
        text += &format!("\nWith -v, and in report.html: {operation}how this was found.\n");
    }
    text
}

/// The tables of the program itself, or of a single operation.
fn of_the_operation(report: &Report, findings: &[Finding]) -> String {
    let caption = what_the_curves_show(report);
    let mut text = format!("\n{caption} {SLOWDOWN_LEGEND}\n\n{}", page::curves(report));
    if findings.iter().any(|finding| finding.text == STAR) {
        text += &format!("  {STAR}\n");
    }
    if let Some(table) = page::removals(report) {
        text += &format!("\nGain from removing a source, for {}\n\n{table}", an_operation(report));
    }
    text
}

/// The caption of the table of slowdowns.
pub fn what_the_curves_show(report: &Report) -> &'static str {
    match report.program {
        Some(_) => "Slowdowns by processes, median of the replicas.",
        None => "A single operation that starts at a random moment, median of the replicas.",
    }
}

/// Explains the star in the table of slowdowns.
pub const STAR: &str = "* interval wider than a fifth of the slowdown; more replicas narrow it";

/// "a single allreduce", "the traced program run".
pub fn an_operation(report: &Report) -> String {
    if let Some(program) = &report.program {
        return program.describe();
    }
    let first = report.answer.curves.first().map_or("", |curve| curve.name.as_str());
    match first {
        "allreduce" => "a single allreduce".into(),
        "barrier" => "a single barrier".into(),
        _ => "a single broadcast".into(),
    }
}

/// If the parts of a measurement differ by more than this factor, the verdict depends on the time of measurement.
const REPEATS: f64 = 1.5;

/// A mean with a smaller relative error has converged.
const SETTLED: f64 = 0.2;

/// The additional measuring time to propose, in seconds.
const LONGER: f64 = 60.0;

/// "This depends on when it was measured: …", if the parts of the measurement differ.
pub fn depends_on_when(report: &Report) -> Option<String> {
    let variation = report.answer.variation.as_ref()?;
    let (least, most) = variation.range();
    if 1.0 + most <= REPEATS * (1.0 + least) {
        return None;
    }
    let parts = counted(variation.parts.len() as u64, "part", "parts");
    Some(format!(
        "This depends on when it was measured: with each of the {parts} of the measurement alone, the slowdown of {} \
         on {} processes is {}{}. {}",
        an_operation(report),
        grouped(variation.processes),
        in_sentence(most, [least, most], false),
        cause_of(report, variation),
        settling(variation, report.subject.measured_here)
    ))
}

/// A slowdown in a sentence, with the digits that its interval supports: "12 %", "6.2×", "zero", "between 5.7× and 9.0×".
pub fn in_sentence(more: f64, ends: [f64; 2], is_narrow: bool) -> String {
    in_sentence_on(is_factor(more), more, ends, is_narrow)
}

/// "from 17× to 1.7×": the second as the first, as a factor or not.
pub fn from_to([before, after]: [(f64, [f64; 2], bool); 2]) -> String {
    let as_factor = is_factor(before.0);
    let [before, after] =
        [before, after].map(|(more, ends, is_narrow)| in_sentence_on(as_factor, more, ends, is_narrow));
    format!("from {before} to {after}")
}

fn in_sentence_on(as_factor: bool, more: f64, ends: [f64; 2], is_narrow: bool) -> String {
    let text = slowdown_on(as_factor, more, ends, is_narrow);
    match text.split_once(" to ") {
        Some((low, high)) if low.starts_with("0 ") || low.starts_with('-') => format!("at most {high}"),
        Some((low, high)) => format!("between {low} and {high}"),
        None if text == NOTHING => "zero".into(),
        None => text.trim_start_matches('+').into(),
    }
}

/// The first sentence of advice: what to remove.
pub fn remove_first(report: &Report, cause: &str) -> String {
    let above = if report.subject.jobs.is_busy() { " named above" } else { "" };
    match cause {
        jobs::NAME => format!("Keep the {cause}{above} off the node first."),
        _ => format!("Remove first: {cause}."),
    }
}

fn cause_of(report: &Report, variation: &Variation) -> String {
    let machine = report.subject.recording.as_ref().map(|recording| &recording.machine);
    let is_virtual = machine.is_some_and(|machine| machine.hypervisor.is_some());
    // A source that is too small to be simulated alone is no cause.
    let passed_over = report.answer.rankings.last().map(|ranking| &ranking.passed_over);
    let matters = |name: &&str| passed_over.is_none_or(|names| !names.iter().any(|one| one == name));
    match variation.varies_most.as_deref().filter(matters) {
        Some(BELOW_THE_KERNEL) if is_virtual => "; the host below this virtual machine is the cause".into(),
        Some(jobs::NAME) => format!("; the {} vary most", jobs::NAME),
        Some(name) if name != "unnamed" => format!("; {name} varies most"),
        _ => String::new(),
    }
}

/// Whether a longer measurement would help, and the option for it if this program measured.
fn settling(variation: &Variation, measured_here: bool) -> String {
    let now = variation.parts.len() as f64;
    let then = now + LONGER / variation.part_seconds.max(1e-9);
    let longer = (now * variation.part_seconds + LONGER).round();
    match () {
        () if variation.relative_error(now) <= SETTLED => "Their mean has converged.".into(),
        () if variation.relative_error(then) <= SETTLED => {
            let how = if measured_here { format!(": --time {longer}s") } else { String::new() };
            format!("One more minute of measurement would make it converge{how}.")
        }
        () => "One more minute would not make it converge, because the noise changes too much: measure at several \
            times.".into(),
    }
}

/// Says that the parts of the measurement agree.
pub fn repeats(report: &Report) -> Option<String> {
    let variation = report.answer.variation.as_ref().filter(|_| depends_on_when(report).is_none())?;
    let (least, most) = variation.range();
    Some(format!(
        "the measurement is repeatable: with each of its {} parts alone, {} on {} processes takes {}",
        variation.parts.len(),
        an_operation(report),
        grouped(variation.processes),
        longer_range(least, most)
    ))
}

/// Says that there was no time to compare the parts.
pub fn parts_left_out(report: &Report) -> Option<String> {
    let is_missing = report.subject.noise.measured.is_some() && report.answer.variation.is_none();
    is_missing.then(|| {
        "unknown how much this depends on when it was measured: simulating the parts of the measurement \
         would take too long"
            .into()
    })
}

pub fn metrics(report: &Report) -> Vec<Metric> {
    let mut metrics = vec![Metric::new(&metrics::NOISE_SHARE, report.subject.noise.share())];
    metrics.extend(programs::metrics(report));
    for curve in &report.answer.curves {
        metrics.extend(curve.points.iter().map(|point| {
            let found = point.slowdown;
            metrics::metric(&curve.name, point.processes, found.median).within(found.low, found.high)
        }));
        let searched = curve.points.last().map_or(0, |point| point.processes);
        metrics.push(metrics::inflection(&curve.name, curve.inflection, searched));
    }
    metrics
}
