//! The result of `simulate` as text: a sentence, then a small table.

use crate::kernel::devices::GpuAnswer;
use crate::kernel::prelude::*;
use crate::mpi::cluster::Exchange;
use crate::network::network_in_words;
use crate::simulate::{
    answer::SimulateAnswer, inputs::Inputs, links, recorded::RecordedAnswer, repeated::Repeated,
};
use straggler_analysis::{CriticalPath, critical_path::Unit};
use straggler_report::numbers::{longer, longer_than, rounded};

pub fn summary(answer: &SimulateAnswer, inputs: &Inputs, repeated: &Repeated) -> String {
    let mut text = answers(answer, inputs, repeated).join("\n");
    for doubt in answer.recorded.iter().flat_map(RecordedAnswer::doubts) {
        text += &format!("\n{doubt}");
    }
    let makespan = Time(answer.makespan_ps);
    text += &answer.links.as_deref().map_or_else(String::new, |links| links::busiest(links, makespan));
    let without = answer.without_waiting_ps.map(Time);
    text += &without.map_or_else(String::new, |without| links::cost_of_waiting(makespan, without));
    text += &format!("\n\n{}", table(answer, inputs));
    text += &answer.link_kinds.as_deref().map_or_else(String::new, |kinds| links::table(kinds, makespan));
    text += &answer.recorded.as_ref().map_or_else(String::new, RecordedAnswer::by_rank);
    if let Some(path) = &answer.critical_path {
        text += &explain(path);
    }
    text
}

/// What was asked; for a single collective under noise also what a program pays.
pub fn answers(answer: &SimulateAnswer, inputs: &Inputs, repeated: &Repeated) -> Vec<String> {
    if repeated.is_single() {
        return std::iter::once(single(answer)).chain(repeated.sentence()).collect();
    }
    let simulated = || simulated(answer, inputs.noise.is_some());
    vec![match &answer.recorded {
        Some(recorded) if recorded.is_compared() => recorded.sentence(),
        Some(recorded) => format!("{} {}", simulated(), recorded.sentence()),
        None => simulated(),
    }]
}

/// "One allreduce of 8 B by dissemination that starts at a random moment takes 161.4 µs with this noise on 1,048,576
/// processes, 17 % longer than without (137.4 µs)."
fn single(answer: &SimulateAnswer) -> String {
    let (_, collective) = answer.workload.split_once(' ').unwrap_or_default();
    let who = counted(answer.processes.into(), "process", "processes");
    let quiet = answer.quiet_makespan_ps.zip(answer.slowdown).map_or_else(String::new, |(quiet, more)| {
        format!(", {} without ({})", longer_than(more), Time(quiet))
    });
    format!(
        "One {collective} that starts at a random moment takes {} with this noise on {who}{}{quiet}.",
        Time(answer.makespan_ps),
        typically(answer)
    )
}

/// " in the median of 20 replicas".
fn typically(answer: &SimulateAnswer) -> String {
    match answer.replicas.len() {
        0 | 1 => String::new(),
        count => format!(" in the median of {} replicas", grouped(count as u64)),
    }
}

/// "1,048,576 processes finish 10 allreduces of 8 B in 137.4 µs, with this noise in 161.4 µs, 17 % longer."
fn simulated(answer: &SimulateAnswer, noisy: bool) -> String {
    let who = counted(answer.processes.into(), "process", "processes");
    let finish = if answer.processes == 1 { "finishes" } else { "finish" };
    let makespan = Time(answer.makespan_ps);
    // A comma also ends what began with one: "10 barriers by dissemination, each after 1 ms of computation,".
    let comma = if answer.workload.contains(", each ") { "," } else { "" };
    let what = format!("{}{comma}", answer.workload);
    let typically = typically(answer);
    match answer.quiet_makespan_ps {
        Some(quiet) => format!(
            "{who} {finish} {what} in {}, with this noise in {makespan}{typically}{}.",
            Time(quiet),
            comparison(answer.slowdown)
        ),
        None if noisy => format!("With this noise {who} {finish} {what} in {makespan}{typically}."),
        None => format!("{who} {finish} {what} in {makespan}{typically}."),
    }
}

/// ", 17 % longer".
fn comparison(slowdown: Option<f64>) -> String {
    slowdown.map_or_else(String::new, |more| format!(", {}", longer(more)))
}

fn table(answer: &SimulateAnswer, inputs: &Inputs) -> Table {
    let mut table = Table::facts();
    table.row(["makespan".to_string(), exact(answer.makespan_ps)]);
    if let Some(quiet) = answer.quiet_makespan_ps {
        table.row(["without noise".to_string(), exact(quiet)]);
    }
    if let Some(all) = answer.replica_makespan_ps {
        table.row(["replicas".to_string(), spread(all.min, all.median, all.max)]);
    }
    let finish = answer.finish_ps;
    table.row(["finish times".to_string(), spread(finish.min, finish.median, finish.max)]);
    table.row(["messages".to_string(), grouped(answer.messages)]);
    table.row(["network".to_string(), network_in_words(&inputs.network)]);
    if let Some(topology) = &answer.topology {
        table.row(["topology".to_string(), topology.clone()]);
        answer.placement.iter().for_each(|places| table.row(["placement".to_string(), places.clone()]));
    }
    if let Some(latency) = &answer.latency {
        table.row(["latency".to_string(), latency.in_words()]);
    }
    answer.recorded.iter().for_each(|recorded| recorded.facts(&mut table));
    table.row(["noise", if answer.noise == "no noise" { "none" } else { answer.noise.as_str() }]);
    table.row(["engine".to_string(), engine(answer)]);
    table.row(["wall time".to_string(), wall_time(answer)]);
    if let Some(bytes) = answer.peak_rss_bytes {
        let of_a_rank = if answer.cluster.is_some() { " for a rank, at most" } else { "" };
        table.row(["memory".to_string(), memory(bytes) + of_a_rank]);
    }
    if let Some(exchange) = &answer.cluster {
        table.row(["between ranks".to_string(), between_ranks(exchange)]);
    }
    if let Some(stuck) = &answer.stuck {
        table.row(["left behind".to_string(), counted(stuck.leftover_count, "message", "messages")]);
    }
    table
}

fn exact(ps: u64) -> String {
    format!("{} ({} ps)", Time(ps), grouped(ps))
}

fn spread(min: u64, median: u64, max: u64) -> String {
    format!("{} to {}, median {}", Time(min), Time(max), Time(median))
}

fn engine(answer: &SimulateAnswer) -> String {
    if !answer.gpus.is_empty() {
        let ran =
            |gpu: &GpuAnswer| format!("{} on {}", counted(gpu.replicas, "replica", "replicas"), gpu.device);
        return format!("gpu: {}", answer.gpus.iter().map(ran).collect::<Vec<_>>().join(", "));
    }
    let threads = counted(answer.threads as u64, "thread", "threads");
    match answer.engine_reason {
        Some(reason) => format!("{}, {threads}: {reason}", answer.engine),
        None => format!("{}, {threads}", answer.engine),
    }
}

fn wall_time(answer: &SimulateAnswer) -> String {
    let rate = rounded(answer.messages_per_second);
    let load = seconds(answer.load_seconds);
    format!("{}, {rate} messages/s; loading took {load}", seconds(answer.wall_seconds))
}

fn between_ranks(exchange: &Exchange) -> String {
    let (ranks, bytes) = (counted(exchange.ranks.into(), "MPI rank", "MPI ranks"), memory(exchange.bytes));
    let windows = counted(exchange.agreements, "window", "windows");
    let time = percent(exchange.share);
    let cut = exchange.crossing.as_ref().map_or_else(String::new, |cut| {
        let neighbours = percent(cut.of_neighbours);
        format!(
            "; {} of the messages go between them ({neighbours} if neighbours shared a rank)",
            percent(cut.share)
        )
    });
    format!("{ranks} exchanged {bytes} in {windows}, taking {time} of the time{cut}")
}

/// Most parts of the path that are listed; the last ones matter most.
const STRETCHES: usize = 12;

fn explain(path: &CriticalPath) -> String {
    let alone = if path.unique { "" } else { " (one of several that are equally long)" };
    let makespan = path.makespan.ps().max(1) as f64;
    let parts = path.parts.named().into_iter().zip(path.derivatives.beside_parts());
    let parts = parts.map(|((name, ps), count)| (name, ps, count.filter(|(count, _)| *count > 0)));
    let parts = Columns::over(parts.filter(|(_, ps, count)| *ps > 0 || count.is_some()))
        .text("part", |(name, _, _)| name)
        .number("time", |(_, ps, _)| Cell::ps(ps))
        .number("share", |(_, ps, _)| Cell::share(ps as f64 / makespan))
        .number("on the path", |(_, _, count)| {
            count.map(|(count, unit)| match unit {
                Unit::Times => counted(count, "time", "times"),
                Unit::Bytes => counted(count, "byte", "bytes"),
            })
        })
        .build();
    format!(
        "\nThe critical path, the chain of events that determines the makespan, ends on rank {}{alone}. Its \
         parts:\n\n{parts}\n{}{}{}",
        path.last_rank,
        "If a parameter occurs n times on the path, increasing it by d lengthens the run by n·d, as long as \
         this path stays the longest.\n\n",
        noise(path),
        stretches(path)
    )
}

fn noise(path: &CriticalPath) -> String {
    if path.noise_injected == 0 {
        return String::new();
    }
    let time = |ps: u128| Time(u64::try_from(ps).unwrap_or(u64::MAX));
    if path.noise_absorbed == 0 {
        let all = time(path.noise_injected);
        return format!(
            "All {all} of noise, summed over all processes, delayed the end of the run; none was \
             absorbed.\n\n"
        );
    }
    format!(
        "Of {} of noise, summed over all processes, {} delayed the end of the run, on this path or an equally \
         long one; {} was absorbed by waiting.\n\n",
        time(path.noise_injected),
        time(path.noise_propagated),
        time(path.noise_absorbed)
    )
}

fn stretches(path: &CriticalPath) -> String {
    let skipped = path.stretches.len().saturating_sub(STRETCHES);
    let table = Columns::over(&path.stretches[skipped..])
        .number("rank", |row| Cell::id(row.rank))
        .number("from", |row| Cell::time(row.from))
        .number("to", |row| Cell::time(row.to))
        .number("noise in it", |row| Cell::ps(row.parts.noise))
        .build();
    let which = match skipped {
        0 => "Its path through the ranks".to_string(),
        _ => format!("The last {STRETCHES} of its {} stretches", grouped(path.stretches.len() as u64)),
    };
    format!("{which}\n\n{table}")
}
