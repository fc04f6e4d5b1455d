//! The page of a comparison of butterflies.

use super::{Answer, TrialAnswer, say};
use crate::commands::{command_line, report};
use straggler_model::Time;
use straggler_report::numbers::percent;
use straggler_report::page::{
    Axis, Bar, Bars, Cell, Chart, Distribution, Page, Sample, Section, Table, Unit,
};

pub fn page(answer: &Answer, synthetic: bool) -> Page {
    let command = command_line();
    let mut section = Section::new("What redundant exchanges win back");
    section.add(distribution(answer, &command).synthetic(synthetic));
    section.add(means(answer, &command).synthetic(synthetic));
    section.add(trials(answer, &command));
    let summary: Vec<String> = report::paragraphs(&say(answer)).into_iter().take(2).collect();
    section.text = summary.clone();
    let mut page = report::page("Redundant exchanges", summary, vec![section]);
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

fn distribution(answer: &Answer, command: &str) -> Chart {
    let sample = |(name, of): Case| {
        let mut times: Vec<u64> = answer.trials.iter().map(of).collect();
        times.sort_unstable();
        Sample { name: name.into(), values: times.into_iter().map(|ps| Time(ps).seconds()).collect() }
    };
    let plot = Distribution {
        x: Axis::linear("run time", Unit::Seconds),
        series: CASES.into_iter().map(sample).collect(),
    };
    Chart::new("Run times of the trials", command, plot)
        .with_note("Quiet: the same noise in computation, none in communication.")
}

fn means(answer: &Answer, command: &str) -> Chart {
    let cases =
        [("conventional", &answer.conventional), ("redundant", &answer.redundant), ("quiet", &answer.quiet)];
    let bar = |(name, case): (&str, &super::CaseAnswer)| Bar {
        name: name.into(),
        value: case.makespan_ps_mean * 1e-12,
        low: None,
        high: None,
        note: format!("{:.0} messages", case.messages_mean),
    };
    let plot =
        Bars { x: Axis::linear("mean run time", Unit::Seconds), bars: cases.into_iter().map(bar).collect() };
    Chart::new("Mean run times", command, plot)
}

fn trials(answer: &Answer, command: &str) -> Table {
    let columns = ["#trial", "#conventional", "#redundant", "#quiet", "#won back"];
    let mut table = Table::new("Trials", &columns);
    table.command = command.into();
    for trial in &answer.trials {
        let times = CASES.map(|(_, of)| {
            let time = Time(of(trial));
            Cell::number(time.to_string(), time.seconds())
        });
        let ratio = trial.ratio.map_or_else(|| Cell::text(""), |ratio| Cell::number(percent(ratio), ratio));
        let number = Cell::number(trial.replica.to_string(), trial.replica.into());
        table.row([number].into_iter().chain(times).chain([ratio]));
    }
    table
}
