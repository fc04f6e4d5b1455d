//! An assessment of a cluster on the console: the verdict, tables, then what to know about them.

use super::Report;
use super::findings::unit;
use crate::commands::assess::{Finding, FindingKind as Kind};
use straggler_analysis::nodes::{Gain, Scale, Unit};
use straggler_report::Table;
use straggler_report::numbers::{grouped, seconds, significant};

/// Nodes in the table on the console; the page has all.
const MOST_NODES: usize = 20;

pub fn say(report: &Report, findings: &[Finding]) -> String {
    let mut text = Kind::Verdict.of(findings).join("\n");
    text += &format!(
        "\n\nThe {}s, those an allreduce waits for longest first\n\n{}",
        unit(report),
        ranking(report)
    );
    let left = report.cluster.nodes.len().saturating_sub(MOST_NODES);
    if left > 0 {
        text += &format!("  {left} more are in assess.json and in report.html\n");
    }
    text += &format!("\nWhat replacing and removing gives\n\n{}", gains(report));
    let notes = Kind::Note.of(findings);
    if !notes.is_empty() {
        text += "\nNotes\n";
        notes.iter().for_each(|note| text += &format!("  - {note}\n"));
    }
    text
}

/// The order of the largest scale.
pub fn order(report: &Report) -> &[usize] {
    report.costs.scales.last().map_or(&[], |scale| &scale.order)
}

/// What is said of a node besides its numbers.
pub fn remark(report: &Report, node: usize) -> String {
    let outlier = report.outliers.nodes.iter().find(|outlier| outlier.node == node).map(|outlier| {
        use straggler_analysis::nodes::outliers::Kind;
        match outlier.kind {
            Kind::Noisier => "noisier",
            Kind::Quieter => "quieter",
            Kind::Different => "different",
        }
    });
    let slow = report.speeds.slow.iter().any(|slow| slow.node == node).then_some("slow");
    outlier.into_iter().chain(slow).collect::<Vec<_>>().join(", ")
}

fn ranking(report: &Report) -> Table {
    let mut header =
        vec![unit(report).to_string(), "cores".into(), "lost per second".into(), "most to".into()];
    header.extend(report.costs.scales.iter().map(|scale| format!("wait at {}", grouped(scale.processes))));
    header.extend(["iteration".into(), String::new()]);
    let last = header.len() - 1;
    let mut table = Table::with_header(header).text(3).text(last);
    for &node in order(report).iter().take(MOST_NODES) {
        let Some(summary) = report.summaries.get(node) else { continue };
        let most = summary.largest_source().map_or_else(String::new, |source| source.name.clone());
        let mut row = vec![summary.name.clone(), grouped(summary.cores as u64), seconds(summary.lost), most];
        let wait = |scale: &Scale| seconds(scale.waits_ps.get(node).copied().unwrap_or(0.0) * 1e-12);
        row.extend(report.costs.scales.iter().map(wait));
        row.extend([seconds(summary.iteration_ps * 1e-12), remark(report, node)]);
        table.row(row);
    }
    table
}

fn gains(report: &Report) -> Table {
    let mut table = Table::with_header(["", "processes", "times as fast", "leaves T / T0"]);
    for scale in &report.costs.scales {
        let row = |what: String, gain: &Gain| {
            let times = format!(
                "{} [{}, {}]",
                significant(gain.times),
                significant(gain.low),
                significant(gain.high)
            );
            [what, grouped(scale.processes), times, significant(1.0 + gain.slowdown.median)]
        };
        let all = significant(1.0 + scale.slowdown.median);
        table.row(["(with all noise)".to_string(), grouped(scale.processes), String::new(), all]);
        for gain in &scale.replaced {
            table.row(row(replaced(report, gain), gain));
        }
        for removal in &scale.removals {
            table.row(row(
                format!("{} without {}", removal.gain.nodes.join(""), removal.source),
                &removal.gain,
            ));
        }
    }
    table
}

/// "the worst 2 nodes replaced".
pub fn replaced(report: &Report, gain: &Gain) -> String {
    match (gain.nodes.len(), report.cluster.unit) {
        (1, _) => format!("{} replaced", gain.nodes.join("")),
        (count, Unit::Node) => format!("the worst {count} nodes replaced"),
        (count, Unit::Core) => format!("the worst {count} cores replaced"),
    }
}
