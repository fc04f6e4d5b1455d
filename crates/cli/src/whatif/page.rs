//! The page of a comparison: the verdict, the runs side by side, and when ranks wait before and after.

use crate::kernel::{command_line, pages};
use crate::trace::waits::page::{Run, Shown, beside};
use crate::whatif::answer::{HypothesisAnswer, WhatIfAnswer};
use crate::whatif::{Results, words};
use straggler_report::numbers::{grouped, seconds, slowdown};
use straggler_report::page::{Axis, Bar, Bars, Chart, Page, Section, Unit};
use straggler_trace::Trace;

/// Hypotheses shown in a chart.
const MOST_BARS: usize = 20;

pub fn page(answer: &WhatIfAnswer, results: &Results) -> Page {
    let command = command_line();
    let sorted = answer.sorted();
    let mut gains = Section::new("Simulated run time");
    gains.text.extend(answer.efficiency.as_ref().map(words::efficiency));
    if sorted.len() > 1 {
        gains.add(gain_bars(answer, &sorted, &command));
    }
    let runs = words::runs(answer, &sorted).titled("Runs", &command);
    gains.add(runs.with_note("Computation, waiting and MPI are summed over all ranks."));
    let mut waits = Section::new("Waits");
    let patterns = words::patterns(answer, &sorted).titled("Wait states", &command);
    waits.add(patterns.with_note("Time summed over all ranks."));
    if sorted.iter().any(|one| !one.decisions.is_empty()) {
        waits.add(words::decisions(&sorted).titled("Decisions that differ from the trace", &command));
    }
    let mut sections = vec![gains, waits];
    sections.extend(when(answer, results, &command));
    let title = if answer.program.is_empty() { &answer.trace } else { &answer.program };
    let sentence = words::sentence(answer, &sorted).lines().map(str::to_owned).collect();
    let mut page = pages::page(format!("What if: {title}"), sentence, sections);
    page.facts.add("Trace", &answer.trace);
    page.facts.add("Ranks", grouped(answer.processes));
    page.facts.add("Decisions", answer.mode);
    answer.skipped.iter().for_each(|one| page.facts.add("Not simulated", &one.hypothesis));
    page.warnings = answer.warnings.clone();
    page.notes = answer.notes.clone();
    page
}

fn gain_bars(answer: &WhatIfAnswer, sorted: &[&HypothesisAnswer], command: &str) -> Chart {
    let bar = |one: &&HypothesisAnswer| Bar {
        name: one.hypothesis.clone(),
        value: one.hypothesis_ps as f64 * 1e-12,
        note: slowdown(-one.gain),
        ..Bar::default()
    };
    let bars = sorted.iter().take(MOST_BARS).map(bar).collect();
    let plot = Bars { x: Axis::linear("run time", Unit::Seconds), bars };
    let instead = seconds(answer.identity_ps as f64 * 1e-12);
    Chart::new("Run time by hypothesis", command, plot)
        .with_note(format!("Simulated unchanged, the run takes {instead}. Changes are relative to that."))
        .synthetic(answer.synthetic)
}

/// The unchanged run and the best hypothesis, on one axis.
fn when(answer: &WhatIfAnswer, results: &Results, command: &str) -> Option<Section> {
    let kept = |trace: &Trace| !trace.ranks.is_empty();
    let best = results.hypotheses.iter().find(|one| kept(&one.scenario.trace))?;
    let identity = &results.identity;
    let shown = Shown::new(&identity.trace);
    let runs = [
        Run { name: "unchanged", trace: &identity.trace, states: &identity.waits },
        Run { name: "changed", trace: &best.scenario.trace, states: &best.scenario.waits },
    ];
    let note = shown.note(&identity.trace);
    let mut when = Section::new("Before and after");
    when.text = vec![format!("Each rank simulated unchanged, and below it with {}.", best.text)];
    let chart = Chart::new("Waits before and after", command, beside(&runs, shown));
    when.add(chart.with_note(note).synthetic(answer.synthetic));
    Some(when)
}
