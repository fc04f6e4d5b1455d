//! `straggler trace waits`: which ranks waited for which, and why.

mod answer;
mod page;
mod sentence;
mod tables;
mod words;

use crate::args::trace::Waits;
use crate::console::Console;
use crate::exit::Outcome;
use crate::inputs::trace::{Work, open_trace_for};
use crate::pages;
use answer::WaitsAnswer;
use straggler_analysis::waits::{Explanation, WaitStates};

pub fn run(typed: &Waits, console: &Console) -> Outcome<()> {
    let opened = open_trace_for(&typed.trace, Work::Waits)?;
    let states = WaitStates::of(&opened.trace);
    let explanation = Explanation::of(&opened.trace, &states);
    let answer = WaitsAnswer::of(&typed.trace, &opened, &states, &explanation);
    answer.warnings.iter().for_each(|warning| console.warn(warning));
    pages::write_asked(typed.report.report.as_ref(), console, || {
        page::page(&answer, &opened, &states, &explanation)
    })?;
    if console.json { console.print_json(&answer) } else { console.print(&words::words(&answer)) }
}
