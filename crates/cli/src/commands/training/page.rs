//! The page of a training job.

use super::words;
use crate::commands::{command_line, report};
use straggler_report::numbers::{percent, seconds};
use straggler_report::page::{
    Activity, ActivityRole, Axis, Cell, Chart, Heat, Kind, NOBODY, Page, Section, Table, Timeline, Unit,
};
use straggler_training::exact::{Answers, Bar, Replays, bars, slowness};
use straggler_training::{Job, Role};

/// Computing that differs by less than this is of no interest, and has nearly one colour.
const CALM: std::ops::Range<f64> = 0.9..1.2;
/// Workers whose steps are drawn.
const MOST_ROWS: usize = 12;

pub fn page(job: &Job, replays: &Replays<'_>, answers: &Answers, warnings: &[String]) -> Page {
    let command = command_line();
    let mut sections = vec![causes(answers, &command)];
    let mut who = Section::new("Who, and when");
    who.add(heat(job, replays, &command));
    who.add(workers(answers, &command));
    who.add(curve(answers, &command));
    sections.push(who);
    sections.push(worst(job, replays, answers, &command));
    let mut page =
        report::page(format!("The training job {}", job.source), vec![words::verdict(answers)], sections);
    page.warnings = warnings.to_vec();
    page
}

fn causes(answers: &Answers, command: &str) -> Section {
    let mut section = Section::new("What slows it");
    for cause in &answers.causes {
        section.text.push(format!("{}.", words::costs(cause)));
        section.text.extend(cause.evidence.iter().cloned());
        section.text.push(format!("Fix: {}", cause.fix));
    }
    if !answers.causes.is_empty() {
        section.add(gains(answers, command));
    }
    section.text.extend(answers.split.as_ref().map(words::split));
    let mut table =
        Table::new("Slowdown of the steps with everything ideal except this", &["what", "#slowdown"]);
    table.command = command.into();
    let number = |value: f64| Cell::number(format!("{value:.4}"), value);
    let lists =
        [("stage ", &answers.by_stage), ("data-parallel rank ", &answers.by_dp_rank), ("", &answers.by_type)];
    for (what, list) in lists {
        let mut sorted: Vec<_> = list.iter().collect();
        sorted.sort_by(|one, other| other.1.total_cmp(one.1));
        for (name, value) in sorted {
            table.row([Cell::text(format!("{what}{name}")), number(*value)]);
        }
    }
    section.add(table);
    section
}

fn gains(answers: &Answers, command: &str) -> Table {
    let mut table = Table::new(
        "Causes, by the time that a step would save without them",
        &["cause", "#gain", "#seconds a step"],
    );
    table.command = command.into();
    for cause in &answers.causes {
        let together = cause.with_others.map_or("", |_| " with what hides it");
        let (gain, saved) = cause.with_others.unwrap_or((cause.gain, cause.seconds));
        table.row([
            Cell::text(cause.says.clone()),
            Cell::number(format!("{}{together}", percent(gain)), cause.gain),
            Cell::number(format!("{}{together}", seconds(saved)), cause.seconds),
        ]);
    }
    table
}

/// How long every worker computed in every step.
fn heat(job: &Job, replays: &Replays<'_>, command: &str) -> Chart {
    let slow = slowness(replays);
    let mut order: Vec<usize> = (0..job.workers.len()).filter(|&place| job.workers[place].recorded).collect();
    order.sort_by_key(|&place| job.workers[place].rank);
    let columns = columns(&job.steps.iter().map(|step| step.number).collect::<Vec<_>>());
    let of_worker = |place: usize| {
        let slow = &slow[place];
        columns.iter().map(move |step| step.map_or(f64::NAN, |step| slow[step]))
    };
    let name = |step: &Option<usize>| step.map(|step| job.steps[step].number.to_string()).unwrap_or_default();
    let heat = Heat {
        x: Axis::named("step", columns.iter().map(name).collect()),
        y: Axis::named("rank", order.iter().map(|&place| job.workers[place].rank.to_string()).collect()),
        value: Axis::linear("computing, times the usual of the stage", Unit::Factor)
            .covering(CALM.start, CALM.end),
        xs: (0..columns.len()).map(|column| column as f64).collect(),
        ys: (0..order.len()).map(|row| row as f64).collect(),
        values: order.iter().flat_map(|&place| of_worker(place)).collect(),
    };
    let mut chart =
        Chart::new("How long every worker computed in every step", command, heat).synthetic(job.synthetic);
    if columns.len() > job.steps.len() {
        chart.note = "An empty column stands for steps that are not analysed.".into();
    }
    chart
}

/// The columns of the heat map: places of steps, with an empty one between steps of which some were not recorded.
fn columns(steps: &[i64]) -> Vec<Option<usize>> {
    let mut columns = Vec::with_capacity(steps.len());
    for (place, &number) in steps.iter().enumerate() {
        let follows = |before: usize| steps[before].checked_add(1) == Some(number);
        if place.checked_sub(1).is_some_and(|before| !follows(before)) {
            columns.push(None);
        }
        columns.push(Some(place));
    }
    columns
}

fn workers(answers: &Answers, command: &str) -> Table {
    let mut table =
        Table::new("Workers, the slowest first", &["rank", "data-parallel rank", "stage", "#slowdown alone"]);
    table.command = command.into();
    for worker in answers.workers.iter().take(200) {
        let host = worker.host.as_ref().map(|host| format!(" ({host})")).unwrap_or_default();
        table.row([
            Cell::text(format!("{}{host}", worker.rank)),
            Cell::text(worker.dp_rank.to_string()),
            Cell::text(worker.stage.to_string()),
            Cell::number(format!("{:.4}", worker.s_w), worker.s_w),
        ]);
    }
    table
}

fn curve(answers: &Answers, command: &str) -> Table {
    let columns = ["#workers", "#of all", "#lost time saved", "#step"];
    let mut table = Table::new("Lost time saved by mending the slowest workers", &columns);
    table.command = command.into();
    for point in &answers.curve {
        table.row([
            Cell::number(point.workers.to_string(), point.workers as f64),
            Cell::number(percent(point.share), point.share),
            point.rem.map_or(Cell::text(""), |rem| Cell::number(percent(rem), rem)),
            Cell::number(seconds(point.seconds), point.seconds),
        ]);
    }
    table
}

/// The worst step beside its ideal twin.
fn worst(job: &Job, replays: &Replays<'_>, answers: &Answers, command: &str) -> Section {
    let slowdowns: Vec<f64> = answers.by_step.values().copied().collect();
    let worst = (0..slowdowns.len()).max_by(|&a, &b| slowdowns[a].total_cmp(&slowdowns[b])).unwrap_or(0);
    let number = job.steps[worst].number;
    let mut section = Section::new(format!("Step {number}, the worst, beside its ideal twin"));
    section.text.push(format!(
        "It takes {:.2} times as long as with ideal times. Bars are what operations take; between them a worker waits.",
        slowdowns.get(worst).copied().unwrap_or(1.0)
    ));
    let shown = shown(job, answers);
    let timeline = timeline(
        job,
        &shown,
        &[("as it was", bars(replays, worst, false)), ("ideal", bars(replays, worst, true))],
    );
    section.add(Chart::new(format!("Step {number}"), command, timeline).synthetic(job.synthetic));
    section
}

/// The pipeline of the slowest worker, then the slowest others: places in the job.
fn shown(job: &Job, answers: &Answers) -> Vec<usize> {
    let place = |rank: u32| job.workers.iter().position(|worker| worker.rank == rank && worker.recorded);
    let Some(first) = answers.workers.first() else { return Vec::new() };
    let own = (0..job.workers.len())
        .filter(|&place| job.workers[place].recorded)
        .filter(|&place| job.workers[place].dp_rank == first.dp_rank && job.stages() > 1);
    let mut list: Vec<usize> = place(first.rank).into_iter().chain(own).collect();
    list.extend(answers.workers.iter().filter_map(|worker| place(worker.rank)));
    let mut seen = vec![false; job.workers.len()];
    list.retain(|&place| !std::mem::replace(&mut seen[place], true));
    list.truncate(MOST_ROWS);
    list
}

fn timeline(job: &Job, shown: &[usize], runs: &[(&str, Vec<Bar>)]) -> Timeline {
    // The page has few colours: kinds of a role share one.
    let role = |name: &str, role: Role| match role {
        Role::Compute if name.contains("backward") => 1,
        Role::Compute => 0,
        Role::Communication => 2,
        Role::Other => 3,
    };
    let kinds = [
        ("forward, or other computing", ActivityRole::Computation),
        ("backward", ActivityRole::Send),
        ("communication", ActivityRole::Receive),
        ("host", ActivityRole::Noise),
    ];
    let kinds = kinds.map(|(name, role)| Kind { name: name.into(), role }).into();
    let mut timeline = Timeline { kinds, ..Timeline::default() };
    for &place in shown {
        for (name, bars) in runs {
            let row = timeline.rows.len() as u32;
            timeline.rows.push(format!("rank {} {name}", job.workers[place].rank));
            let own = bars.iter().filter(|bar| bar.worker == place && bar.start < bar.end);
            for bar in
                own.filter(|bar| bar.stream == 0 || job.kinds[bar.kind as usize].role != Role::Communication)
            {
                let kind = &job.kinds[bar.kind as usize];
                timeline.push(Activity {
                    row,
                    start_ps: bar.start as f64,
                    end_ps: bar.end as f64,
                    kind: role(&kind.name, kind.role),
                    peer: NOBODY,
                    bytes: -1.0,
                    tag: 0,
                });
            }
        }
    }
    timeline
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_column_stands_for_missing_steps() {
        assert_eq!(columns(&[3, 4, 5]), [Some(0), Some(1), Some(2)]);
        assert_eq!(columns(&[3, 5]), [Some(0), None, Some(1)]);
        assert_eq!(columns(&[3, 4, 900]), [Some(0), Some(1), None, Some(2)]);
        assert_eq!(columns(&[]), []);
    }
}
