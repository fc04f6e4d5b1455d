//! The page of a comparison: the verdict, the runs side by side, and when ranks wait before and after.

use super::Results;
use super::answer::{Answer, HypothesisAnswer, RunWaits};
use super::words;
use crate::commands::trace::waits::timeline::{Run, Shown, beside};
use crate::commands::{command_line, report};
use straggler_report::numbers::{grouped, percent, seconds};
use straggler_report::page::{Axis, Bar, Bars, Cell, Chart, Page, Section, Table, Unit};
use straggler_trace::Trace;

/// Hypotheses in a chart or with a column of their own.
const MOST_BARS: usize = 20;
const MOST_COLUMNS: usize = 3;

pub fn page(answer: &Answer, results: &Results) -> Page {
    let command = command_line();
    let sorted = answer.sorted();
    let mut gains = Section::new("What the run would take");
    gains.text.extend(answer.efficiency.as_ref().map(words::efficiency));
    if sorted.len() > 1 {
        gains.add(gain_bars(answer, &sorted, &command));
    }
    gains.add(runs(answer, &sorted, &command));
    let mut waits = Section::new("Waits");
    waits.add(patterns(answer, &sorted, &command));
    if sorted.iter().any(|one| !one.decisions.is_empty()) {
        waits.add(decisions(&sorted, &command));
    }
    let mut sections = vec![gains, waits];
    sections.extend(when(answer, results, &command));
    let title = if answer.program.is_empty() { &answer.trace } else { &answer.program };
    let sentence = words::sentence(answer, &sorted).lines().map(str::to_owned).collect();
    let mut page = report::page(format!("What if: {title}"), sentence, sections);
    page.facts.add("Trace", &answer.trace);
    page.facts.add("Ranks", grouped(answer.processes));
    page.facts.add("Decisions", answer.mode);
    answer.notes.iter().for_each(|note| page.facts.add("Note", note));
    answer.skipped.iter().for_each(|one| page.facts.add("Not simulated", &one.hypothesis));
    page.warnings = answer.warnings.clone();
    page
}

fn time_cell(value: f64) -> Cell {
    Cell::number(seconds(value), value)
}

fn gain_bars(answer: &Answer, sorted: &[&HypothesisAnswer], command: &str) -> Chart {
    let bar = |one: &&HypothesisAnswer| Bar {
        name: one.hypothesis.clone(),
        value: one.hypothesis_ps as f64 * 1e-12,
        low: None,
        high: None,
        note: percent(one.gain),
    };
    let bars = sorted.iter().take(MOST_BARS).map(bar).collect();
    let plot = Bars { x: Axis::linear("run time", Unit::Seconds), bars };
    let instead = seconds(answer.identity_ps as f64 * 1e-12);
    Chart::new("Run time by hypothesis", command, plot)
        .with_note(format!("Simulated as it was, the run takes {instead}. Shares are gains against that."))
        .synthetic(answer.synthetic)
}

fn runs(answer: &Answer, sorted: &[&HypothesisAnswer], command: &str) -> Table {
    let columns =
        ["run", "#time", "#gain", "#computation", "#waiting", "#in MPI otherwise", "#decisions that differ"];
    let mut table = Table::new("Runs", &columns);
    table.command = command.into();
    table.note = "Computation, waiting and MPI are of all ranks together.".into();
    let mut row = |name: &str, ps: u64, gain: Option<f64>, waits: &RunWaits, decided: Option<u64>| {
        table.row([
            Cell::text(name),
            time_cell(ps as f64 * 1e-12),
            gain.map_or(Cell::text(""), |gain| Cell::number(percent(gain), gain)),
            time_cell(waits.computation_seconds),
            time_cell(waits.waiting_seconds),
            time_cell(waits.communication_seconds),
            decided.map_or(Cell::text(""), |count| Cell::number(grouped(count), count as f64)),
        ]);
    };
    row("measured", answer.measured_ps, None, &answer.waits.measured, None);
    let own = answer.identity_decisions.iter().map(|decision| decision.count).sum();
    row("identity", answer.identity_ps, None, &answer.waits.identity, Some(own));
    for one in sorted {
        row(&one.hypothesis, one.hypothesis_ps, Some(one.gain), &one.waits, Some(one.decisions_changed));
    }
    if let Some(run) = &answer.replayed {
        row("replayed", run.replayed_ps, None, &run.waits, None);
    }
    table
}

fn patterns(answer: &Answer, sorted: &[&HypothesisAnswer], command: &str) -> Table {
    let shown = &sorted[..sorted.len().min(MOST_COLUMNS)];
    let mut columns = vec!["waits".to_owned(), "#measured".into(), "#identity".into()];
    columns.extend(shown.iter().map(|one| format!("#{}", one.hypothesis)));
    columns.extend(answer.replayed.as_ref().map(|_| "#replayed".to_owned()));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new("Wait states", &columns);
    table.command = command.into();
    table.note = "Time of all ranks together.".into();
    let runs = [&answer.waits.measured, &answer.waits.identity];
    let runs = runs.into_iter().chain(shown.iter().map(|one| &one.waits));
    let runs: Vec<&RunWaits> = runs.chain(answer.replayed.as_ref().map(|run| &run.waits)).collect();
    for pattern in &answer.waits.measured.patterns {
        let times: Vec<f64> = runs.iter().map(|run| run.seconds_of(pattern.pattern)).collect();
        if times.iter().any(|&time| time > 0.0) {
            let name = Cell::text(pattern.pattern.replace("nxn", "NxN").replace('_', " "));
            table.row([name].into_iter().chain(times.into_iter().map(time_cell)));
        }
    }
    table
}

fn decisions(sorted: &[&HypothesisAnswer], command: &str) -> Table {
    let mut table =
        Table::new("Decisions that differ from the trace", &["run", "#rank", "function", "what", "#count"]);
    table.command = command.into();
    for one in sorted {
        for decision in &one.decisions {
            table.row([
                Cell::text(one.hypothesis.clone()),
                Cell::number(grouped(decision.rank), f64::from(decision.rank)),
                Cell::text(decision.function),
                Cell::text(decision.kind.replace('_', " ")),
                Cell::number(grouped(decision.count), decision.count as f64),
            ]);
        }
    }
    table
}

/// The run as it was and with the best hypothesis, on one axis.
fn when(answer: &Answer, results: &Results, command: &str) -> Option<Section> {
    let kept = |trace: &Trace| !trace.ranks.is_empty();
    let best = results.hypotheses.iter().find(|one| kept(&one.scenario.trace))?;
    let identity = &results.identity;
    let shown = Shown::of(&identity.trace);
    let runs = [
        Run { name: "as it was", trace: &identity.trace, states: &identity.waits },
        Run { name: "changed", trace: &best.scenario.trace, states: &best.scenario.waits },
    ];
    let note = shown.note(&identity.trace);
    let mut when = Section::new("Before and after");
    when.text = vec![format!("Each rank as it was simulated, and below it with {}.", best.text)];
    let chart = Chart::new("Waits before and after", command, beside(&runs, shown));
    when.add(chart.with_note(note).synthetic(answer.synthetic));
    Some(when)
}
