//! `straggler trace waits`: who waited for whom, and why.

mod answer;
mod page;
mod sentence;
pub mod timeline;
mod words;

use super::open_trace;
use crate::args::trace::Waits;
use crate::commands::{refuse_unwritable, report};
use crate::console::Console;
use crate::exit::Outcome;
use answer::Answer;
use straggler_analysis::waits::{Explanation, WaitStates};

pub fn run(typed: &Waits, console: &Console) -> Outcome<()> {
    typed.report.report.as_deref().map_or(Ok(()), refuse_unwritable)?;
    let opened = open_trace(&typed.trace)?;
    opened.warn_of_errors(&typed.trace, console);
    let states = WaitStates::of(&opened.trace);
    let explanation = Explanation::of(&opened.trace, &states);
    let answer = Answer::of(&typed.trace, &opened, &states, &explanation);
    report::write_asked(typed.report.report.as_ref(), console, || {
        page::page(&answer, &opened, &states, &explanation)
    })?;
    if console.json { console.print_json(&answer) } else { console.print(&words::words(&answer)) }
}
