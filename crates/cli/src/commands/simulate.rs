//! `straggler simulate`: a plan becomes inputs, inputs become runs, runs become an answer.

mod answer;
mod inputs;
mod replicas;
mod stuck;
mod words;
mod workload;

pub use answer::NetworkAnswer;
pub use inputs::{load_network, what_was_noticed};
pub use workload::Workload;

use crate::console::{Console, to_json};
use crate::exit::{Exit, Failure, Outcome};
use crate::interrupt::{self, Orderly};
use crate::meter::Meter;
use crate::plan::simulate::Plan;
use answer::{Answer, Detail};
use inputs::Inputs;
use replicas::{Replicas, Runner};
use std::time::Instant;
use straggler_model::Time;
use straggler_sim::Stuck;

/// What the stage found out, before it is put into words.
struct Findings {
    replicas: Replicas,
    quiet_makespan: Option<Time>,
    wall_seconds: f64,
    load_seconds: f64,
}

pub fn run(plan: &Plan, console: &Console) -> Outcome<()> {
    let began = Instant::now();
    let inputs = Inputs::load(plan)?;
    inputs.warnings.iter().for_each(|warning| console.warn(warning));
    let load_seconds = began.elapsed().as_secs_f64();
    console.detail(&format!("loaded in {load_seconds:.3} s"));
    let findings = simulate(plan, &inputs, console, load_seconds)?;
    let answer = Answer::new(plan, &inputs, &findings);
    let stuck = blocking(plan, &findings);
    if stuck.is_none() {
        write_files(plan, &inputs, &findings, &answer)?;
    }
    match (console.json, stuck) {
        (true, _) => console.print_json(&answer)?,
        (false, None) => console.print(&words::say(&answer, &Detail::new(plan, &inputs)))?,
        (false, Some(_)) => {}
    }
    match stuck {
        Some(stuck) => Err(Failure::new(Exit::Stuck, anyhow::Error::msg(stuck::explain(stuck)))),
        None => Ok(()),
    }
}

fn simulate(plan: &Plan, inputs: &Inputs, console: &Console, load_seconds: f64) -> Outcome<Findings> {
    let _orderly = Orderly::begin();
    let count = u64::from(plan.replicas.end - plan.replicas.start);
    let runs = count + u64::from(plan.compare_quiet);
    let meter = Meter::new(console, inputs.workload.expected_messages().saturating_mul(runs));
    let runner = Runner { plan, inputs, meter: &meter, stop: interrupt::flag() };
    let began = Instant::now();
    let replicas = runner.all(plan.finish_times.is_some())?;
    let wall_seconds = began.elapsed().as_secs_f64();
    let quiet_makespan = if plan.compare_quiet { Some(runner.quiet()?) } else { None };
    interrupt::check()?;
    console.detail(&format!("simulated in {wall_seconds:.3} s, {} windows", replicas.shown().windows));
    Ok(Findings { replicas, quiet_makespan, wall_seconds, load_seconds })
}

/// Why the run counts as one that could not finish, if it does.
fn blocking<'a>(plan: &Plan, findings: &'a Findings) -> Option<&'a Stuck> {
    let stuck = findings.replicas.stuck()?;
    let only_leftovers = stuck.unfinished == 0;
    (!(only_leftovers && plan.allow_leftovers)).then_some(stuck)
}

fn write_files(plan: &Plan, inputs: &Inputs, findings: &Findings, answer: &Answer) -> Outcome<()> {
    let _orderly = Orderly::begin();
    if let Some(path) = &plan.finish_times {
        let shown = findings.replicas.shown();
        match &shown.finish {
            Some(finish) => straggler_report::finish_times::write(path, finish)?,
            None => {
                let again = inputs.again(plan, shown.replica, interrupt::flag())?;
                straggler_report::finish_times::write(path, &again)?;
            }
        }
    }
    if let Some(path) = &plan.output {
        let text = to_json(answer)?;
        straggler_report::replace_file(path, |out| out.write_all(text.as_bytes()))?;
    }
    Ok(())
}
