//! The page of a comparison.

use super::Answer;
use crate::commands::command_line;
use crate::commands::report::{self, is_synthetic};
use straggler_analysis::noise::durations::{sorted_durations, sorted_gaps};
use straggler_model::Time;
use straggler_model::noise::Recording;
use straggler_report::numbers::{grouped, percent};
use straggler_report::page::{Axis, Cell, Chart, Distribution, Page, Sample, Scale, Section, Table, Unit};

pub fn page(answer: &Answer, both: [&Recording; 2], names: [String; 2]) -> Page {
    let command = command_line();
    let synthetic = both.iter().any(|recording| is_synthetic(recording));
    let mut section = Section::new("Comparison");
    section.text = vec![format!("A is {}.", names[0]), format!("B is {}.", names[1]), answer.verdict.clone()];
    for (title, label, sorted) in [
        ("How long detours are", "duration of the detour", sorted_durations as fn(&Recording) -> Vec<u64>),
        ("How far apart they are", "from one detour to the next", sorted_gaps),
    ] {
        let sample = |(name, recording): (&str, &Recording)| Sample {
            name: name.into(),
            values: sorted(recording).into_iter().map(|ps| Time(ps).seconds()).collect(),
        };
        let series = ["A", "B"].into_iter().zip(both).map(sample).collect();
        let x = Axis::new(label, Unit::Seconds, Scale::Log10);
        section.add(Chart::new(title, &command, Distribution { x, series }).synthetic(synthetic));
    }
    section.add(sources(answer, &command));
    report::page("Two noises compared", vec![answer.verdict.clone()], vec![section])
}

fn sources(answer: &Answer, command: &str) -> Table {
    let columns = ["source", "#detours of A", "#of B", "#overhead of A", "#of B"];
    let mut table = Table::new("Sources", &columns);
    table.command = command.into();
    for source in &answer.comparison.sources {
        let events = source.events.map(|count| Cell::number(grouped(count), count as f64));
        let overheads = source.overheads.map(|share| Cell::number(percent(share), share));
        table.row([Cell::text(&source.name)].into_iter().chain(events).chain(overheads));
    }
    table
}
