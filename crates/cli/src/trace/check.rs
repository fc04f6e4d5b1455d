//! `straggler trace check`: lists all problems, not only the first.

use crate::kernel::{Console, Exit, Failure, Outcome};
use crate::trace::file::{Work, incomplete, open_trace_for, place};
use serde::Serialize;
use std::path::Path;
use straggler_model::Rank;
use straggler_report::numbers::counted;
use straggler_trace::Trace;
use straggler_trace::format::assemble::{Finding, Severity};

#[derive(Serialize)]
struct TraceCheckAnswer {
    trace: String,
    processes: u32,
    calls: u64,
    errors: usize,
    warnings: usize,
    findings: Vec<FindingAnswer>,
}

#[derive(Serialize)]
struct FindingAnswer {
    severity: &'static str,
    rank: Option<u32>,
    /// Offset in the rank's stream, for errors of the stream.
    offset: Option<u64>,
    text: String,
}

pub fn run(path: &Path, console: &Console) -> Outcome<()> {
    let opened = open_trace_for(path, Work::Check)?;
    let mut findings = opened.findings;
    let incomplete = incomplete(&opened.trace, &findings);
    findings.iter_mut().filter(|finding| finding.is_about_the_end()).for_each(|finding| {
        finding.what += &last_call(&opened.trace, finding.rank);
    });
    findings.extend(straggler_trace::check::check(&opened.trace, &incomplete));
    findings.sort_by_key(|finding| (finding.severity, finding.rank, finding.offset));
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let answer = TraceCheckAnswer {
        trace: path.display().to_string(),
        processes: opened.trace.processes(),
        calls: opened.trace.calls(),
        errors,
        warnings: findings.len() - errors,
        findings: findings.iter().map(finding_answer).collect(),
    };
    if console.json {
        console.print_json(&answer)?;
    } else {
        console.print(&in_words(&answer))?;
    }
    match errors {
        0 => Ok(()),
        _ => Err(Failure::new(
            Exit::CheckFailed,
            anyhow::Error::msg(format!("{}: {}", path.display(), counted(errors as u64, "error", "errors"))),
        )),
    }
}

/// "; its last recorded call is call 41, MPI_Recv, which ended 1.2 s after the run began". The rank hung or died after
/// that call.
fn last_call(trace: &Trace, rank: Option<Rank>) -> String {
    let calls = rank.and_then(|rank| trace.ranks.get(rank as usize)).map(|rank| rank.calls.as_slice());
    let last = calls.and_then(|calls| calls.iter().enumerate().max_by_key(|(_, call)| call.exit));
    let Some((number, call)) = last else { return "; no call was recorded".into() };
    let (name, exit) = (call.function.name(), call.exit);
    format!("; its last recorded call is call {number}, {name}, which ended {exit} after the run began")
}

fn finding_answer(finding: &Finding) -> FindingAnswer {
    FindingAnswer {
        severity: severity(finding),
        rank: finding.rank,
        offset: finding.offset,
        text: finding.what.clone(),
    }
}

fn severity(finding: &Finding) -> &'static str {
    match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn in_words(answer: &TraceCheckAnswer) -> String {
    let calls = counted(answer.calls, "record", "records");
    let ranks = counted(answer.processes.into(), "rank", "ranks");
    if answer.findings.is_empty() {
        return format!(
            "{}: no errors in {calls} of {ranks}: every message has its partner, and collectives match\n",
            answer.trace
        );
    }
    let line = |finding: &FindingAnswer| {
        format!("{}: {}{}\n", finding.severity, place(finding.rank, finding.offset), finding.text)
    };
    let mut text: String = answer.findings.iter().map(line).collect();
    let (errors, warnings) = (answer.errors as u64, answer.warnings as u64);
    text += &format!(
        "{} and {} in {calls} of {ranks}\n",
        counted(errors, "error", "errors"),
        counted(warnings, "warning", "warnings")
    );
    text
}
