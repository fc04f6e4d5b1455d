//! The page of a training job, and the tables that the page and the terminal share.

use crate::kernel::prelude::*;
use crate::training::words;
use std::collections::BTreeMap;
use straggler_report::numbers::{self, longer_than, slowdown_interval};
use straggler_report::page::{Activity, ActivityRole, Heat, Kind, NOBODY, Timeline};
use straggler_training::exact::{
    Answers, Bar, Breakdown, Cause, CurvePoint, Intervals, Replays, WorkerAnswer, bars, slowness,
};
use straggler_training::{Job, Role, phrases};

/// The colour scale covers at least this range, so that small differences in computing time hardly show.
const CALM: std::ops::Range<f64> = 0.9..1.2;
/// Most workers in the timeline of a step.
const MOST_ROWS: usize = 12;
/// Most workers in the table.
const MOST_WORKERS: usize = 200;

pub fn page(job: &Job, replays: &Replays<'_>, answers: &Answers, warnings: &[String]) -> Page {
    let command = command_line();
    let mut sections = vec![causes(answers, &command)];
    let mut who = Section::new("Workers over time");
    who.add(heat(job, replays, &command));
    who.add(workers(answers, MOST_WORKERS).titled("Workers, the slowest first", &command));
    who.add(breakdown(answers, MOST_WORKERS).titled("What workers do during a step", &command));
    let title = "Lost time saved by fixing the slowest workers";
    who.add(curve(&answers.curve).titled(title, &command));
    sections.push(who);
    sections.push(worst(job, replays, answers, &command));
    let mut page =
        pages::page(format!("The training job {}", job.source), vec![words::verdict(answers)], sections);
    page.warnings = warnings.to_vec();
    page
}

fn causes(answers: &Answers, command: &str) -> Section {
    let mut section = Section::new("Causes of slowdown");
    for (number, cause) in (1..).zip(&answers.causes) {
        section.text.push(format!("{number}. {}.", words::costs(cause, &answers.causes)));
        section.text.extend(phrases::evidence(cause));
        section.text.push(format!("Fix: {}", phrases::fix(cause)));
    }
    if answers.causes.len() > 1 {
        section.text.push(words::DO_NOT_ADD_UP.into());
    }
    if !answers.causes.is_empty() {
        section.add(gains(answers, command));
    }
    section.text.extend(answers.split.as_ref().map(words::split));
    let title = "Slowdown of the steps with everything ideal except this";
    section.add(parts(answers, false).titled(title, command));
    section
}

fn gains(answers: &Answers, command: &str) -> Table {
    let together = |cause: &Cause| cause.with_others.map_or("", |_| ", removed together with others");
    let saves = |cause: &Cause| cause.with_others.unwrap_or((cause.gain, cause.seconds));
    Columns::over(&answers.causes)
        .text("cause", phrases::summary)
        .number("gain", |cause| Cell::number(percent(saves(cause).0) + together(cause), cause.gain))
        .number("time per step", |cause| {
            Cell::number(seconds(saves(cause).1) + together(cause), cause.seconds)
        })
        .build()
        .titled("Causes, by the time a step would save without them", command)
}

/// Computing time of every worker in every step, relative to the usual.
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
    let usual = match job.stages() {
        1 => "computing time / median",
        _ => "computing time / median of the stage",
    };
    let heat = Heat {
        x: Axis::named("step", columns.iter().map(name).collect()),
        y: Axis::named("rank", order.iter().map(|&place| job.workers[place].rank.to_string()).collect()),
        value: Axis::linear(usual, Unit::Factor).covering(CALM.start, CALM.end),
        xs: (0..columns.len()).map(|column| column as f64).collect(),
        ys: (0..order.len()).map(|row| row as f64).collect(),
        values: order.iter().flat_map(|&place| of_worker(place)).collect(),
    };
    let mut chart =
        Chart::new("Computing time of every worker in every step", command, heat).synthetic(job.synthetic);
    if columns.len() > job.steps.len() {
        chart.note = "Empty columns are steps that were not analysed.".into();
    }
    chart
}

/// The columns of the heat map: one per step, with an empty one where steps are missing.
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

/// The worst step, next to the same step with ideal times.
fn worst(job: &Job, replays: &Replays<'_>, answers: &Answers, command: &str) -> Section {
    let slowdowns: Vec<f64> = answers.by_step.values().copied().collect();
    let worst = (0..slowdowns.len()).max_by(|&a, &b| slowdowns[a].total_cmp(&slowdowns[b])).unwrap_or(0);
    let number = job.steps[worst].number;
    let mut section = Section::new(format!("Step {number}, the worst, beside its ideal twin"));
    section.text.push(format!(
        "It takes {} with ideal times. A worker waits where its computing stream has nothing to do; \
         communication on other streams is not drawn.",
        longer_than(excess(slowdowns.get(worst).copied().unwrap_or(1.0)))
    ));
    let shown = shown(job, answers);
    let timeline = timeline(
        job,
        &shown,
        &[("recorded", bars(replays, worst, false)), ("ideal", bars(replays, worst, true))],
    );
    section.add(Chart::new(format!("Step {number}"), command, timeline).synthetic(job.synthetic));
    section
}

/// The workers to draw, by index in the job: the slowest, its pipeline, then the next slowest.
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

const WAITING: u8 = 4;

fn timeline(job: &Job, shown: &[usize], runs: &[(&str, Vec<Bar>)]) -> Timeline {
    let kinds = [
        ("forward, or other computing", ActivityRole::Computation),
        ("backward", ActivityRole::Computation),
        ("communication", ActivityRole::Communication),
        ("host", ActivityRole::Other),
        ("waiting", ActivityRole::Wait),
    ];
    let kinds = kinds.map(|(name, role)| Kind { name: name.into(), role }).into();
    let mut timeline = Timeline { kinds, ..Timeline::default() };
    for &place in shown {
        for (name, bars) in runs {
            let row = timeline.rows.len() as u32;
            timeline.rows.push(format!("rank {} {name}", job.workers[place].rank));
            let begin = bars.iter().map(|bar| bar.start).min().unwrap_or(0);
            let role_of = |bar: &Bar| job.kinds[bar.kind as usize].role;
            let own = bars.iter().filter(|bar| bar.worker == place && bar.start < bar.end);
            let own = own.filter(|bar| bar.stream == 0 || role_of(bar) != Role::Communication);
            for (kind, start, end) in
                with_waits(begin, own.map(|bar| (kind_of(job, bar), bar.start, bar.end)))
            {
                let (start_ps, end_ps) = (start as f64, end as f64);
                timeline.push(Activity { row, start_ps, end_ps, kind, peer: NOBODY, bytes: -1.0, tag: 0 });
            }
        }
    }
    timeline
}

fn kind_of(job: &Job, bar: &Bar) -> u8 {
    let kind = &job.kinds[bar.kind as usize];
    match kind.role {
        Role::Compute if kind.name.contains("backward") => 1,
        Role::Compute => 0,
        Role::Communication => 2,
        Role::Other => 3,
    }
}

/// Operations in order of their starts, with a wait in each gap since the step began.
fn with_waits(begin: i64, operations: impl Iterator<Item = (u8, i64, i64)>) -> Vec<(u8, i64, i64)> {
    let mut all = Vec::new();
    let mut reached = begin;
    for (kind, start, end) in operations {
        if start > reached {
            all.push((WAITING, reached, start));
        }
        all.push((kind, start, end));
        reached = reached.max(end);
    }
    all
}

/// Most rows of a table on a terminal.
pub const SHOWN: usize = 8;
/// With fewer steps there is no interval.
pub const FEW: usize = 5;
/// Smaller slowdowns are not listed on a terminal.
const LEAST: f64 = 1.001;

/// The excess of a factor over 1, rounded to a tenth of a percent.
pub fn excess(times: f64) -> f64 {
    ((times - 1.0) * 1e3).round() / 1e3
}

/// `+26 %`, `2.36×`.
fn slowdown(times: f64) -> Cell {
    Cell::number(numbers::slowdown(excess(times)), times)
}

/// The interval of a slowdown over the steps; empty if there are too few steps.
fn interval(answers: &Answers, times: f64, ends: [f64; 2]) -> Cell {
    let text = slowdown_interval(excess(times), ends.map(excess)).join(" to ");
    Cell::text(if answers.steps < FEW { String::new() } else { text })
}

/// A part of the job, and the slowdown if everything else is ideal.
#[derive(Clone, Copy)]
struct Part<'a> {
    what: &'static str,
    name: &'a str,
    slowdown: f64,
    interval: Option<[f64; 2]>,
}

/// Slowdowns of stages, ranks and operations, the largest of each first. With `few`, only the largest ones.
pub fn parts(answers: &Answers, few: bool) -> Table {
    let Intervals { by_stage, by_dp_rank, by_type } = &answers.intervals;
    // A single stage or data-parallel rank gets no row.
    let lists = [
        (answers.stages > 1, "stage ", &answers.by_stage, by_stage),
        (answers.dp_ranks > 1, "data-parallel rank ", &answers.by_dp_rank, by_dp_rank),
        (true, "", &answers.by_type, by_type),
    ];
    let mut parts: Vec<Part<'_>> = Vec::new();
    for (_, what, list, intervals) in lists.into_iter().filter(|(worth, ..)| *worth) {
        let mut own: Vec<Part<'_>> = list
            .iter()
            .map(|(name, &slowdown)| Part { what, name, slowdown, interval: intervals.get(name).copied() })
            .collect();
        own.sort_by(|a, b| b.slowdown.total_cmp(&a.slowdown));
        if few {
            own.truncate(SHOWN);
            own.retain(|part| part.slowdown >= LEAST);
        }
        parts.append(&mut own);
    }
    parts.push(Part { what: "all", name: "", slowdown: answers.s, interval: Some(answers.s_interval) });
    if answers.stages > 1 {
        let what = "all, compared with workers of the same stage";
        parts.push(Part { what, name: "", slowdown: answers.s_stage_pooled, interval: None });
    }
    Columns::over(&parts)
        .text("all ideal except", |part| format!("{}{}", part.what, part.name))
        .number("slowdown", |part| slowdown(part.slowdown))
        .number("95 % interval", |part| part.interval.map(|ends| interval(answers, part.slowdown, ends)))
        .build()
}

/// The slowest workers.
pub fn workers(answers: &Answers, most: usize) -> Table {
    let host =
        |worker: &WorkerAnswer| worker.host.as_ref().map(|host| format!(" ({host})")).unwrap_or_default();
    let mut columns = Columns::over(answers.workers.iter().take(most))
        .text("worker", |worker| format!("rank {}{}", worker.rank, host(worker)));
    // Left out if there is one stage and data-parallel ranks equal ranks.
    if answers.stages > 1 || answers.workers.iter().any(|worker| worker.dp_rank != worker.rank) {
        columns = columns.number("data-parallel rank", |worker| Cell::id(worker.dp_rank));
    }
    if answers.stages > 1 {
        columns = columns.number("stage", |worker| Cell::id(worker.stage));
    }
    columns
        .number("slowdown alone", |worker| slowdown(worker.s_w))
        .number("95 % interval", |worker| interval(answers, worker.s_w, worker.s_w_interval))
        .build()
}

/// What workers do during a step: the mean of all, and the slowest workers.
pub fn breakdown(answers: &Answers, most: usize) -> Table {
    let by_rank: BTreeMap<u32, &Breakdown> =
        answers.breakdown.by_rank.iter().map(|(rank, of)| (*rank, of)).collect();
    let workers = answers.workers.iter().take(most);
    let of_workers =
        workers.filter_map(|worker| Some((format!("rank {}", worker.rank), *by_rank.get(&worker.rank)?)));
    let rows: Vec<(String, &Breakdown)> =
        [("all (mean)".to_string(), &answers.breakdown.all)].into_iter().chain(of_workers).collect();
    Columns::over(&rows)
        .text("share of a step", |row| row.0.as_str())
        .number("computing", |row| share(row.1, row.1.computing))
        .number("communication", |row| share(row.1, row.1.exposed))
        .number("host", |row| share(row.1, row.1.host))
        .number("idle", |row| share(row.1, row.1.idle))
        .number("communication while computing", |row| share(row.1, row.1.overlapped))
        .build()
}

fn share(of: &Breakdown, seconds: f64) -> Cell {
    let step = of.computing + of.exposed + of.host + of.idle;
    Cell::share(if step > 0.0 { seconds / step } else { 0.0 })
}

/// What fixing the slowest workers would save.
pub fn curve(curve: &[CurvePoint]) -> Table {
    Columns::over(curve)
        .number("workers fixed", |point| Cell::count(point.workers as u64))
        .number("of all", |point| Cell::share(point.share))
        .number("lost time saved", |point| point.share_saved.map(Cell::share))
        .number("step", |point| Cell::seconds(point.seconds))
        .build()
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
    #[test]
    fn gaps_between_operations_are_waits() {
        let operations = [(0, 5, 10), (2, 8, 9), (1, 12, 20)];
        let expected = [(WAITING, 0, 5), (0, 5, 10), (2, 8, 9), (WAITING, 10, 12), (1, 12, 20)];
        assert_eq!(with_waits(0, operations.into_iter()), expected);
        assert_eq!(with_waits(5, operations[..1].iter().copied()), [(0, 5, 10)]);
        assert_eq!(with_waits(5, std::iter::empty()), []);
    }
}
