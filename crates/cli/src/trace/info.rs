//! `straggler trace info` and `trace check`: the contents of a trace, and all its problems, not only the first.

use crate::kernel::prelude::*;
use crate::trace::file::{Opened, Work, further_runs, incomplete, open_trace, open_trace_for, place};
use crate::trace::sites::{self, CodePlace};
use crate::trace::words;
use std::collections::{BTreeMap, BTreeSet};
use straggler_model::Rank;
use straggler_trace::format::assemble::{Finding, Severity};
use straggler_trace::profile::{Counts, Profile, RankProfile};
use straggler_trace::trace::{Communicator, RankTrace, Usage};
use straggler_trace::{CommId, Trace};

/// A trace in numbers, as JSON.
#[derive(Serialize)]
pub struct InfoAnswer {
    pub trace: String,
    pub format: String,
    pub program: String,
    pub library: String,
    pub more: BTreeMap<String, String>,
    pub notes: Vec<String>,
    pub synthetic: bool,
    pub processes: u32,
    pub hosts: Vec<String>,
    pub length_seconds: f64,
    /// Calls of the program; unsuccessful tests may share a record.
    pub calls: u64,
    pub records: u64,
    pub bytes: Option<u64>,
    pub bytes_per_call: Option<f64>,
    /// The largest over all ranks; none if it is unknown for one of them.
    pub clock_error_seconds: Option<f64>,
    pub unknown: BTreeMap<String, u64>,
    pub errors: usize,
    pub ranks: Vec<RankAnswer>,
    pub communicators: Vec<CommAnswer>,
    /// Call sites of the program; empty if they were not recorded.
    pub call_sites: Vec<CodePlace>,
    /// Folders of further runs of the same command, in order.
    pub further_runs: Vec<String>,
}

#[derive(Serialize)]
pub struct RankAnswer {
    pub rank: u32,
    pub host: String,
    pub cores: Vec<u32>,
    pub threads: u32,
    pub calls: u64,
    pub records: usize,
    pub application_seconds: f64,
    pub mpi_seconds: f64,
    pub clock_error_seconds: Option<f64>,
    pub clock_offset_seconds: f64,
    pub clock_drift_ppm: f64,
    /// Processor time of the process; none if it was not recorded.
    pub usage: Option<UsageAnswer>,
    pub functions: BTreeMap<&'static str, Counts>,
    pub unknown: BTreeMap<String, u64>,
}

#[derive(Serialize)]
pub struct UsageAnswer {
    pub wall_seconds: f64,
    pub cpu_seconds: f64,
    pub preemptions: u64,
    pub waiting_seconds: Option<f64>,
    /// The share of the time in which other work had the core.
    pub lost: f64,
}

impl UsageAnswer {
    fn new(usage: &Usage) -> UsageAnswer {
        UsageAnswer {
            wall_seconds: usage.wall.seconds(),
            cpu_seconds: usage.cpu.seconds(),
            preemptions: usage.preemptions,
            waiting_seconds: usage.waiting.map(Time::seconds),
            lost: usage.lost(),
        }
    }
}

#[derive(Serialize)]
pub struct CommAnswer {
    pub number: usize,
    pub name: String,
    pub parent: Option<CommId>,
    pub size: usize,
    /// World ranks.
    pub members: Vec<u32>,
    pub remote: Vec<u32>,
}

pub fn run(path: &Path, console: &Console) -> Outcome<()> {
    let opened = open_trace(path)?;
    let mut answer = InfoAnswer::new(path, &opened, &Profile::new(&opened.trace));
    answer.call_sites = sites::places(&opened.trace.call_sites);
    if console.json {
        return console.print_json(&answer);
    }
    opened.warn_of_errors(path, console);
    console.print(&words::info(&answer))
}

impl InfoAnswer {
    pub fn new(path: &Path, opened: &Opened, profile: &Profile) -> InfoAnswer {
        let trace = &opened.trace;
        let calls = profile.ranks.iter().fold(0, |sum: u64, rank| sum.saturating_add(rank.calls));
        let errors: Option<Vec<Time>> =
            trace.ranks.iter().filter(|rank| !rank.calls.is_empty()).map(|rank| rank.clock.error).collect();
        let hosts: BTreeSet<&String> =
            trace.ranks.iter().map(|rank| &rank.host).filter(|host| !host.is_empty()).collect();
        let ranks = (0..).zip(trace.ranks.iter().zip(&profile.ranks));
        InfoAnswer {
            trace: path.display().to_string(),
            format: trace.meta.format.clone(),
            program: trace.meta.program.clone(),
            library: trace.meta.library.clone(),
            more: trace.meta.more.clone(),
            notes: trace.notes.clone(),
            synthetic: opened.is_synthetic(),
            processes: trace.processes(),
            hosts: hosts.into_iter().cloned().collect(),
            length_seconds: trace.length().seconds(),
            calls,
            records: trace.calls(),
            bytes: opened.bytes,
            bytes_per_call: opened.bytes.filter(|_| calls > 0).map(|bytes| bytes as f64 / calls as f64),
            clock_error_seconds: errors.map(|errors| errors.into_iter().max().unwrap_or_default().seconds()),
            unknown: unknown(&trace.ranks),
            errors: opened.errors(),
            ranks: ranks.map(|(rank, (of_rank, profile))| rank_answer(rank, of_rank, profile)).collect(),
            communicators: trace.communicators.iter().enumerate().map(comm_answer).collect(),
            call_sites: Vec::new(),
            further_runs: further_runs(path),
        }
    }
}

/// Calls of unknown functions, on all ranks.
fn unknown(ranks: &[RankTrace]) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (name, count) in ranks.iter().flat_map(|rank| &rank.unknown) {
        let sum: &mut u64 = all.entry(name.clone()).or_default();
        *sum = sum.saturating_add(*count);
    }
    all
}

fn rank_answer(rank: u32, of_rank: &RankTrace, profile: &RankProfile) -> RankAnswer {
    let functions = profile.functions.iter();
    RankAnswer {
        rank,
        host: of_rank.host.clone(),
        cores: of_rank.cores.clone(),
        threads: profile.threads,
        calls: profile.calls,
        records: of_rank.calls.len(),
        application_seconds: profile.application().seconds(),
        mpi_seconds: profile.mpi.seconds(),
        clock_error_seconds: of_rank.clock.error.map(Time::seconds),
        clock_offset_seconds: of_rank.clock.offset_ps as f64 * 1e-12,
        clock_drift_ppm: of_rank.clock.drift_ppm,
        usage: of_rank.usage.as_ref().map(UsageAnswer::new),
        functions: functions.map(|(function, counts)| (function.name(), *counts)).collect(),
        unknown: of_rank.unknown.clone(),
    }
}

fn comm_answer((number, comm): (usize, &Communicator)) -> CommAnswer {
    CommAnswer {
        number,
        name: comm.name.clone(),
        parent: comm.parent,
        size: comm.members.len(),
        members: comm.members.clone(),
        remote: comm.remote.clone(),
    }
}

#[derive(Serialize)]
struct TraceCheckAnswer {
    trace: String,
    processes: u32,
    calls: u64,
    errors: usize,
    warnings: usize,
    findings: Vec<Finding>,
}

pub fn check(path: &Path, console: &Console) -> Outcome<()> {
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
        findings,
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

fn in_words(answer: &TraceCheckAnswer) -> String {
    let calls = counted(answer.calls, "record", "records");
    let ranks = counted(answer.processes.into(), "rank", "ranks");
    if answer.findings.is_empty() {
        return format!(
            "{}: no errors in {calls} of {ranks}: every message has its partner, and collectives match\n",
            answer.trace
        );
    }
    let line = |finding: &Finding| {
        let severity = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        format!("{severity}: {}{}\n", place(finding.rank, finding.offset), finding.what)
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
