//! The page of a comparison.

use crate::kernel::{command_line, pages};
use crate::noise::compare::{CompareNoiseAnswer, table_of_sources};
use crate::noise::page::is_synthetic;
use straggler_analysis::noise::durations::{sorted_durations, sorted_gaps};
use straggler_model::Time;
use straggler_noise::NoiseRecording;
use straggler_report::page::{Axis, Chart, Distribution, Page, Sample, Scale, Section, Unit};

pub fn page(answer: &CompareNoiseAnswer, both: [&NoiseRecording; 2], names: [String; 2]) -> Page {
    let command = command_line();
    let synthetic = both.iter().any(|recording| is_synthetic(recording));
    let mut section = Section::new("Comparison");
    section.text = vec![format!("A is {}.", names[0]), format!("B is {}.", names[1])];
    for (title, label, sorted) in [
        (
            "How long detours are",
            "duration of the detour",
            sorted_durations as fn(&NoiseRecording) -> Vec<u64>,
        ),
        ("How far apart they are", "from one detour to the next", sorted_gaps),
    ] {
        let sample = |(name, recording): (&str, &NoiseRecording)| Sample {
            name: name.into(),
            values: sorted(recording).into_iter().map(|ps| Time(ps).seconds()).collect(),
            sum: false,
        };
        let series = ["A", "B"].into_iter().zip(both).map(sample).collect();
        let x = Axis::new(label, Unit::Seconds, Scale::Log10);
        section.add(
            Chart::new(title, &command, Distribution { x, series, marks: Vec::new() }).synthetic(synthetic),
        );
    }
    section.add(table_of_sources(&answer.comparison.sources).titled("Sources", &command));
    pages::page("Two noise recordings compared", vec![answer.verdict.clone()], vec![section])
}
