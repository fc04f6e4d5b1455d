//! Timelines as pages.

use crate::kernel::command_line;
use straggler_formats::chrome::Run;
use straggler_report::numbers::counted;
use straggler_report::page::{Chart, Page, Section, Timeline};
use straggler_trace as trace;

/// The chart of a run.
pub fn chart(run: &trace::Timeline, command: &str, synthetic: bool) -> Chart {
    let timeline = Timeline::from(run);
    Chart::new("What happens when", command, timeline).synthetic(synthetic)
}

/// The page of a timeline read from a file.
pub fn page(run: &Run, name: &str) -> Page {
    let about = |key: &str| run.about.get(key).and_then(|value| value.as_str());
    let command = about("command").map_or_else(command_line, String::from);
    let synthetic = run.about.get("synthetic").and_then(|value| value.as_bool()).unwrap_or(false);
    let mut section = Section::new(format!("Timeline: {name}"));
    section.add(chart(&run.timeline, &command, synthetic));
    let title = match about("workload") {
        Some(workload) => format!("Timeline of {workload}"),
        None => format!("Timeline {name}"),
    };
    let mut page = crate::kernel::pages::page(title, vec![sentence(&run.timeline)], vec![section]);
    page.facts.add("File", name);
    for (fact, key) in [("Made by", "command"), ("Workload", "workload"), ("Noise", "noise")] {
        if let Some(text) = about(key) {
            page.facts.add(fact, text);
        }
    }
    page
}

fn sentence(timeline: &trace::Timeline) -> String {
    let ranks: std::collections::BTreeSet<u32> =
        timeline.activities.iter().map(|activity| activity.rank).collect();
    let noise = timeline.activities.iter().map(|activity| activity.noise);
    let noise = noise.fold(straggler_model::Time::ZERO, |sum, one| sum + one);
    format!(
        "{} and {} of {}; {noise} of it is noise.",
        counted(timeline.activities.len() as u64, "activity", "activities"),
        counted(timeline.arrows.len() as u64, "message", "messages"),
        counted(ranks.len() as u64, "process", "processes"),
    )
}
