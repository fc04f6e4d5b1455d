//! The page of a simulation, with its finish times and its timeline, which are also pages of files.

use crate::kernel::prelude::*;
use crate::simulate::{answer::SimulateAnswer, words::answers};
use crate::{network::network_in_words, simulate::Findings, simulate::inputs::Inputs};
use straggler_analysis::CriticalPath;
use straggler_formats::chrome::Run;
use straggler_model::stats::quantile_of_sorted;
use straggler_report::numbers::SLOWDOWN_LEGEND;
use straggler_report::page::{
    ActivityRole, Bar, Bars, Cell, Distribution, Mark, PointSeries, Sample, Scatter, Table, Timeline,
};
use straggler_trace as trace;

pub fn page(answer: &SimulateAnswer, inputs: &Inputs, findings: &Findings, synthetic: bool) -> Page {
    let command = command_line();
    let mut sections = vec![makespans(answer, &command, synthetic)];
    if let Some(path) = &findings.details.critical_path {
        sections.push(explanation(path, &command, synthetic));
    }
    // A member of a cluster has only its own share of them.
    let finish = findings.details.finish.as_ref().map(|share| &share.finish);
    if let Some(finish) = finish.filter(|finish| finish.len() == answer.processes as usize) {
        sections.push(finish_times("Finish times of the ranks", finish, &command, synthetic));
    }
    if let Some(timeline) = &findings.details.timeline {
        let mut section = Section::new("Timeline");
        section.add(timeline_chart(timeline, &command, synthetic));
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

/// The chart of a run.
pub fn timeline_chart(run: &trace::Timeline, command: &str, synthetic: bool) -> Chart {
    let timeline = Timeline::from(run);
    Chart::new("What happens when", command, timeline).synthetic(synthetic)
}

/// The page of a timeline read from a file.
pub fn timeline_page(run: &Run, name: &str) -> Page {
    let about = |key: &str| run.about.get(key).and_then(|value| value.as_str());
    let command = about("command").map_or_else(command_line, String::from);
    let synthetic = run.about.get("synthetic").and_then(|value| value.as_bool()).unwrap_or(false);
    let mut section = Section::new(format!("Timeline: {name}"));
    section.add(timeline_chart(&run.timeline, &command, synthetic));
    let title = match about("workload") {
        Some(workload) => format!("Timeline of {workload}"),
        None => format!("Timeline {name}"),
    };
    let mut page = crate::kernel::pages::page(title, vec![timeline_sentence(&run.timeline)], vec![section]);
    page.facts.add("File", name);
    for (fact, key) in [("Made by", "command"), ("Workload", "workload"), ("Noise", "noise")] {
        if let Some(text) = about(key) {
            page.facts.add(fact, text);
        }
    }
    page
}

fn timeline_sentence(timeline: &trace::Timeline) -> String {
    let ranks: std::collections::BTreeSet<u32> =
        timeline.activities.iter().map(|activity| activity.rank).collect();
    let noise = timeline.activities.iter().map(|activity| activity.noise);
    let noise = noise.fold(straggler_model::Time::ZERO, |sum, one| sum + one);
    format!(
        "{} and {} of {}; {noise} of it is noise.",
        counted(timeline.activities.len() as u64, "activity", "activities"),
        counted(timeline.arrows.len() as u64, "message", "messages"),
        counted(ranks.len() as u64, "process", "processes"),
    )
}

/// When each rank finishes, and how these times are distributed.
pub fn finish_times(title: &str, finish: &[Time], command: &str, synthetic: bool) -> Section {
    let mut sorted = finish.to_vec();
    sorted.sort_unstable();
    let mut section = Section::new(title);
    section.text.push(finish_sentence(&sorted));
    section.add(by_rank(finish, command).synthetic(synthetic));
    section.add(finish_distribution(&sorted, command).synthetic(synthetic));
    section.add(quantiles(&sorted, command));
    section
}

fn finish_sentence(sorted: &[Time]) -> String {
    let ranks = counted(sorted.len() as u64, "rank finishes", "ranks finish");
    match (sorted.first(), quantile_of_sorted(sorted, 0.5), sorted.last()) {
        (Some(first), Some(median), Some(last)) => {
            format!("{ranks}: the first at {first}, the median at {median}, the last at {last}.")
        }
        _ => "No rank finishes.".into(),
    }
}

fn by_rank(finish: &[Time], command: &str) -> Chart {
    let series = PointSeries {
        name: "finish".into(),
        x: (0..finish.len()).map(|rank| rank as f64).collect(),
        y: finish.iter().map(|time| time.seconds()).collect(),
    };
    let (x, y) = (Axis::linear("rank", Unit::Count), Axis::linear("finish time", Unit::Seconds));
    Chart::new("Finish time of each rank", command, Scatter { x, y, series: vec![series] })
}

fn finish_distribution(sorted: &[Time], command: &str) -> Chart {
    let values = sorted.iter().map(|time| time.seconds()).collect();
    let series = vec![Sample { name: "ranks".into(), values, sum: false }];
    let x = Axis::linear("finish time", Unit::Seconds);
    Chart::new("Distribution of finish times", command, Distribution { x, series, marks: Vec::new() })
}

fn quantiles(sorted: &[Time], command: &str) -> Table {
    const SHARES: [(&str, f64); 7] = [
        ("earliest", 0.0),
        ("1 %", 0.01),
        ("25 %", 0.25),
        ("median", 0.5),
        ("75 %", 0.75),
        ("99 %", 0.99),
        ("latest", 1.0),
    ];
    let found = SHARES.iter().filter_map(|&(name, share)| Some((name, quantile_of_sorted(sorted, share)?)));
    Columns::over(found)
        .text("", |(name, _)| name)
        .number("time", |(_, time)| Cell::time(time))
        .build()
        .titled("Finish times", command)
}
