//! The results of `bench` as tables.

use crate::kernel::prelude::*;
use crate::tools::bench::case::{Measured, NOISE_IN_WORDS};
use crate::tools::bench::{BenchWorkload, Case, Group, Report};
use std::fmt::Write;
use straggler_report::numbers::rounded;

pub fn summary(report: &Report) -> String {
    let of_group = |group: Group| -> Vec<&Measured> {
        report.cases.iter().filter(|measured| measured.case.group == group).collect()
    };
    let mut text = headline(report);
    let _ = write!(
        text,
        "\n\nAllreduce of 1 byte, by dissemination unless noted\n{}",
        rates(&of_group(Group::Main))
    );
    let _ = write!(text, "\nAs a schedule in memory, and as text\n{}", graphs(&of_group(Group::Graph)));
    text += "Bytes are the peak of the whole process; for text, they include the text itself.\n";
    let _ = write!(text, "\nThreads\n{}", speed_ups(&of_group(Group::Threads)));
    let _ = write!(
        text,
        "\nCost by number of processes, on one thread\n{}",
        by_processes(&of_group(Group::Scale))
    );
    let _ = write!(
        text,
        "\nComputation between collectives: idle time is skipped\n{}",
        computation(&of_group(Group::Computation))
    );
    let on_gpu = of_group(Group::Gpu);
    if !on_gpu.is_empty() {
        let _ = write!(text, "\nReplicas on a GPU, without its start-up\n{}", replicas(&on_gpu));
    }
    let _ = write!(text, "\nApplications, files and resampling\n{}", more(&of_group(Group::More)));
    text
}

fn headline(report: &Report) -> String {
    let Some(main) = report.cases.first() else { return String::new() };
    let machine = report.machine.processor.as_deref().unwrap_or("this machine");
    format!(
        "{} simulates {} messages per second on {} ({} available).\nNetwork: {}. Noise: \
         {NOISE_IN_WORDS} (drawn, not measured).",
        machine,
        rounded(main.messages_per_second),
        counted(main.threads as u64, "thread", "threads"),
        report.machine.available_threads,
        report.network
    )
}

/// "allreduce, no noise, 64 processes, 2 threads".
pub fn describe(case: &Case) -> String {
    let name = name(case.workload);
    let what = match case.workload {
        BenchWorkload::Implicit { compute_ps, .. } if compute_ps > 0 => {
            format!("allreduces, each after {} of computation, {name}", Time(compute_ps))
        }
        BenchWorkload::Implicit { .. } | BenchWorkload::OnGpu { .. } | BenchWorkload::RecursiveDoubling => {
            format!("allreduce, {name}")
        }
        _ => name.to_string(),
    };
    let processes = counted(case.processes.into(), "process", "processes");
    let threads = case.threads.map(|threads| counted(threads as u64, "thread", "threads"));
    format!("{what}, {processes}, {}", threads.unwrap_or_else(|| "all threads".into()))
}

fn name(workload: BenchWorkload) -> &'static str {
    match workload {
        BenchWorkload::Implicit { noise: true, .. } => "synthetic noise",
        BenchWorkload::Implicit { .. } => "no noise",
        BenchWorkload::OnGpu { noise: true, .. } => "synthetic noise",
        BenchWorkload::OnGpu { .. } => "no noise",
        BenchWorkload::RecursiveDoubling => "recursive doubling, no noise",
        BenchWorkload::Graph => "schedule",
        BenchWorkload::Text => "text",
        BenchWorkload::Binary => "GOAL binary, generated",
        BenchWorkload::Pop => "pop",
        BenchWorkload::Resampling => "resampled all-to-all",
    }
}

fn known(value: Option<f64>) -> Cell {
    value.map_or_else(|| "?".into(), Cell::significant)
}

fn rate(measured: &Measured) -> Cell {
    let rate = measured.messages_per_second;
    Cell::number(rounded(rate), rate)
}

fn rates(cases: &[&Measured]) -> Table {
    let columns = Columns::over(cases)
        .text("case", |row| name(row.case.workload))
        .number("processes", |row| Cell::count(row.case.processes));
    costs(columns)
}

/// The first column identifies the rows: it repeats in every part of a table wider than the terminal.
fn by_processes(cases: &[&Measured]) -> Table {
    let columns = Columns::over(cases)
        .number("processes", |row| Cell::count(row.case.processes))
        .text("case", |row| name(row.case.workload));
    costs(columns)
}

fn costs(columns: Columns<&&Measured>) -> Table {
    columns
        .number("threads", |row| Cell::count(row.threads))
        .number("messages", |row| Cell::count(row.messages))
        .number("wall time", |row| Cell::seconds(row.seconds))
        .number("messages/s", |row| rate(row))
        .number("ns/message", |row| Cell::significant(row.ns_per_message))
        .number("bytes/process", |row| known(row.bytes_per_process))
        .build()
}

fn replicas(cases: &[&Measured]) -> Table {
    let rows = cases.iter().filter_map(|measured| match measured.case.workload {
        BenchWorkload::OnGpu { replicas, .. } => Some((*measured, replicas)),
        _ => None,
    });
    Columns::over(rows)
        .text("case", |(row, _)| name(row.case.workload))
        .number("processes", |(row, _)| Cell::count(row.case.processes))
        .number("replicas", |(_, replicas)| Cell::count(replicas))
        .number("wall time", |(row, _)| Cell::seconds(row.seconds))
        .number("per replica", |(row, replicas)| Cell::seconds(row.seconds / f64::from(replicas)))
        .number("messages/s", |(row, _)| rate(row))
        .build()
}

fn graphs(cases: &[&Measured]) -> Table {
    let rows = cases.iter().filter_map(|measured| Some((*measured, measured.graph?)));
    Columns::over(rows)
        .text("case", |(row, _)| name(row.case.workload))
        .number("processes", |(row, _)| Cell::count(row.case.processes))
        .number("operations", |(_, size)| Cell::count(size.operations))
        .number("wall time", |(row, _)| Cell::seconds(row.seconds))
        .number("rate", |(row, size)| match size.text_bytes_per_second {
            Some(rate) => format!("{} MB/s read", significant(rate / 1e6)),
            None => format!("{} messages/s", rounded(row.messages_per_second)),
        })
        .number("bytes/operation", |(_, size)| known(size.bytes_per_operation))
        .number("of which schedule", |(_, size)| Cell::significant(size.schedule_bytes_per_operation))
        .number("bytes/process", |(row, _)| known(row.bytes_per_process))
        .build()
}

fn more(cases: &[&Measured]) -> Table {
    let unit = |measured: &Measured| match measured.case.workload {
        BenchWorkload::Resampling => "exchanges",
        _ => "messages",
    };
    Columns::over(cases)
        .text("case", |row| name(row.case.workload))
        .number("processes", |row| Cell::count(row.case.processes))
        .number("threads", |row| Cell::count(row.threads))
        .number("amount", |row| match row.generated_bytes {
            Some(bytes) => Bytes(bytes).to_string(),
            None => format!("{} {}", grouped(row.messages), unit(row)),
        })
        .number("wall time", |row| Cell::seconds(row.seconds))
        .number("rate", |row| match row.generated_bytes {
            Some(bytes) => format!("{} MB/s", significant(bytes as f64 / row.seconds / 1e6)),
            None => format!("{} {}/s", rounded(row.messages_per_second), unit(row)),
        })
        .number("memory", |row| row.peak_bytes.map_or_else(|| "?".into(), memory))
        .build()
}

fn speed_ups(cases: &[&Measured]) -> Table {
    let rows = cases.iter().filter(|measured| measured.threads == 1).filter_map(|one| {
        let same = |other: &&&Measured| other.threads == 2 && other.case.processes == one.case.processes;
        Some((*one, *cases.iter().find(same)?))
    });
    Columns::over(rows)
        .number("processes", |(one, _)| Cell::count(one.case.processes))
        .number("1 thread", |(one, _)| Cell::seconds(one.seconds))
        .number("2 threads", |(_, two)| Cell::seconds(two.seconds))
        .number("speed-up", |(one, two)| Cell::significant(one.seconds / two.seconds))
        .build()
}

fn computation(cases: &[&Measured]) -> Table {
    let rows = cases.iter().filter_map(|measured| match measured.case.workload {
        BenchWorkload::Implicit { cycles, compute_ps, .. } => Some((*measured, cycles, compute_ps)),
        _ => None,
    });
    Columns::over(rows)
        .number("computation", |(_, _, compute_ps)| Cell::ps(compute_ps))
        .number("cycles", |(_, cycles, _)| Cell::id(cycles))
        .number("processes", |(row, _, _)| Cell::count(row.case.processes))
        .number("simulated time", |(row, _, _)| Cell::ps(row.makespan_ps))
        .number("windows run", |(row, _, _)| Cell::count(row.windows))
        .number("windows skipped", |(row, _, _)| Cell::count(row.windows_in_all.saturating_sub(row.windows)))
        .number("wall time", |(row, _, _)| Cell::seconds(row.seconds))
        .build()
}
