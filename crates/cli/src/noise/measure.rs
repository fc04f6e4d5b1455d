//! `straggler noise measure`: checks the timer, measures the cores, prints and writes the result.

pub mod answer;
pub mod plan;
pub mod self_test;
pub mod work;
use crate::kernel::gates::Checked;
use crate::kernel::{Console, Failure, Orderly, Outcome, interrupt, pages};
use crate::noise::gates::NoiseNumbers;
use crate::noise::measure::answer::{MeasureNoiseAnswer, RunAnswer};
use crate::noise::measure::plan::{Choose, Job, Plan};
use crate::noise::measure::work::Session;
use std::path::Path;
use straggler_analysis::noise::Analysis;
use straggler_measure::noise::{MeasureError, Measured};
use straggler_noise::format;
use straggler_noise::format::Format;
use straggler_report::numbers::counted;
use straggler_report::replace_file;

/// Seed of the analysis, which resamples intervals.
const SEED: u64 = 1;

pub fn run(plan: &Plan, console: &Console) -> Outcome<()> {
    let _orderly = Orderly::begin();
    let session = Session::prepare(plan, console)?;
    match plan.job {
        Job::SelfTest => self_test::run(&session),
        Job::OneAndAll => one_and_all(&session),
        Job::Runs { count, choose } => runs(&session, count, choose),
    }
}

fn runs(session: &Session<'_>, count: u32, choose: Choose) -> Outcome<()> {
    let meter = session.meter(count.into());
    let mut runs = Vec::new();
    let mut chosen: Option<(usize, Measured)> = None;
    for index in 0..count as usize {
        let measured = session.measure(&session.cores, &meter)?;
        runs.push(RunAnswer::new(&measured.recording));
        let better = match (&chosen, choose) {
            (None, _) | (_, Choose::Last) => true,
            (_, Choose::First) => false,
            (Some((best, _)), Choose::Quietest) => runs[index].overhead < runs[*best].overhead,
        };
        if better {
            chosen = Some((index, measured));
        }
    }
    drop(meter);
    let Some((index, measured)) = chosen else { return Err(MeasureError::NoCores.into()) };
    let mut answer = MeasureNoiseAnswer::new(&measured);
    if count > 1 {
        (answer.runs, answer.chosen_run) = (runs, Some(index + 1));
    }
    finish(session, answer, &measured)
}

fn one_and_all(session: &Session<'_>) -> Outcome<()> {
    if session.cores.len() < 2 {
        return Err(Failure::usage("--one-and-all compares one core with all: it needs at least two cores"));
    }
    let meter = session.meter(2);
    let one = session.measure(session.cores.get(..1).unwrap_or_default(), &meter)?;
    let all = session.measure(&session.cores, &meter)?;
    drop(meter);
    let mut answer = MeasureNoiseAnswer::new(&all);
    answer.one_core_alone = Some(Box::new(MeasureNoiseAnswer::new(&one)));
    finish(session, answer, &all)
}

fn finish(session: &Session<'_>, mut answer: MeasureNoiseAnswer, measured: &Measured) -> Outcome<()> {
    if let Some(path) = &session.plan.output {
        write(path, measured)?;
    }
    pages::write_asked(session.plan.report.as_ref(), session.console, || {
        let recording = &measured.recording;
        let name = recording.machine.host.as_deref().unwrap_or("this machine");
        crate::noise::page::Subject { recording, name, seed: SEED, headline: Vec::new(), note: String::new() }
            .page()
    })?;
    let checks = &session.plan.checks;
    let metrics = match checks.is_given() {
        true => NoiseNumbers::new(&Analysis::new(&measured.recording, SEED)).metrics(),
        false => Vec::new(),
    };
    let checked = Checked::new(checks, metrics)?;
    answer.limits.clone_from(&checked.limits);
    if session.console.json {
        session.console.print_json(&answer)?;
    } else {
        session.console.print(&answer::summary(&answer))?;
        if let Some(path) = &session.plan.output {
            let detours: usize = measured.recording.cores.iter().map(|core| core.detours.len()).sum();
            let detours = counted(detours as u64, "detour", "detours");
            session.console.note(&format!("{detours} written to {}", path.display()));
        }
    }
    checked.finish(session.console)
}

fn write(path: &Path, measured: &Measured) -> Outcome<()> {
    let written = format::write(&measured.recording, Format::Straggler)?;
    for file in written.files {
        interrupt::or_interrupted(replace_file(path, |out| out.write_all(&file.bytes)))?;
    }
    Ok(())
}
