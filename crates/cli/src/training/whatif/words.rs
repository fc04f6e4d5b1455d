//! A changed job as text.

use crate::kernel::prelude::*;
use crate::training::page::excess;
use crate::training::whatif::{Quantiles, TrainingWhatIfAnswer};
use straggler_report::numbers::{self, NO_LONGER, longer, longer_range};
use straggler_report::page::{Distribution, Line, Lines, Role, Sample};
use straggler_training::whatif::{Effect, Fault, Scenario, Whom};

/// Smaller relative changes of the step time count as none.
const HARDLY: f64 = 0.0005;

/// The changes, each as a sentence without its full stop.
pub fn changes(scenario: &Scenario) -> Vec<String> {
    let sources = scenario.noise.iter().flat_map(|noise| &noise.sources);
    let noises = sources.map(|source| format!("noise disturbs all workers: {}", source.name));
    scenario.faults.iter().map(change).chain(noises).collect()
}

fn change(fault: &Fault) -> String {
    let who = match fault.whom {
        Whom::Rank(rank) => format!("rank {rank}"),
        Whom::Any => "one worker, drawn again each time,".into(),
        Whom::Each(1.0) => "every worker".into(),
        Whom::Each(probability) => format!("each worker, with a probability of {},", percent(probability)),
    };
    let what = match fault.what {
        Effect::Slow(times) => format!("computes {} times as long", significant(times)),
        Effect::Link { times, with: None } => {
            format!("needs {} times as long for its transfers", significant(times))
        }
        Effect::Link { times, with: Some(other) } => {
            format!("needs {} times as long for transfers with rank {other}", significant(times))
        }
        Effect::Stall(late) => {
            let late = Time(late.unsigned_abs());
            format!("has a host that stalls for {late} in every step")
        }
        Effect::Lost => "is lost, and the job continues without its data-parallel rank".into(),
        Effect::Repaired => "is as fast as typical workers of its stage".into(),
    };
    let since = fault.from_step.map(|step| format!(" from step {step} on")).unwrap_or_default();
    format!("{who} {what}{since}")
}

pub fn verdict(answer: &TrainingWhatIfAnswer) -> String {
    let (before, after) = (seconds(answer.step_seconds), seconds(answer.changed_seconds));
    let slowdown = answer.slowdown;
    let step = match answer.from_step {
        Some(number) => format!("From step {number} on, a step takes"),
        None => "A step takes".into(),
    };
    let mut text = match answer.slowdowns {
        _ if answer.changes.is_empty() => format!("Only copies are added: a step takes {after}."),
        _ if !answer.hits => format!("No worker is hit: a step takes {before}, as before."),
        _ if !answer.differs => {
            format!("{step} {before}, as before: the change leaves all times as they were recorded.")
        }
        Some(of_draws) => {
            let (draws, spread) = (answer.draws, spread(of_draws));
            match longer(excess(slowdown)).as_str() {
                NO_LONGER => format!("{step} {after} in the mean of {draws} draws, as before. {spread}"),
                more => {
                    format!(
                        "{step} {after} instead of {before} in the mean of {draws} draws, {more}. {spread}"
                    )
                }
            }
        }
        None if (slowdown - 1.0).abs() < HARDLY => {
            format!("{step} {before}, as before: nothing that decides its length has changed.")
        }
        None => format!("{step} {after} instead of {before}, {}.", longer(excess(slowdown))),
    };
    if answer.samples < 1.0 {
        text.push_str(&format!(
            " It trains {} of the samples, so the same number of samples takes {}.",
            percent(answer.samples),
            longer(excess(answer.slowdown_per_sample))
        ));
    }
    text
}

/// How the draws differ.
fn spread(Quantiles { p5, p95, max, .. }: Quantiles) -> String {
    let (usual, worst) = (longer_range(excess(p5), excess(p95)), longer(excess(max)));
    if usual == worst {
        return "The draws hardly differ.".into();
    }
    let worst = if worst == NO_LONGER { "as long as before" } else { &worst };
    format!("In 90 % of draws it takes {usual}; the worst is {worst}.")
}

pub fn summary(answer: &TrainingWhatIfAnswer, written: Option<&Path>) -> String {
    let mut text = format!("{}\n", answer.verdict);
    if answer.synthetic {
        text.push_str("The job is synthetic: generated or changed, not recorded.\n");
    }
    let copies = if answer.copies > 1 { format!(" in {} copies", answer.copies) } else { String::new() };
    text.push_str(&format!(
        "{}{copies}: {}, {}. Changed:\n",
        answer.source,
        counted(answer.workers as u64, "worker", "workers"),
        counted(answer.steps as u64, "step", "steps")
    ));
    if answer.copies > 1 {
        text.push_str("  ranks of a copy follow those of the previous copy\n");
    }
    answer.changes.iter().for_each(|change| text.push_str(&format!("  {change}\n")));
    if !answer.worst.is_empty() {
        text.push_str(&format!("\n{}", worst(answer)));
    }
    if (answer.slowdown - 1.0).abs() >= HARDLY {
        text.push_str(&format!("\n{}", by_step(answer)));
    }
    if let Some(path) = written {
        text.push_str(&format!(
            "\nThe changed job{1} is in {0}.\nView it with: straggler training show {2}\n",
            path.display(),
            if answer.draws > 1 { " of the first draw" } else { "" },
            path.display()
        ));
    }
    text
}

fn worst(answer: &TrainingWhatIfAnswer) -> Table {
    let mut table = Table::with_header(["worst draws", "slowdown", "hit"]);
    for one in &answer.worst {
        let shown: Vec<String> = one.ranks.iter().take(8).map(u32::to_string).collect();
        let more = one.ranks.len().saturating_sub(shown.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let hit = match shown.len() {
            0 => "nobody".into(),
            1 => format!("rank {}", shown[0]),
            _ => format!("ranks {}{more}", shown.join(", ")),
        };
        table.row([one.draw.to_string(), numbers::slowdown(excess(one.slowdown)), hit]);
    }
    table
}

/// The steps that change most.
fn by_step(answer: &TrainingWhatIfAnswer) -> Table {
    let changes = |both: &[f64; 2]| (both[1] - both[0]).abs() > 1e-9 * both[0];
    let mut steps: Vec<(&i64, &[f64; 2])> = answer.by_step.iter().filter(|(_, both)| changes(both)).collect();
    steps.sort_by(|a, b| (b.1[1] - b.1[0]).abs().total_cmp(&(a.1[1] - a.1[0]).abs()).then(a.0.cmp(b.0)));
    steps.truncate(5);
    steps.sort_by_key(|(number, _)| **number);
    let mut table = Table::with_header(["steps that change most", "recorded", "changed", "change"]);
    for (number, [before, after]) in steps {
        let slowdown = if *before > 0.0 { numbers::slowdown(excess(after / before)) } else { String::new() };
        table.row([number.to_string(), seconds(*before), seconds(*after), slowdown]);
    }
    table
}

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
            marks: Vec::new(),
        };
        section
            .add(Chart::new("Slowdown over the draws", &command, distribution).synthetic(answer.synthetic));
    }
    let title = format!("The training job {}, changed", answer.source);
    let mut page = pages::page(title, vec![answer.verdict.clone()], vec![section]);
    page.warnings = answer.warnings.clone();
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_compared_with_the_recorded_job() {
        let said = |p5: f64, p95: f64, max: f64| spread(Quantiles { p5, p50: p5, p95, max });
        assert_eq!(
            said(1.05, 1.17, 2.4),
            "In 90 % of draws it takes 5 % to 17 % longer; the worst is 2.40 times as long."
        );
        assert_eq!(
            said(0.84, 1.0, 1.0),
            "In 90 % of draws it takes up to 16 % less; the worst is as long as before."
        );
        assert_eq!(said(1.0951, 1.0952, 1.0952), "The draws hardly differ.");
    }
}
