//! The tables of a training job, for the terminal and for the page.

use std::collections::BTreeMap;
use straggler_report::numbers::slowdown_interval;
use straggler_report::{Cell, Columns, Table, numbers};
use straggler_training::exact::{Answers, Breakdown, CurvePoint, Intervals, WorkerAnswer};

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
