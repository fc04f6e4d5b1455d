//! Phrases that several parts of an assessment use.

use super::Report;

/// Explains the star in the table of slowdowns.
pub const STAR: &str = "* interval wider than a fifth of the slowdown; more replicas narrow it";

/// "an allreduce", "the traced program run".
pub fn an_operation(report: &Report) -> String {
    if let Some(program) = &report.program {
        return program.describe();
    }
    let first = report.answer.curves.first().map_or("", |curve| curve.name.as_str());
    match first {
        "allreduce" => "an allreduce".into(),
        "barrier" => "a barrier".into(),
        _ => "a broadcast".into(),
    }
}
