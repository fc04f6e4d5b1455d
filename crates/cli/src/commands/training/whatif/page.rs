//! The page of a changed job.

use super::TrainingWhatIfAnswer;
use crate::invocation::command_line;
use crate::pages;
use straggler_report::page::{Axis, Chart, Distribution, Line, Lines, Page, Role, Sample, Section, Unit};

pub fn page(answer: &TrainingWhatIfAnswer) -> Page {
    let command = command_line();
    let mut section = Section::new("Changes");
    let copies = if answer.copies > 1 { format!(" in {} copies", answer.copies) } else { String::new() };
    section.text.push(format!("In this job{copies}: {}.", answer.changes.join("; ")));
    let line = |name: &str, role: Role, place: usize| Line {
        name: name.into(),
        role,
        x: answer.by_step.keys().map(|&number| number as f64).collect(),
        y: answer.by_step.values().map(|both| both[place]).collect(),
        ..Line::default()
    };
    let lines = Lines {
        x: Axis::linear("step", Unit::Count),
        y: Axis::linear("time", Unit::Seconds),
        series: vec![line("recorded", Role::Measured, 0), line("changed", Role::Simulated, 1)],
        marks: Vec::new(),
    };
    let title = if answer.draws > 1 { "Steps; changed steps are means over the draws" } else { "Steps" };
    section.add(Chart::new(title, &command, lines).synthetic(answer.synthetic));
    if answer.draws > 1 {
        let distribution = Distribution {
            x: Axis::linear("time of the steps, changed over recorded", Unit::Factor),
            series: vec![Sample {
                name: format!("{} draws", answer.draws),
                values: answer.sorted.clone(),
                sum: false,
            }],
        };
        section
            .add(Chart::new("Slowdown over the draws", &command, distribution).synthetic(answer.synthetic));
    }
    let title = format!("The training job {}, changed", answer.source);
    let mut page = pages::page(title, vec![answer.verdict.clone()], vec![section]);
    page.warnings = answer.warnings.clone();
    page
}
