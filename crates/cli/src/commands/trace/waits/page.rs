//! The page of a run's waits.

use super::answer::{CauseAnswer, WaitsAnswer};
use super::{tables, words};
use crate::inputs::trace::Opened;
use crate::invocation::command_line;
use crate::pages;
use crate::pages::waits::{self as timeline, Shown};
use straggler_analysis::waits::{Explanation, WaitStates};
use straggler_report::numbers::{grouped, percent};
use straggler_report::page::{Axis, Bar, Bars, Chart, Page, Section, Unit};

/// Most bars of a chart, and most rows of long tables.
const MOST_BARS: usize = 12;
const MOST_ROWS: usize = 1000;

pub fn page(answer: &WaitsAnswer, opened: &Opened, states: &WaitStates, explanation: &Explanation) -> Page {
    let command = command_line();
    let mut why = Section::new("Why ranks wait");
    why.add(cause_bars(answer, &command));
    let causes = tables::causes(answer, MOST_ROWS).titled("Root causes", &command);
    why.add(causes.with_note(
        "Direct: others waited for this rank. Indirect: they waited for ranks that had waited because of it.",
    ));
    let mut how = Section::new("Waits by kind and place");
    how.add(tables::patterns(answer).titled("Patterns", &command));
    how.add(tables::functions(&answer.functions).titled("Functions", &command));
    let regions = tables::waits_of_regions(answer, MOST_ROWS).titled("Regions", &command);
    how.add(regions.with_note("A wait belongs to the innermost region marked by the program."));
    how.add(tables::ranks(&answer.ranks).titled("Ranks", &command));
    let mut path = Section::new("Critical path");
    path.text = vec![words::path_words(answer)];
    path.text.extend(answer.efficiency.as_ref().map(words::efficiency));
    let activities = tables::critical_path(answer, MOST_ROWS).titled("The critical path", &command);
    path.add(activities.with_note("Imbalance is the time on the path beyond what a rank spends on average."));
    let sections = vec![why, how, path, when(opened, states, explanation, &command)];
    let program = &opened.trace.meta.program;
    let title = if program.is_empty() { &answer.trace } else { program };
    let mut page = pages::page(format!("Waits of {title}"), vec![answer.sentence.clone()], sections);
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
    let mut when = Section::new("Waits over time");
    let waits = timeline::waits(&opened.trace, states, shown);
    when.add(Chart::new("Waits by pattern", command, waits).with_note(note).synthetic(synthetic));
    let path = timeline::path(&explanation.critical_path, shown);
    let note = "At every moment, the rank that determines the run time.";
    when.add(Chart::new("The critical path", command, path).with_note(note).synthetic(synthetic));
    when
}

fn cause_bars(answer: &WaitsAnswer, command: &str) -> Chart {
    let bar = |cause: &CauseAnswer| {
        let value = cause.direct_seconds + cause.indirect_seconds;
        let share = percent(value / answer.waiting_seconds.max(f64::MIN_POSITIVE));
        let name = format!("rank {}: {}", cause.rank, cause.activity.activity);
        Bar { name, value, low: None, high: None, note: share }
    };
    let bars = answer.causes.iter().take(MOST_BARS).map(bar).collect();
    let plot = Bars { x: Axis::linear("waiting time caused on other ranks", Unit::Seconds), bars };
    Chart::new("Causes of waiting", command, plot)
        .with_note("Shares are of the total waiting time.")
        .synthetic(answer.synthetic)
}
