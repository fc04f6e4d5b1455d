//! Traces for people.

use super::{info, show};
use crate::shell::quoted;
use straggler_model::Time;
use straggler_model::units::Bytes;
use straggler_report::Table;
use straggler_report::numbers::{counted, grouped, percent, seconds, significant};
use straggler_trace::profile::{Profile, is_counted, share};

/// Rows of a table before the rest is only counted.
const MOST_RANKS: usize = 16;
const MOST_ROWS: usize = 20;
const MOST_PAIRS: usize = 10;

/// "27 % of the run is spent in MPI, most by rank 3 (34 %); MPI_Waitall has 61 % of it."
pub fn sentence(profile: &Profile) -> String {
    let (mpi, application) = profile.totals();
    if mpi == Time::ZERO {
        return "No time is spent in MPI.".into();
    }
    let mut text = format!("{} of the run is spent in MPI", percent(share(mpi, application)));
    let shares = profile.ranks.iter().map(|of_rank| of_rank.mpi_share()).enumerate();
    // The first of equal ones.
    let most = shares.rev().max_by(|one, other| one.1.total_cmp(&other.1));
    if let Some((rank, share)) = most.filter(|_| profile.ranks.len() > 1) {
        text += &format!(", most by rank {rank} ({})", percent(share));
    }
    if let Some((function, counts)) = profile.functions.iter().find(|(function, _)| is_counted(*function)) {
        text += &format!("; {function} has {} of it", percent(share(counts.time, mpi)));
    }
    text + "."
}

pub fn info(answer: &info::Answer) -> String {
    let mut facts = Table::new().text(1);
    let text = |text: &str| if text.is_empty() { "not known".to_owned() } else { text.to_owned() };
    facts.row(["program", &text(&answer.program)]);
    facts.row(["MPI library", &text(&answer.library)]);
    facts.row(["format", &text(&answer.format)]);
    facts.row(["ranks", &grouped(answer.processes)]);
    facts.row(["hosts", &text(&shortened(&answer.hosts))]);
    facts.row(["length", &seconds(answer.length_seconds)]);
    facts.row(["calls", &grouped(answer.calls)]);
    if let (Some(bytes), Some(per_call)) = (answer.bytes, answer.bytes_per_call) {
        facts.row(["size", &format!("{}, {} bytes a call", Bytes(bytes), significant(per_call))]);
    }
    facts.row(["clock error", &clock_error(answer.clock_error_seconds)]);
    if !answer.unknown.is_empty() {
        facts.row(["not understood", &not_understood(&answer.unknown)]);
    }
    for note in &answer.notes {
        facts.row(["note", note]);
    }
    let further = further_runs(answer);
    format!("{}: a trace\n{facts}\n{}\n{}{further}", answer.trace, ranks(answer), communicators(answer))
}

/// How to look at the other runs of the same command.
fn further_runs(answer: &info::Answer) -> String {
    if answer.further_runs.is_empty() {
        return String::new();
    }
    let count = counted(answer.further_runs.len() as u64, "further run", "further runs");
    let mut text = format!("\nThe command started MPI more than once; {count} in the folder:\n");
    for run in answer.further_runs.iter().take(MOST_ROWS) {
        text += &format!("  straggler trace info {}\n", quoted(run));
    }
    text + &rest(answer.further_runs.len(), MOST_ROWS, "runs")
}

fn shortened(names: &[String]) -> String {
    match names.len() {
        0..=4 => names.join(", "),
        count => format!("{}, … ({} in all)", names[..3].join(", "), grouped(count as u64)),
    }
}

fn clock_error(error: Option<f64>) -> String {
    error.map_or_else(
        || "not known".into(),
        |error| format!("at most {}", Time((error * 1e12).round() as u64)),
    )
}

/// "3 calls of MPI_Foo, MPI_Bar".
pub fn not_understood(unknown: &std::collections::BTreeMap<String, u64>) -> String {
    let names: Vec<String> = unknown.keys().cloned().collect();
    format!(
        "{} of {}",
        counted(unknown.values().fold(0, |sum: u64, &count| sum.saturating_add(count)), "call", "calls"),
        shortened(&names)
    )
}

fn ranks(answer: &info::Answer) -> String {
    let names = ["rank", "host", "threads", "calls", "run", "in MPI", "clock error"];
    let mut table = Table::with_header(names).text(1);
    for rank in answer.ranks.iter().take(MOST_RANKS) {
        table.row([
            rank.rank.to_string(),
            rank.host.clone(),
            rank.threads.to_string(),
            grouped(rank.calls),
            seconds(rank.application_seconds),
            seconds(rank.mpi_seconds),
            clock_error(rank.clock_error_seconds).trim_start_matches("at most ").to_owned(),
        ]);
    }
    table.to_string() + &rest(answer.ranks.len(), MOST_RANKS, "ranks")
}

fn communicators(answer: &info::Answer) -> String {
    let mut table = Table::with_header(["communicator", "made by", "from", "ranks"]).text(1).text(3);
    for comm in answer.communicators.iter().take(MOST_ROWS) {
        let members = list(&comm.members);
        table.row([
            comm.number.to_string(),
            comm.name.clone(),
            comm.parent.map_or_else(String::new, |parent| parent.to_string()),
            if comm.remote.is_empty() { members } else { format!("{members} and {}", list(&comm.remote)) },
        ]);
    }
    table.to_string() + &rest(answer.communicators.len(), MOST_ROWS, "communicators")
}

/// A few ranks as they are, many by their number.
fn list(ranks: &[u32]) -> String {
    let texts: Vec<String> = ranks.iter().take(8).map(u32::to_string).collect();
    let more = if ranks.len() > 8 {
        format!(", … ({} in all)", grouped(ranks.len() as u64))
    } else {
        String::new()
    };
    texts.join(", ") + &more
}

fn rest(count: usize, shown: usize, what: &str) -> String {
    if count <= shown {
        return String::new();
    }
    format!("  … {} {what} in all; --json has all\n", grouped(count as u64))
}

pub fn show(answer: &show::Answer) -> String {
    let synthetic = if answer.synthetic { " The trace is synthetic." } else { "" };
    let parts = [
        format!("{}{synthetic}\n", answer.sentence),
        rank_times(answer),
        functions(answer),
        by_communicator(answer),
        by_region(answer),
        pairs(answer),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn rank_times(answer: &show::Answer) -> String {
    let mut table = Table::with_header(["rank", "run", "in MPI", "share", "calls"]);
    for rank in answer.ranks.iter().take(MOST_RANKS) {
        table.row([
            rank.rank.to_string(),
            seconds(rank.application_seconds),
            seconds(rank.mpi_seconds),
            percent(rank.mpi_share),
            grouped(rank.calls),
        ]);
    }
    table.row([
        "all".into(),
        seconds(answer.application_seconds),
        seconds(answer.mpi_seconds),
        percent(answer.mpi_share),
        grouped(answer.ranks.iter().fold(0, |sum: u64, rank| sum.saturating_add(rank.calls))),
    ]);
    table.to_string() + &rest(answer.ranks.len(), MOST_RANKS, "ranks")
}

fn functions(answer: &show::Answer) -> String {
    let names = ["function", "calls", "total", "mean", "longest", "of run", "of MPI", "sent", "received"];
    let mut table = Table::with_header(names);
    for function in answer.functions.iter().take(MOST_ROWS) {
        table.row([
            function.function.to_owned(),
            grouped(function.counts.calls),
            seconds(function.counts.seconds),
            seconds(function.mean_seconds),
            seconds(function.counts.longest_seconds),
            function.share_of_mpi.map_or_else(String::new, |_| percent(function.share_of_application)),
            function.share_of_mpi.map_or_else(String::new, percent),
            bytes(function.counts.bytes_sent),
            bytes(function.counts.bytes_received),
        ]);
    }
    table.to_string() + &rest(answer.functions.len(), MOST_ROWS, "functions")
}

fn bytes(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { Bytes(bytes).to_string() }
}

fn by_communicator(answer: &show::Answer) -> String {
    let names = ["communicator", "made by", "ranks", "calls", "total", "sent"];
    let mut table = Table::with_header(names).text(1);
    for comm in answer.communicators.iter().take(MOST_PAIRS) {
        table.row([
            comm.communicator.to_string(),
            comm.name.clone(),
            grouped(comm.size as u64),
            grouped(comm.counts.calls),
            seconds(comm.counts.seconds),
            bytes(comm.counts.bytes_sent),
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    table.to_string() + &rest(answer.communicators.len(), MOST_PAIRS, "communicators")
}

fn by_region(answer: &show::Answer) -> String {
    let names = [
        "region",
        "entries",
        "total",
        "in MPI",
        "share",
        "calls",
        "sent",
        "received",
        "slowest rank",
        "its time",
    ];
    let mut table = Table::with_header(names);
    for region in answer.regions.iter().take(MOST_ROWS) {
        table.row([
            printable(&region.name),
            grouped(region.total.entries),
            seconds(region.total.seconds),
            seconds(region.total.mpi_seconds),
            percent(region.total.mpi_share),
            grouped(region.total.calls),
            bytes(region.total.bytes_sent),
            bytes(region.total.bytes_received),
            region.slowest_rank.map_or_else(String::new, |rank| rank.to_string()),
            seconds(region.slowest_seconds),
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    table.to_string() + &rest(answer.regions.len(), MOST_ROWS, "regions")
}

/// Names are the program's; what would move the cursor is not.
pub fn printable(name: &str) -> String {
    name.chars()
        .map(|letter| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter })
        .collect()
}

fn pairs(answer: &show::Answer) -> String {
    let mut largest: Vec<&show::PairAnswer> = answer.matrix.iter().collect();
    largest.sort_by_key(|pair| std::cmp::Reverse(pair.bytes));
    let mut table = Table::with_header(["from", "to", "messages", "bytes", "a message"]);
    for pair in largest.into_iter().take(MOST_PAIRS) {
        table.row([
            pair.from.to_string(),
            pair.to.to_string(),
            grouped(pair.messages),
            Bytes(pair.bytes).to_string(),
            Bytes(pair.bytes / pair.messages.max(1)).to_string(),
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    table.to_string() + &rest(answer.matrix.len(), MOST_PAIRS, "pairs")
}
