//! The result of `simulate` for people: a sentence, then a small table.

use super::answer::{Answer, Detail};
use straggler_model::Time;
use straggler_model::units::Bytes;
use straggler_report::Table;
use straggler_report::numbers::{counted, grouped, percent, rounded, seconds};

pub fn say(answer: &Answer, detail: &Detail) -> String {
    format!("{}\n\n{}", sentence(answer, detail), table(answer, detail))
}

/// "1,048,576 processes finish an allreduce of 8 B in 137.4 µs; with this noise it takes 161.4 µs,
/// 17 % longer."
fn sentence(answer: &Answer, detail: &Detail) -> String {
    let who = counted(answer.processes.into(), "process", "processes");
    let finish = if answer.processes == 1 { "finishes" } else { "finish" };
    let makespan = Time(answer.makespan_ps);
    let replicas = answer.replicas.len();
    let typically = match replicas {
        0 | 1 => String::new(),
        count => format!(", in the median of {} replicas", grouped(count as u64)),
    };
    match answer.quiet_makespan_ps {
        Some(quiet) => format!(
            "{who} {finish} {} in {}; with this noise it takes {makespan}{}{typically}.",
            detail.deed,
            Time(quiet),
            comparison(answer.slowdown)
        ),
        None => {
            let noise = if detail.noisy { " with this noise" } else { "" };
            format!("{who} {finish} {}{noise} in {makespan}{typically}.", detail.deed)
        }
    }
}

/// ", 17 % longer".
fn comparison(slowdown: Option<f64>) -> String {
    match slowdown {
        Some(0.0) => ", just as long".into(),
        Some(more) if more > 0.0 => format!(", {} longer", percent(more)),
        Some(less) => format!(", {} less", percent(-less)),
        None => String::new(),
    }
}

fn table(answer: &Answer, detail: &Detail) -> Table {
    let mut table = Table::new().text(1);
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
    table.row(["network", &detail.network]);
    table.row(["noise", &answer.noise]);
    table.row(["engine".to_string(), engine(answer)]);
    table.row(["wall time".to_string(), wall_time(answer)]);
    if let Some(bytes) = answer.peak_rss_bytes {
        table.row(["memory".to_string(), Bytes(bytes).to_string()]);
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

fn engine(answer: &Answer) -> String {
    let threads = counted(answer.threads as u64, "thread", "threads");
    match answer.engine_reason {
        Some(reason) => format!("{}, {threads}: {reason}", answer.engine),
        None => format!("{}, {threads}", answer.engine),
    }
}

fn wall_time(answer: &Answer) -> String {
    let rate = rounded(answer.messages_per_second);
    let load = seconds(answer.load_seconds);
    format!("{}, {rate} messages/s; loading took {load}", seconds(answer.wall_seconds))
}
