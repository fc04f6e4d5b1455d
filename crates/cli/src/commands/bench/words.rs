//! The results of `bench` as tables.

use super::Report;
use super::case::Measured;
use crate::plan::bench::{BenchWorkload, Group};
use std::fmt::Write;
use straggler_model::Time;
use straggler_model::units::Bytes;
use straggler_report::Table;
use straggler_report::numbers::{counted, grouped, memory, rounded, seconds, significant};

pub fn say(report: &Report) -> String {
    let of_group = |group: Group| -> Vec<&Measured> {
        report.cases.iter().filter(|measured| measured.case.group == group).collect()
    };
    let mut text = headline(report);
    let _ = write!(
        text,
        "\n\nAllreduce of 1 byte, by dissemination if nothing else is said\n{}",
        rates(&of_group(Group::Main))
    );
    let _ = write!(text, "\nAs a schedule in memory, and as text\n{}", graphs(&of_group(Group::Graph)));
    text += "Bytes are of the whole process at its peak; of text, with the text itself.\n";
    let _ = write!(text, "\nThreads\n{}", speed_ups(&of_group(Group::Threads)));
    let _ = write!(text, "\nCost by number of processes, on one thread\n{}", rates(&of_group(Group::Scale)));
    let _ = write!(
        text,
        "\nComputation between collectives: time in which nothing happens is skipped\n{}",
        computation(&of_group(Group::Computation))
    );
    let on_gpu = of_group(Group::Gpu);
    if !on_gpu.is_empty() {
        let _ = write!(text, "\nReplicas on a GPU, without its start\n{}", replicas(&on_gpu));
    }
    let _ = write!(text, "\nApplications, files and resampling\n{}", more(&of_group(Group::More)));
    text
}

fn headline(report: &Report) -> String {
    let Some(main) = report.cases.first() else { return String::new() };
    let machine = report.machine.processor.as_deref().unwrap_or("this machine");
    format!(
        "{} simulates {} messages a second on {} ({} available).\nNetwork: {}. Noise: {} (drawn, not measured).",
        machine,
        rounded(main.messages_per_second),
        counted(main.threads as u64, "thread", "threads"),
        report.machine.available_threads,
        report.network,
        report.noise
    )
}

fn name(measured: &Measured) -> &'static str {
    match measured.case.workload {
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

fn known(bytes: Option<f64>) -> String {
    bytes.map_or_else(|| "?".into(), significant)
}

fn rates(cases: &[&Measured]) -> Table {
    let mut table = Table::with_header([
        "case",
        "processes",
        "threads",
        "messages",
        "wall time",
        "messages/s",
        "ns/message",
        "bytes/process",
    ]);
    for measured in cases {
        table.row([
            name(measured).to_string(),
            grouped(measured.case.processes),
            measured.threads.to_string(),
            grouped(measured.messages),
            seconds(measured.seconds),
            rounded(measured.messages_per_second),
            significant(measured.ns_per_message),
            known(measured.bytes_per_process),
        ]);
    }
    table
}

fn replicas(cases: &[&Measured]) -> Table {
    let mut table =
        Table::with_header(["case", "processes", "replicas", "wall time", "of a replica", "messages/s"]);
    for measured in cases {
        let BenchWorkload::OnGpu { replicas, .. } = measured.case.workload else { continue };
        table.row([
            name(measured).to_string(),
            grouped(measured.case.processes),
            grouped(replicas),
            seconds(measured.seconds),
            seconds(measured.seconds / f64::from(replicas)),
            rounded(measured.messages_per_second),
        ]);
    }
    table
}

fn graphs(cases: &[&Measured]) -> Table {
    let mut table = Table::with_header([
        "case",
        "processes",
        "operations",
        "wall time",
        "rate",
        "bytes/operation",
        "of these the schedule",
        "bytes/process",
    ]);
    for measured in cases {
        let Some(size) = measured.graph else { continue };
        let rate = match size.text_bytes_per_second {
            Some(rate) => format!("{} MB/s read", significant(rate / 1e6)),
            None => format!("{} messages/s", rounded(measured.messages_per_second)),
        };
        table.row([
            name(measured).to_string(),
            grouped(measured.case.processes),
            grouped(size.operations),
            seconds(measured.seconds),
            rate,
            known(size.bytes_per_operation),
            significant(size.schedule_bytes_per_operation),
            known(measured.bytes_per_process),
        ]);
    }
    table
}

fn more(cases: &[&Measured]) -> Table {
    let mut table =
        Table::with_header(["case", "processes", "threads", "amount", "wall time", "rate", "memory"]);
    for measured in cases {
        let rate = rounded(measured.messages_per_second);
        let (amount, rate) = match (measured.generated_bytes, measured.case.workload) {
            (Some(bytes), _) => (
                Bytes(bytes).to_string(),
                format!("{} MB/s", significant(bytes as f64 / measured.seconds / 1e6)),
            ),
            (None, BenchWorkload::Resampling) => {
                (format!("{} exchanges", grouped(measured.messages)), format!("{rate} exchanges/s"))
            }
            _ => (format!("{} messages", grouped(measured.messages)), format!("{rate} messages/s")),
        };
        table.row([
            name(measured).to_string(),
            grouped(measured.case.processes),
            measured.threads.to_string(),
            amount,
            seconds(measured.seconds),
            rate,
            measured.peak_bytes.map_or_else(|| "?".into(), memory),
        ]);
    }
    table
}

fn speed_ups(cases: &[&Measured]) -> Table {
    let mut table = Table::with_header(["processes", "1 thread", "2 threads", "speed-up"]);
    for one in cases.iter().filter(|measured| measured.threads == 1) {
        let same = |other: &&&Measured| other.threads == 2 && other.case.processes == one.case.processes;
        if let Some(two) = cases.iter().find(same) {
            table.row([
                grouped(one.case.processes),
                seconds(one.seconds),
                seconds(two.seconds),
                significant(one.seconds / two.seconds),
            ]);
        }
    }
    table
}

fn computation(cases: &[&Measured]) -> Table {
    let mut table = Table::with_header([
        "computation",
        "cycles",
        "processes",
        "simulated time",
        "windows run",
        "windows skipped",
        "wall time",
    ]);
    for measured in cases {
        let BenchWorkload::Implicit { cycles, compute_ps, .. } = measured.case.workload else { continue };
        table.row([
            Time(compute_ps).to_string(),
            cycles.to_string(),
            grouped(measured.case.processes),
            Time(measured.makespan_ps).to_string(),
            grouped(measured.windows),
            grouped(measured.windows_in_all.saturating_sub(measured.windows)),
            seconds(measured.seconds),
        ]);
    }
    table
}
