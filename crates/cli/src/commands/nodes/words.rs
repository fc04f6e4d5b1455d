//! An assessment of a cluster on the console: the verdict, tables, then notes.

use super::findings::unit;
use super::{Report, tables};
use crate::answers::findings::{Finding, FindingKind};

/// Most nodes in the table on the console; the page has all.
const MOST_NODES: usize = 20;

pub fn say(report: &Report, findings: &[Finding]) -> String {
    let mut text = FindingKind::Verdict.of(findings).join("\n");
    text += &format!(
        "\n\nThe {}s, sorted by how long an allreduce waits for them\n\n{}",
        unit(report),
        tables::ranking(report, MOST_NODES)
    );
    let left = report.cluster.nodes.len().saturating_sub(MOST_NODES);
    if left > 0 {
        text += &format!("  {left} more are in assess.json and in report.html\n");
    }
    text += &format!("\nGain from replacing and removing\n\n{}", tables::gains(report));
    let notes = FindingKind::Note.of(findings);
    if !notes.is_empty() {
        text += "\nNotes\n";
        notes.iter().for_each(|note| text += &format!("  - {note}\n"));
    }
    text
}
