//! The page of a comparison of butterflies.

use crate::kernel::invocation::command_line;
use crate::kernel::pages;
use crate::papers::redundancy::{RedundancyAnswer, TrialAnswer, cases, summary};
use straggler_model::Time;
use straggler_report::page::{Axis, Bar, Bars, Chart, Distribution, Page, Sample, Section, Unit};
use straggler_report::{Cell, Columns, Table};

pub fn page(answer: &RedundancyAnswer, synthetic: bool) -> Page {
    let command = command_line();
    let mut section = Section::new("Gain from redundant exchanges");
    section.add(distribution(answer, &command).synthetic(synthetic));
    section.add(means(answer, &command).synthetic(synthetic));
    section.add(cases(answer).titled("Means of the trials", &command));
    section.add(trials(answer).titled("Trials", &command));
    let summary = pages::paragraphs(&summary(answer)).into_iter().take(2).collect();
    let mut page = pages::page("Redundant exchanges", summary, vec![section]);
    page.facts.add("Network", &answer.network.name);
    page.facts.add("Noise", &answer.noise);
    page.facts.add("Seed", answer.seed.to_string());
    page
}

type Case = (&'static str, fn(&TrialAnswer) -> u64);

const CASES: [Case; 3] = [
    ("conventional", |trial| trial.conventional_ps),
    ("redundant", |trial| trial.redundant_ps),
    ("quiet", |trial| trial.quiet_ps),
];

fn distribution(answer: &RedundancyAnswer, command: &str) -> Chart {
    let sample = |(name, of): Case| {
        let mut times: Vec<u64> = answer.trials.iter().map(of).collect();
        times.sort_unstable();
        Sample {
            name: name.into(),
            values: times.into_iter().map(|ps| Time(ps).seconds()).collect(),
            sum: false,
        }
    };
    let plot = Distribution {
        x: Axis::linear("run time", Unit::Seconds),
        series: CASES.into_iter().map(sample).collect(),
        marks: Vec::new(),
    };
    Chart::new("Run times of the trials", command, plot)
        .with_note("Quiet: the same noise in computation, none in communication.")
}

fn means(answer: &RedundancyAnswer, command: &str) -> Chart {
    let cases =
        [("conventional", &answer.conventional), ("redundant", &answer.redundant), ("quiet", &answer.quiet)];
    let bar = |(name, case): (&str, &crate::papers::redundancy::CaseAnswer)| Bar {
        name: name.into(),
        value: case.makespan_ps_mean * 1e-12,
        note: format!("{:.0} messages", case.messages_mean),
        ..Bar::default()
    };
    let plot =
        Bars { x: Axis::linear("mean run time", Unit::Seconds), bars: cases.into_iter().map(bar).collect() };
    Chart::new("Mean run times", command, plot)
}

fn trials(answer: &RedundancyAnswer) -> Table {
    Columns::over(&answer.trials)
        .number("trial", |row| Cell::id(row.replica))
        .each(CASES, |columns, (name, of)| columns.number(name, |row| Cell::ps(of(row))))
        .number("recovered", |row| row.ratio.map(Cell::share))
        .build()
}
