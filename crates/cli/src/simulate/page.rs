//! The page of a simulation.

use crate::kernel::{command_line, pages};
use crate::network::network_in_words;
use crate::simulate::answer::SimulateAnswer;
use crate::simulate::inputs::Inputs;
use crate::simulate::words::answers;
use crate::simulate::{Findings, finish_times, timeline as timelines};
use straggler_analysis::CriticalPath;
use straggler_model::Time;
use straggler_report::numbers::{SLOWDOWN_LEGEND, percent};
use straggler_report::page::{
    ActivityRole, Axis, Bar, Bars, Cell, Chart, Distribution, Mark, Page, Sample, Section, Table, Unit,
};

pub fn page(answer: &SimulateAnswer, inputs: &Inputs, findings: &Findings, synthetic: bool) -> Page {
    let command = command_line();
    let mut sections = vec![makespans(answer, &command, synthetic)];
    if let Some(path) = &findings.details.critical_path {
        sections.push(explanation(path, &command, synthetic));
    }
    // A member of a cluster has only its own share of them.
    let finish = findings.details.finish.as_ref().map(|share| &share.finish);
    if let Some(finish) = finish.filter(|finish| finish.len() == answer.processes as usize) {
        sections.push(finish_times::section("Finish times of the ranks", finish, &command, synthetic));
    }
    if let Some(timeline) = &findings.details.timeline {
        let mut section = Section::new("Timeline");
        section.add(timelines::chart(timeline, &command, synthetic));
        sections.push(section);
    }
    let title = format!("{} on {}", answer.workload, inputs.network.name);
    let mut page = pages::page(title, answers(answer, inputs, &findings.repeated), sections);
    page.facts.add("Network", network_in_words(&inputs.network));
    page.facts.add("Noise", &answer.noise);
    page.facts.add("Seed", answer.seed.to_string());
    page.warnings = answer.warnings.clone();
    page
}

fn makespans(answer: &SimulateAnswer, command: &str, synthetic: bool) -> Section {
    let mut section = Section::new("Run time");
    let quiet = answer.quiet_makespan_ps;
    let mut times: Vec<Time> = answer.replicas.iter().map(|run| Time(run.makespan_ps)).collect();
    times.sort_unstable();
    if times.len() > 1 {
        let series = vec![Sample { name: "replicas".into(), values: seconds(&times), sum: false }];
        let quiet = quiet.map(Time);
        let mark =
            |quiet: Time| Mark { x: Some(quiet.seconds()), y: None, name: format!("without noise: {quiet}") };
        let x = Axis::linear("makespan", Unit::Seconds);
        let plot = Distribution { x, series, marks: quiet.map(mark).into_iter().collect() };
        section.add(Chart::new("Makespans of the replicas", command, plot).synthetic(synthetic));
    }
    section.add(table(answer, command));
    section
}

fn seconds(times: &[Time]) -> Vec<f64> {
    times.iter().map(|time| time.seconds()).collect()
}

/// One row per replica.
fn table(answer: &SimulateAnswer, command: &str) -> Table {
    let table = Table::new("", &["run", "#makespan", "#slowdown"]).titled("Runs", command);
    let mut table = table.with_note(SLOWDOWN_LEGEND);
    let mut row = |name: Cell, ps: u64, slowdown: Option<f64>| {
        table.row([name, Cell::ps(ps), slowdown.map(Cell::slowdown).into()]);
    };
    if let Some(quiet) = answer.quiet_makespan_ps {
        row("without noise".into(), quiet, Some(0.0));
    }
    if answer.replicas.is_empty() {
        row("the run".into(), answer.makespan_ps, answer.slowdown);
    }
    for run in &answer.replicas {
        let name = Cell::number(format!("replica {}", run.replica), run.replica.into());
        row(name, run.makespan_ps, run.slowdown);
    }
    table
}

fn role(part: &str) -> ActivityRole {
    match part {
        "compute" => ActivityRole::Computation,
        "o (send)" => ActivityRole::Send,
        "o (receive)" => ActivityRole::Receive,
        "noise" => ActivityRole::Noise,
        "rendezvous wait" => ActivityRole::Wait,
        _ => ActivityRole::Communication,
    }
}

/// The composition of the critical path.
fn explanation(path: &CriticalPath, command: &str, synthetic: bool) -> Section {
    let total = path.parts.total();
    let parts = path.parts.named().into_iter().filter(|(_, ps)| *ps > 0);
    let bar = |(name, ps): (&str, u64)| Bar {
        name: name.into(),
        value: Time(ps).seconds(),
        note: percent(ps as f64 / total.ps().max(1) as f64),
        role: Some(role(name)),
        ..Bar::default()
    };
    let plot =
        Bars { x: Axis::linear("time on the critical path", Unit::Seconds), bars: parts.map(bar).collect() };
    let mut section = Section::new("Time by activity");
    section
        .text
        .push(format!("The critical path is the chain of events that determines the makespan, {total}."));
    section.add(Chart::new("Parts of the critical path", command, plot).synthetic(synthetic));
    section
}
