//! `straggler assess`: measures this node's noise (or takes one that is given), simulates what it does to
//! collectives or to a program at scale, and ranks its sources by what their removal would give.

mod files;
mod page;
mod subject;
mod target;
mod words;

use crate::commands::simulate::{NetworkAnswer, stuck_failure};
use crate::commands::{command_line, refuse_unwritable, threads};
use crate::console::Console;
use crate::exit::Outcome;
use crate::interrupt::{self, Orderly};
use crate::meter::Meter;
use crate::plan::assess::{Plan, What};
use serde::Serialize;
use std::time::Instant;
use straggler_analysis::assess::{Answer, AssessError, Effort, Question};
use straggler_sim::{Replicas, Simulation};
pub use subject::Subject;
use target::{Kind, Program, Target};

/// Everything that was found, and what it was found from.
pub struct Report {
    pub subject: Subject,
    pub network: NetworkAnswer,
    /// The largest number that was asked about.
    pub processes: u32,
    /// Of collectives.
    pub bytes: Option<u64>,
    pub program: Option<Program>,
    pub threshold: f64,
    pub seed: u64,
    pub answer: Answer,
    pub warnings: Vec<String>,
    pub wall_seconds: f64,
}

pub fn run(plan: &Plan, console: &Console) -> Outcome<()> {
    let target = Target::load(plan, console)?;
    refuse_unwritable(&plan.output)?;
    let began = Instant::now();
    let _orderly = Orderly::begin();
    let (subject, warnings) = Subject::obtain(plan, console)?;
    interrupt::check()?;
    let answer = simulate(plan, &subject, &target, console)?;
    interrupt::check()?;
    let (processes, bytes) = match plan.what {
        What::Collectives { processes, bytes } => (processes, Some(bytes)),
        _ => (target.processes(), None),
    };
    let report = Report {
        subject,
        network: NetworkAnswer::of(&target.network),
        processes,
        bytes,
        program: target.program,
        threshold: plan.threshold,
        seed: plan.seed,
        answer,
        warnings,
        wall_seconds: began.elapsed().as_secs_f64(),
    };
    let json = Json::of(&report);
    let written = files::write(&plan.output, &report, &json)?;
    if console.json {
        return console.print_json(&json);
    }
    console.print(&words::say(&report))?;
    console.note(&format!("The report is in {}: {}", plan.output.display(), written.join(", ")));
    Ok(())
}

fn simulate(plan: &Plan, subject: &Subject, target: &Target, console: &Console) -> Outcome<Answer> {
    let question = |advance| Question {
        runner: Replicas {
            simulation: Simulation::new(&target.network),
            threads: threads(plan.threads),
            stop: interrupt::flag(),
            advance,
        },
        seed: plan.seed,
        noise: &subject.noise,
        asked: &target.asked,
        threshold: plan.threshold,
        effort: Effort::default(),
    };
    let meter = Meter::new(console, question(&|_| ()).messages());
    match question(&|more| meter.advance(more)).answer() {
        Err(AssessError::Stuck(stuck)) => Err(stuck_failure(&stuck)),
        answer => Ok(answer?),
    }
}

/// The report for programs.
#[derive(Serialize)]
pub struct Json<'a> {
    version: &'static str,
    command: String,
    verdict: Vec<String>,
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
    answer: &'a Answer,
    /// Said where a run at scale meets more core time than was measured.
    lower_bound: Option<String>,
    warnings: &'a [String],
    wall_seconds: f64,
}

impl Json<'_> {
    fn of(report: &Report) -> Json<'_> {
        Json {
            version: env!("CARGO_PKG_VERSION"),
            command: command_line(),
            verdict: words::verdict(report),
            noise: report.subject.json(),
            network: &report.network,
            processes: report.processes,
            bytes: report.bytes,
            program: report.program.as_ref(),
            threshold: report.threshold,
            confidence: straggler_analysis::inflection::CONFIDENCE,
            seed: report.seed,
            answer: &report.answer,
            lower_bound: words::lower_bound(report),
            warnings: &report.warnings,
            wall_seconds: report.wall_seconds,
        }
    }
}
