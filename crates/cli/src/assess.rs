//! `straggler assess`: measures the noise of this node (or takes given noise), simulates its effect on programs and
//! collectives at scale, and ranks its sources by the gain from removing them.

pub mod files;
pub mod findings;
pub mod jobs;
pub mod nodes;
pub mod page;
pub mod plan;
pub mod programs;
pub mod subject;
pub mod target;
pub mod words;

use crate::assess::plan::{Assessed, Origin, Plan};
pub use crate::assess::subject::Subject;
use crate::assess::target::{Kind, Program, Target};
use crate::kernel::devices::{self, GpuAnswer, threads};
use crate::kernel::gates::{Checked, LimitAnswer};
use crate::kernel::pages::{Finding, FindingKind};
use crate::kernel::prelude::*;
use crate::kernel::{memory::seconds_for, meter::Stages};
use crate::network::NetworkAnswer;
use crate::simulate::stuck::stuck_failure;
use straggler_analysis::assess::{AssessAnswer, AssessError, Effort, Question, Stage, TimeLimit};
use straggler_model::path_text::path_of;
use straggler_sim::{Accelerator, Replicas, Simulation, Workload};

/// All results and their inputs.
pub struct Report {
    pub subject: Subject,
    pub network: NetworkAnswer,
    /// The largest requested number.
    pub processes: u32,
    /// The size of collectives.
    pub bytes: Option<u64>,
    pub program: Option<Program>,
    pub threshold: f64,
    pub seed: u64,
    pub threads: usize,
    pub answer: AssessAnswer,
    pub warnings: Vec<String>,
    pub wall_seconds: f64,
    /// Time limit of the simulations.
    pub simulation_seconds: f64,
    pub gpus: Vec<GpuAnswer>,
    /// The file that the noise can be read from again.
    pub noise_file: Option<PathBuf>,
}

pub fn run(plan: &Plan, console: &Console) -> Outcome<()> {
    files::check(&plan.output)?;
    if files::has_report(&plan.output) {
        let folder = plan.output.display();
        console.note(&format!(
            "{folder} has an earlier report, which this one replaces; another --output keeps both"
        ));
    }
    let target = Target::load(plan, console)?;
    let began = Instant::now();
    let _orderly = Orderly::begin();
    let (subject, mut warnings) = Subject::obtain(plan, console)?;
    let noise_file = keep(plan, &subject)?;
    let stopped = subject.batches.and_then(|batches| batches.stopped());
    let interrupted = |failure: Failure| match (&noise_file, failure.exit) {
        (Some(path), Exit::Interrupted) => kept(path, stopped.as_deref()),
        _ => failure,
    };
    interrupt::check().map_err(interrupted)?;
    let (subject, said) =
        subject.leave_out(&plan.ignore).map_err(|failure| with_kept(failure, noise_file.as_deref()))?;
    warnings.extend(said);
    let simulated = simulate(plan, &subject, &target, console).map_err(interrupted)?;
    interrupt::check().map_err(interrupted)?;
    let (processes, bytes) = match plan.what {
        Assessed::Collectives { processes, bytes } => (processes, Some(bytes)),
        _ => (target.processes(), None),
    };
    let report = Report {
        subject,
        network: NetworkAnswer::new(&target.network),
        processes,
        bytes,
        program: target.program,
        threshold: plan.threshold,
        seed: plan.seed,
        threads: threads(plan.threads),
        answer: simulated.answer,
        warnings,
        wall_seconds: began.elapsed().as_secs_f64(),
        simulation_seconds: simulated.seconds,
        gpus: simulated.gpus,
        noise_file: noise_file.clone(),
    };
    let findings = findings::findings(&report);
    let checked = Checked::new(&plan.checks, words::metrics(&report))?;
    let json = Json::new(&report, &findings, &checked.limits);
    // A full disk does not take the answer away.
    match console.json {
        true => console.print_json(&json)?,
        false => console.print(&words::summary(&report, &findings, console.is_verbose()))?,
    }
    let written = files::write(&plan.output, &report, &findings, &json).map_err(interrupted)?;
    if !console.json {
        console.note(&format!("The report is in {}: {}", plan.output.display(), written.join(", ")));
    }
    if let Some(path) = files::earlier_recording(&plan.output, &report) {
        console.note(&format!(
            "{} of an earlier measurement is kept; this report does not use it",
            path.display()
        ));
    }
    checked.finish(console)
}

/// Saves a measurement as soon as it is complete, so that no later failure loses it. Returns the file to read the noise
/// from.
fn keep(plan: &Plan, subject: &Subject) -> Outcome<Option<PathBuf>> {
    let given = match &plan.noise {
        Origin::Given(text) => Some(path_of(text)).filter(|path| path.is_file()),
        Origin::Measured(_) => None,
    };
    match subject.bytes() {
        Some(bytes) => files::keep(&plan.output, &bytes).map(Some),
        None => Ok(given),
    }
}

/// The command that assesses the same noise again.
fn again(path: &Path) -> String {
    format!("straggler assess {}, with the same other options", quoted(&path.display().to_string()))
}

/// The error for an interruption after a complete measurement, or after some of its batches.
fn kept(path: &Path, stopped: Option<&str>) -> Failure {
    let (file, again) = (quoted(&path.display().to_string()), again(path));
    let text = match stopped {
        Some(stopped) => format!("interrupted {stopped}, saved in {file}; assess it with: {again}"),
        None => format!("interrupted: the measurement is in {file}; assess it with: {again}"),
    };
    Failure::new(Exit::Interrupted, anyhow::Error::msg(text))
}

/// Adds to an error that the measurement is saved, and how to assess it.
fn with_kept(failure: Failure, path: Option<&Path>) -> Failure {
    let Some(path) = path else { return failure };
    let text = format!(
        "{}. The measurement is in {}; assess it with: {}",
        failure.error,
        quoted(&path.display().to_string()),
        again(path)
    );
    Failure::new(failure.exit, anyhow::Error::msg(text))
}

/// Minimum time limit of the simulations, in seconds: with the measurement, about a minute and a half.
const LEAST_SECONDS: f64 = 55.0;
/// For large requests, the limit is this many times the estimate for the smallest part on an idle machine.
const TIMES_IDLE: f64 = 3.0;

/// Results of the simulations.
struct Simulated {
    answer: AssessAnswer,
    /// Their time limit.
    seconds: f64,
    gpus: Vec<GpuAnswer>,
}

fn simulate(plan: &Plan, subject: &Subject, target: &Target, console: &Console) -> Outcome<Simulated> {
    let threads = threads(plan.threads);
    let stages = Stages::new(console, 1.0 / seconds_for(1.0, threads));
    // The amount of work is not known in advance: assume much, unless little was requested.
    let expected = target.asked.iter().flat_map(|asked| &asked.scales).map(Workload::messages).sum::<u64>();
    let gpus = devices::open(
        plan.device,
        expected.saturating_mul(u64::from(Effort::default().most_replicas)),
        console,
    )?;
    let began = Instant::now();
    let now = || began.elapsed().as_secs_f64();
    let mut question = Question {
        runner: Replicas {
            accelerator: gpus.as_ref().map(|gpus| gpus as &dyn Accelerator),
            stop: interrupt::flag(),
            advance: &|more| stages.advance(more),
            ..Replicas::new(Simulation::new(&target.network), threads)
        },
        seed: plan.seed,
        noise: &subject.noise,
        asked: &target.asked,
        intervals: &plan.intervals,
        threshold: plan.threshold,
        effort: if plan.quick { Effort::quick() } else { Effort::default() },
        limit: TimeLimit { seconds: LEAST_SECONDS, now: &now },
        begins: &|stage: Stage<'_>| {
            stages.begin(format!("{}, {} processes", stage.what, grouped(stage.processes)), stage.ahead);
        },
    };
    let seconds = (TIMES_IDLE * seconds_for(question.least_messages() as f64, threads)).max(LEAST_SECONDS);
    question.limit.seconds = seconds;
    stages.end_after(seconds);
    let answer = question.answer();
    let gpus = devices::report(gpus.as_ref(), plan.device, console);
    match answer {
        Err(AssessError::Stuck { processes, stuck }) => {
            let what =
                target.program.as_ref().map_or_else(String::new, |program| format!("{}, ", program.name));
            Err(stuck_failure(&format!("{what}{} processes: ", grouped(processes)), &stuck))
        }
        answer => Ok(Simulated { answer: answer?, seconds, gpus }),
    }
}

/// The JSON answer.
#[derive(Serialize)]
pub struct Json<'a> {
    version: &'static str,
    command: String,
    verdict: Vec<String>,
    /// Everything that the console and the page say, in order.
    findings: &'a [Finding],
    noise: subject::NoiseJson<'a>,
    network: &'a NetworkAnswer,
    processes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<&'a Program>,
    threshold: f64,
    confidence: f64,
    seed: u64,
    #[serde(flatten)]
    answer: &'a AssessAnswer,
    wall_seconds: f64,
    /// Replicas that ran on GPUs.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    gpus: &'a [GpuAnswer],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    limits: &'a [LimitAnswer],
}

impl<'a> Json<'a> {
    fn new(report: &'a Report, findings: &'a [Finding], limits: &'a [LimitAnswer]) -> Json<'a> {
        Json {
            version: env!("CARGO_PKG_VERSION"),
            command: command_line(),
            verdict: FindingKind::Verdict.select(findings),
            findings,
            noise: report.subject.json(),
            network: &report.network,
            processes: report.processes,
            bytes: report.bytes,
            program: report.program.as_ref(),
            threshold: report.threshold,
            confidence: straggler_model::stats::CONFIDENCE,
            seed: report.seed,
            answer: &report.answer,
            wall_seconds: report.wall_seconds,
            gpus: &report.gpus,
            limits,
        }
    }
}
