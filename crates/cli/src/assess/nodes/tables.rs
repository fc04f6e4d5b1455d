//! The tables of an assessment of a cluster, for the terminal and for the page.

use crate::assess::nodes::Report;
use crate::assess::nodes::findings::unit;
use crate::kernel::pages::{Finding, FindingKind};
use straggler_analysis::nodes::outliers::Kind;
use straggler_analysis::nodes::{Gain, Unit};
use straggler_report::numbers::{grouped, significant};
use straggler_report::{Cell, Columns, Table};

/// The nodes, or the cores of one node, in the order of the largest scale.
pub fn ranking(report: &Report, most: usize) -> Table {
    let order = order(report).iter().enumerate().take(most);
    let rows = order.filter_map(|(row, &node)| Some((row, node, report.summaries.get(node)?)));
    Columns::over(rows)
        .number("row", |(row, _, _)| Cell::count(row))
        .page_only()
        .text(unit(report), |(_, _, node)| &node.name)
        .number("cores", |(_, _, node)| Cell::count(node.cores))
        .number("lost per second", |(_, _, node)| Cell::seconds(node.lost))
        .text("most to", |(_, _, node)| node.largest_source().map(|source| &source.name))
        .number("time taken", |(_, _, node)| node.largest_source().map(|source| Cell::seconds(source.lost)))
        .page_only()
        .each(&report.costs.scales, |columns, scale| {
            columns.number(format!("wait at {}", grouped(scale.processes)), |(_, node, _)| {
                Cell::seconds(scale.waits_ps.get(node).copied().unwrap_or(0.0) * 1e-12)
            })
        })
        .number("iteration", |(_, _, node)| Cell::seconds(node.iteration_ps * 1e-12))
        .text("", |(_, node, _)| remark(report, node))
        .on_page_called("remark")
        .build()
}

/// The gains from replacing and removing at each scale.
pub fn gains(report: &Report) -> Table {
    let mut table = Table::new("", &["", "#processes", "#speedup", "#remaining slowdown"]);
    for scale in &report.costs.scales {
        let processes = || Cell::count(scale.processes);
        table.row([
            "(with all noise)".into(),
            processes(),
            Cell::default(),
            Cell::slowdown(scale.slowdown.median),
        ]);
        let mut row = |what: String, gain: &Gain| {
            let [times, low, high] = [gain.times, gain.low, gain.high].map(significant);
            let times = Cell::number(format!("{times} [{low}, {high}]"), gain.times);
            table.row([what.into(), processes(), times, Cell::slowdown(gain.slowdown.median)]);
        };
        scale.replaced.iter().for_each(|gain| row(replaced(report, gain), gain));
        for removal in &scale.removals {
            row(format!("{} without {}", removal.gain.nodes.join(""), removal.source), &removal.gain);
        }
    }
    table
}

/// The ranking at the largest scale.
pub fn order(report: &Report) -> &[usize] {
    report.costs.scales.last().map_or(&[], |scale| &scale.order)
}

/// The remark on a node next to its numbers.
pub fn remark(report: &Report, node: usize) -> String {
    let outlier =
        report.outliers.nodes.iter().find(|outlier| outlier.node == node).map(|outlier| match outlier.kind {
            Kind::Noisier => "noisier",
            Kind::Quieter => "quieter",
            Kind::Different => "different",
        });
    let slow = report.speeds.slow.iter().any(|slow| slow.node == node).then_some("slow");
    outlier.into_iter().chain(slow).collect::<Vec<_>>().join(", ")
}

/// "the worst 2 nodes replaced".
pub fn replaced(report: &Report, gain: &Gain) -> String {
    match (gain.nodes.len(), report.cluster.unit) {
        (1, _) => format!("{} replaced", gain.nodes.join("")),
        (count, Unit::Node) => format!("the worst {count} nodes replaced"),
        (count, Unit::Core) => format!("the worst {count} cores replaced"),
    }
}

/// Most nodes in the table on the console; the page has all.
const MOST_NODES: usize = 20;

pub fn summary(report: &Report, findings: &[Finding]) -> String {
    let mut text = FindingKind::Verdict.select(findings).join("\n");
    text += &format!(
        "\n\nThe {}s, sorted by how long an allreduce waits for them\n\n{}",
        unit(report),
        ranking(report, MOST_NODES)
    );
    let left = report.cluster.nodes.len().saturating_sub(MOST_NODES);
    if left > 0 {
        text += &format!("  {left} more are in assess.json and in report.html\n");
    }
    text += &format!("\nGain from replacing and removing\n\n{}", gains(report));
    let notes = FindingKind::Note.select(findings);
    if !notes.is_empty() {
        text += "\nNotes\n";
        notes.iter().for_each(|note| text += &format!("  - {note}\n"));
    }
    text
}
