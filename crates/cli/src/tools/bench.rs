//! `straggler tools bench`: how fast this machine simulates. Every case runs in a child process, so that its peak memory is
//! its own. The parent collects the results, checks that equal cases gave equal numbers, and prints them.

pub mod case;
pub mod plan;
pub mod words;

use crate::kernel::console::{Console, to_json};
use crate::kernel::devices::threads;
use crate::kernel::exit::{Exit, Failure, Outcome};
use crate::tools::bench::case::Measured;
use crate::tools::bench::plan::{Case, Group, Plan};
use serde::Serialize;
use std::process::{Command, Stdio};
use straggler_report::replace_file;

/// All measurements, and the machine.
#[derive(Debug, Serialize)]
pub struct Report {
    version: &'static str,
    machine: Machine,
    network: &'static str,
    noise: &'static str,
    cases: Vec<Measured>,
}

#[derive(Debug, Serialize)]
struct Machine {
    processor: Option<String>,
    available_threads: usize,
    system: &'static str,
    architecture: &'static str,
}

impl Machine {
    fn here() -> Machine {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = cpuinfo.lines().find(|line| line.starts_with("model name"));
        Machine {
            processor: name.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim().to_string()),
            available_threads: threads(None),
            system: std::env::consts::OS,
            architecture: std::env::consts::ARCH,
        }
    }
}

pub fn run(plan: &Plan, console: &Console) -> Outcome<()> {
    let mut cases = Vec::with_capacity(plan.cases.len());
    for (index, case) in plan.cases.iter().enumerate() {
        console.detail(&format!("case {} of {}: {}", index + 1, plan.cases.len(), words::describe(case)));
        cases.push(measure_in_child(case)?);
    }
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        machine: Machine::here(),
        network: case::NETWORK,
        noise: case::NOISE,
        cases,
    };
    check(&report)?;
    if let Some(path) = &plan.output {
        let text = to_json(&report)?;
        replace_file(path, |out| out.write_all(text.as_bytes()))?;
    }
    if console.json { console.print_json(&report) } else { console.print(&words::summary(&report)) }
}

/// The hidden command that measures one case and prints the result.
pub fn run_case(text: &str, console: &Console) -> Outcome<()> {
    let case: Case = serde_json::from_str(text)
        .map_err(|error| Failure::usage(format!("this is not a benchmark case: {error}")))?;
    console.print_json(&case::measure(case)?)
}

fn measure_in_child(case: &Case) -> Outcome<Measured> {
    let failed = |error: String| {
        Failure::new(Exit::CheckFailed, anyhow::Error::msg(format!("a benchmark case failed: {error}")))
    };
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let text = serde_json::to_string(case).map_err(|error| failed(error.to_string()))?;
    let child = Command::new(program).args(["tools", "bench-case", &text]).stderr(Stdio::inherit()).output();
    let output = child.map_err(|error| failed(error.to_string()))?;
    match output.status.code() {
        Some(0) => serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string())),
        Some(130) => Err(Failure::interrupted()),
        _ => Err(failed(format!("{} exited with {}", words::describe(case), output.status))),
    }
}

/// Checks that the simulated times do not depend on the number of threads.
fn check(report: &Report) -> Outcome<()> {
    let of_group = |group: Group| report.cases.iter().filter(move |measured| measured.case.group == group);
    for first in of_group(Group::Threads) {
        let differs = |other: &&Measured| {
            other.case.processes == first.case.processes && other.makespan_ps != first.makespan_ps
        };
        if let Some(other) = of_group(Group::Threads).find(differs) {
            return Err(Failure::new(
                Exit::CheckFailed,
                anyhow::anyhow!(
                    "{} processes finish after {} ps on {} threads but after {} ps on {}: the engine is wrong",
                    first.case.processes,
                    first.makespan_ps,
                    first.threads,
                    other.makespan_ps,
                    other.threads
                ),
            ));
        }
    }
    Ok(())
}
