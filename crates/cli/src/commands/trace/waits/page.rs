//! The page of a run's waits.

use super::super::Opened;
use super::answer::{Answer, CauseAnswer, WRONG_ORDER};
use super::timeline::{self, Shown};
use super::words;
use crate::commands::{command_line, report};
use straggler_analysis::waits::{Explanation, WaitStates};
use straggler_report::numbers::{grouped, percent, seconds};
use straggler_report::page::{Axis, Bar, Bars, Cell, Chart, Page, Section, Table, Unit};

/// Bars of a chart, and rows of the tables that may be long.
const MOST_BARS: usize = 12;
const MOST_ROWS: usize = 1000;

pub fn page(answer: &Answer, opened: &Opened, states: &WaitStates, explanation: &Explanation) -> Page {
    let command = command_line();
    let mut why = Section::new("Why ranks wait");
    why.add(cause_bars(answer, &command));
    why.add(causes(answer, &command));
    let mut how = Section::new("How and where they wait");
    how.add(patterns(answer, &command));
    how.add(functions(answer, &command));
    how.add(regions(answer, &command));
    how.add(ranks(answer, &command));
    let mut path = Section::new("What decides how long the run takes");
    path.text = vec![words::path_words(answer)];
    path.text.extend(answer.efficiency.as_ref().map(words::efficiency));
    path.add(path_activities(answer, &command));
    let sections = vec![why, how, path, when(opened, states, explanation, &command)];
    let program = &opened.trace.meta.program;
    let title = if program.is_empty() { &answer.trace } else { program };
    let mut page = report::page(format!("Waits of {title}"), vec![answer.sentence.clone()], sections);
    page.facts.add("Trace", &answer.trace);
    page.facts.add("Ranks", grouped(opened.trace.processes()));
    words::not_analysed(answer).iter().for_each(|note| page.facts.add("Note", note.trim()));
    page.warnings = answer.warnings.clone();
    page
}

fn when(opened: &Opened, states: &WaitStates, explanation: &Explanation, command: &str) -> Section {
    let shown = Shown::of(&opened.trace);
    let note = shown.note(&opened.trace);
    let synthetic = opened.is_synthetic();
    let mut when = Section::new("When they wait");
    let waits = timeline::waits(&opened.trace, states, shown);
    when.add(Chart::new("Waits by pattern", command, waits).with_note(note).synthetic(synthetic));
    let path = timeline::path(&explanation.critical_path, shown);
    let note = "The rank that decides how long the run takes, at every moment.";
    when.add(Chart::new("The critical path", command, path).with_note(note).synthetic(synthetic));
    when
}

fn cause_bars(answer: &Answer, command: &str) -> Chart {
    let bar = |cause: &CauseAnswer| {
        let value = cause.direct_seconds + cause.indirect_seconds;
        let share = percent(value / answer.waiting_seconds.max(f64::MIN_POSITIVE));
        let name = format!("rank {}: {}", cause.rank, cause.activity.activity);
        Bar { name, value, low: None, high: None, note: share }
    };
    let bars = answer.causes.iter().take(MOST_BARS).map(bar).collect();
    let plot = Bars { x: Axis::linear("time that others wait because of it", Unit::Seconds), bars };
    Chart::new("Causes of waiting", command, plot)
        .with_note("Shares are of all time that ranks wait.")
        .synthetic(answer.synthetic)
}

fn time_cell(value: f64) -> Cell {
    Cell::number(seconds(value), value)
}

fn count_cell(value: u64) -> Cell {
    Cell::number(grouped(value), value as f64)
}

fn share_cell(value: f64) -> Cell {
    Cell::number(percent(value), value)
}

fn table(title: &str, columns: &[&str], command: &str, note: &str) -> Table {
    let mut table = Table::new(title, columns);
    (table.command, table.note) = (command.into(), note.into());
    table
}

fn causes(answer: &Answer, command: &str) -> Table {
    let columns = ["others wait because", "#rank", "#direct", "#indirect", "#of waits"];
    let note =
        "Direct: others waited for this rank. Indirect: they waited for ranks that had waited because of it.";
    let mut table = table("Root causes", &columns, command, note);
    for cause in answer.causes.iter().take(MOST_ROWS) {
        let total = cause.direct_seconds + cause.indirect_seconds;
        table.row([
            Cell::text(cause.activity.activity.clone()),
            count_cell(cause.rank.into()),
            time_cell(cause.direct_seconds),
            time_cell(cause.indirect_seconds),
            share_cell(total / answer.waiting_seconds.max(f64::MIN_POSITIVE)),
        ]);
    }
    table
}

fn patterns(answer: &Answer, command: &str) -> Table {
    let mut table = table("Patterns", &["pattern", "#waits", "#time", "#of run"], command, "");
    for pattern in answer.patterns.iter().filter(|pattern| pattern.count > 0) {
        let name = if pattern.pattern == WRONG_ORDER {
            "late sender, in wrong order".into()
        } else {
            words::plain(pattern.pattern)
        };
        table.row([
            Cell::text(name),
            count_cell(pattern.count),
            time_cell(pattern.seconds),
            share_cell(answer.share(pattern.seconds)),
        ]);
    }
    table
}

fn functions(answer: &Answer, command: &str) -> Table {
    let mut table = table("Functions", &["function", "pattern", "#waits", "#time"], command, "");
    for function in &answer.functions {
        table.row([
            Cell::text(function.function),
            Cell::text(words::plain(function.waits.pattern)),
            count_cell(function.waits.count),
            time_cell(function.waits.seconds),
        ]);
    }
    table
}

fn regions(answer: &Answer, command: &str) -> Table {
    let columns = ["region", "#rank", "function", "pattern", "#waits", "#time"];
    let note = "A wait belongs to the innermost region that the program has marked.";
    let mut table = table("Regions", &columns, command, note);
    let rows = answer.regions.iter().flat_map(|region| region.waits.iter().map(move |wait| (region, wait)));
    for (region, wait) in rows.take(MOST_ROWS) {
        table.row([
            Cell::text(region.region.clone().unwrap_or_else(|| "(outside)".into())),
            count_cell(wait.rank.into()),
            Cell::text(wait.waits.function),
            Cell::text(words::plain(wait.waits.waits.pattern)),
            count_cell(wait.waits.waits.count),
            time_cell(wait.waits.waits.seconds),
        ]);
    }
    table
}

fn ranks(answer: &Answer, command: &str) -> Table {
    let columns =
        ["#rank", "#run", "#computes", "#waits", "#communicates", "#others wait for it", "#because of it"];
    let mut table = table("Ranks", &columns, command, "");
    for rank in &answer.ranks {
        let times = [
            rank.run_seconds,
            rank.computation_seconds,
            rank.waiting_seconds,
            rank.communication_seconds,
            rank.caused_seconds,
            rank.root_cause_seconds,
        ];
        table.row([count_cell(rank.rank.into())].into_iter().chain(times.map(time_cell)));
    }
    table
}

fn path_activities(answer: &Answer, command: &str) -> Table {
    let columns = ["on the critical path", "#time", "#share", "#mean of ranks", "#imbalance"];
    let note = "Imbalance is the time on the path beyond what a rank spends on average.";
    let mut table = table("The critical path", &columns, command, note);
    let path = &answer.critical_path;
    for one in path.activities.iter().take(MOST_ROWS) {
        table.row([
            Cell::text(one.activity.activity.clone()),
            time_cell(one.seconds),
            share_cell(one.seconds / path.seconds.max(f64::MIN_POSITIVE)),
            time_cell(one.mean_seconds),
            time_cell(one.imbalance_seconds),
        ]);
    }
    table
}
