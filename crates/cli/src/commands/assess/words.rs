//! An assessment on the console: the verdict, tables, then notes.

use super::phrases::{STAR, an_operation};
use super::{Report, tables};
use crate::answers::findings::{Finding, FindingKind};
use straggler_report::numbers::SLOWDOWN_LEGEND;

pub fn say(report: &Report, findings: &[Finding]) -> String {
    let mut text = FindingKind::Verdict.of(findings).join("\n");
    text += &format!(
        "\n\nSlowdowns by processes, median of the replicas. {SLOWDOWN_LEGEND}\n\n{}",
        tables::curves(report)
    );
    let mut notes = FindingKind::Note.of(findings);
    // The star is explained below the table that contains it.
    if let Some(star) = notes.iter().position(|note| note == STAR) {
        text += &format!("  {}\n", notes.remove(star));
    }
    if let Some(table) = tables::removals(report) {
        text += &format!("\nGain from removing a source, for {}\n\n{table}", an_operation(report));
    }
    if !notes.is_empty() {
        text += "\nNotes\n";
        notes.iter().for_each(|note| text += &format!("  - {note}\n"));
    }
    text
}
