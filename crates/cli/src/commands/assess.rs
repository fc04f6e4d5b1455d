//! `straggler assess`: measures this node's noise (or takes one that is given), simulates what it does to
//! collectives at scale, and ranks its sources by what their removal would give.

mod files;
mod page;
mod subject;
mod words;

use crate::commands::simulate::{NetworkAnswer, load_network};
use crate::commands::{command_line, refuse_unwritable, threads};
use crate::console::Console;
use crate::exit::Outcome;
use crate::interrupt::{self, Orderly};
use crate::memory::{available_bytes, refuse_too_much};
use crate::meter::Meter;
use crate::plan::assess::Plan;
use serde::Serialize;
use std::time::Instant;
use straggler_analysis::assess::{Answer, Effort, Question};
use straggler_model::Network;
use straggler_model::noise::Injection;
use straggler_schedule::collectives::{Job, Operation};
use straggler_schedule::workloads::choose_default;
use straggler_sim::{Replicas, Simulation, Workload};
pub use subject::Subject;

const OPERATIONS: [Operation; 3] = [Operation::Allreduce, Operation::Barrier, Operation::Bcast];

/// Everything that was found, and what it was found from.
pub struct Report {
    pub subject: Subject,
    pub network: NetworkAnswer,
    pub processes: u32,
    pub bytes: u64,
    pub threshold: f64,
    pub seed: u64,
    pub answer: Answer,
    pub warnings: Vec<String>,
    pub wall_seconds: f64,
}

pub fn run(plan: &Plan, console: &Console) -> Outcome<()> {
    let network = load_network(&plan.network, None)?;
    check_memory(plan, &network)?;
    refuse_unwritable(&plan.output)?;
    let began = Instant::now();
    let _orderly = Orderly::begin();
    let (subject, warnings) = Subject::obtain(plan, console)?;
    interrupt::check()?;
    let answer = simulate(plan, &subject, &network, console)?;
    interrupt::check()?;
    let report = Report {
        subject,
        network: NetworkAnswer::of(&network),
        processes: plan.processes,
        bytes: plan.bytes,
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

fn check_memory(plan: &Plan, network: &Network) -> Outcome<()> {
    let (operation, job) = (OPERATIONS[0], Job::new(plan.processes, plan.bytes));
    let workload = Workload::once(choose_default(operation, &job).build(operation, &job)?);
    let simulation = Simulation { noise: Some(Injection::QUIET), ..Simulation::new(network) };
    refuse_too_much(plan.processes.into(), simulation.memory_bytes(&workload), available_bytes())
}

/// Powers of two, and powers of four where runs get long.
fn scales(processes: u32) -> Vec<u32> {
    let largest = processes.ilog2();
    let chosen = (1..=largest).filter(|power| *power <= 16 || (largest - power).is_multiple_of(2));
    chosen.map(|power| 1 << power).collect()
}

fn simulate(plan: &Plan, subject: &Subject, network: &Network, console: &Console) -> Outcome<Answer> {
    let scales = scales(plan.processes);
    let question = |advance| Question {
        runner: Replicas {
            simulation: Simulation::new(network),
            threads: threads(plan.threads),
            stop: interrupt::flag(),
            advance,
        },
        seed: plan.seed,
        noise: &subject.noise,
        operations: &OPERATIONS,
        bytes: plan.bytes,
        scales: &scales,
        threshold: plan.threshold,
        effort: Effort::default(),
    };
    let meter = Meter::new(console, question(&|_| ()).messages());
    Ok(question(&|more| meter.advance(more)).answer()?)
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
    bytes: u64,
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
