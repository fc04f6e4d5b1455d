//! The tables of `straggler whatif`, for the terminal and for the page.

use crate::whatif::answer::{HypothesisAnswer, WhatIfAnswer};
use crate::whatif::waits::RunWaits;
use straggler_report::{Cell, Columns, Table};

/// Hypotheses with a separate column.
const MOST_COLUMNS: usize = 3;

#[derive(Clone, Copy)]
struct Run<'a> {
    name: &'a str,
    ps: u64,
    gain: Option<f64>,
    waits: &'a RunWaits,
    /// Decisions that differ from the trace.
    decided: Option<u64>,
}

/// The measured run, the baseline and the hypotheses side by side, the largest gain first.
pub fn runs(answer: &WhatIfAnswer, sorted: &[&HypothesisAnswer]) -> Table {
    let of = |name, ps, waits| Run { name, ps, gain: None, waits, decided: None };
    let own = answer.identity_decisions.iter().map(|decision| decision.count).sum();
    let measured = of("measured", answer.measured_ps, &answer.waits.measured);
    let identity = Run { decided: Some(own), ..of("baseline", answer.identity_ps, &answer.waits.identity) };
    let hypotheses = sorted.iter().map(|one| Run {
        name: &one.hypothesis,
        ps: one.hypothesis_ps,
        gain: Some(one.gain),
        waits: &one.waits,
        decided: Some(one.decisions_changed),
    });
    let replayed = answer.replayed.as_ref().map(|run| of("replayed", run.replayed_ps, &run.waits));
    Columns::over([measured, identity].into_iter().chain(hypotheses).chain(replayed))
        .text("run", |run| run.name)
        .number("time", |run| Cell::seconds(run.ps as f64 * 1e-12))
        .number("change", |run| run.gain.map(|gain| Cell::slowdown(-gain)))
        .number("computation", |run| Cell::seconds(run.waits.computation_seconds))
        .number("waiting", |run| Cell::seconds(run.waits.waiting_seconds))
        .number("other MPI time", |run| Cell::seconds(run.waits.communication_seconds))
        .number("decisions that differ", |run| run.decided.map(Cell::count))
        .build()
}

/// Patterns that occur in any of the runs.
pub fn patterns(answer: &WhatIfAnswer, sorted: &[&HypothesisAnswer]) -> Table {
    let shown = &sorted[..sorted.len().min(MOST_COLUMNS)];
    let mut runs: Vec<(String, &RunWaits)> =
        vec![("measured".into(), &answer.waits.measured), ("baseline".into(), &answer.waits.identity)];
    runs.extend((1..).zip(shown).map(|(number, one)| match sorted.len() {
        1 => ("hypothesis".into(), &one.waits),
        _ => (format!("{number}. {}", one.hypothesis), &one.waits),
    }));
    runs.extend(answer.replayed.as_ref().map(|run| ("replayed".into(), &run.waits)));
    let names = answer.waits.measured.patterns.iter().map(|one| one.pattern);
    let occurs = |name: &&str| runs.iter().any(|(_, run)| run.seconds_of(name) > 0.0);
    let named = Columns::over(names.filter(occurs))
        .text("waits", |name| name.replace("nxn", "NxN").replace('_', " "));
    let of_run = |columns: Columns<&'static str>, (title, run): (String, &RunWaits)| {
        columns.number(title, |name| Cell::seconds(run.seconds_of(name)))
    };
    named.each(runs, of_run).build()
}

pub fn decisions(sorted: &[&HypothesisAnswer]) -> Table {
    let rows = sorted.iter().flat_map(|&one| one.decisions.iter().map(move |decision| (one, decision)));
    Columns::over(rows)
        .text("run", |(one, _)| &one.hypothesis)
        .number("rank", |(_, decision)| Cell::id(decision.rank))
        .text("function", |(_, decision)| decision.function)
        .text("what", |(_, decision)| decision.kind.replace('_', " "))
        .number("count", |(_, decision)| Cell::count(decision.count))
        .build()
}
