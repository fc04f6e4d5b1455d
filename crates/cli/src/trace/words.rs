//! Traces as text.

use crate::kernel::prelude::*;
use crate::trace::{info as trace_info, page, show as trace_show};
use std::collections::BTreeSet;
use straggler_trace::profile::{Profile, is_counted, share};

/// Most rows of a table; the rest are only counted.
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
    // `rev` makes this the first of equal ones.
    let most = shares.rev().max_by(|one, other| one.1.total_cmp(&other.1));
    if let Some((rank, share)) = most.filter(|_| profile.ranks.len() > 1) {
        text += &format!(", most by rank {rank} ({})", percent(share));
    }
    if let Some((function, counts)) = profile.functions.iter().find(|(function, _)| is_counted(*function)) {
        text += &format!("; {function} has {} of it", percent(share(counts.time, mpi)));
    }
    text + "."
}

pub fn info(answer: &trace_info::InfoAnswer) -> String {
    let mut facts = Table::facts();
    let text = |text: &str| if text.is_empty() { "unknown".to_owned() } else { text.to_owned() };
    facts.row(["program", &text(&answer.program)]);
    facts.row(["MPI library", &text(&answer.library)]);
    facts.row(["format", &text(&answer.format)]);
    facts.row(["ranks", &grouped(answer.processes)]);
    facts.row(["hosts", &text(&shortened(&answer.hosts))]);
    facts.row(["length", &seconds(answer.length_seconds)]);
    facts.row(["calls", &grouped(answer.calls)]);
    if let (Some(bytes), Some(per_call)) = (answer.bytes, answer.bytes_per_call) {
        facts.row(["size", &format!("{}, {} bytes per call", Bytes(bytes), significant(per_call))]);
    }
    if !answer.call_sites.is_empty() {
        let modules: BTreeSet<&String> = answer.call_sites.iter().map(|place| &place.module).collect();
        let sites = grouped(answer.call_sites.len() as u64);
        let modules = counted(modules.len() as u64, "module", "modules");
        facts.row(["call sites", &format!("{sites} in {modules}; `straggler trace show` lists them")]);
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

/// How to show the other runs of the same command.
fn further_runs(answer: &trace_info::InfoAnswer) -> String {
    if answer.further_runs.is_empty() {
        return String::new();
    }
    let count = counted(answer.further_runs.len() as u64, "further run", "further runs");
    let mut text = format!("\nThe command started MPI more than once; {count} in this folder:\n");
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
    error.map_or_else(|| "unknown".into(), |error| format!("at most {}", Time((error * 1e12).round() as u64)))
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

fn ranks(answer: &trace_info::InfoAnswer) -> String {
    let table = Columns::over(answer.ranks.iter().take(MOST_RANKS))
        .number("rank", |row| Cell::id(row.rank))
        .text("host", |row| &row.host)
        .number("threads", |row| Cell::id(row.threads))
        .number("calls", |row| Cell::count(row.calls))
        .number("run", |row| Cell::seconds(row.application_seconds))
        .number("in MPI", |row| Cell::seconds(row.mpi_seconds))
        .number("clock error", |row| {
            clock_error(row.clock_error_seconds).trim_start_matches("at most ").to_owned()
        })
        .build();
    table.to_string() + &rest(answer.ranks.len(), MOST_RANKS, "ranks")
}

fn communicators(answer: &trace_info::InfoAnswer) -> String {
    let table = Columns::over(answer.communicators.iter().take(MOST_ROWS))
        .number("communicator", |row| Cell::id(row.number))
        .text("made by", |row| &row.name)
        .number("from", |row| row.parent.map(|parent| Cell::id(parent.0)))
        .text("ranks", |row| match row.remote.as_slice() {
            [] => list(&row.members),
            remote => format!("{} and {}", list(&row.members), list(remote)),
        })
        .build();
    table.to_string() + &rest(answer.communicators.len(), MOST_ROWS, "communicators")
}

/// Lists a few ranks, but only counts many.
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

/// `waits`: who waits for whom, in a sentence.
pub fn show(answer: &trace_show::ShowAnswer, waits: Option<&str>) -> String {
    let synthetic = if answer.synthetic && waits.is_none() { " The trace is synthetic." } else { "" };
    let next = waits.is_some();
    let waits = waits.map_or_else(String::new, |waits| format!("{waits}\n"));
    let trace = quoted(&answer.trace);
    let parts = [
        format!("{}{}{synthetic}\n{waits}", answer.sentence, paused(answer)),
        rank_times(answer),
        functions(answer),
        shown(&answer.communicators, MOST_PAIRS, "communicators", page::communicators),
        shown(&answer.regions, MOST_ROWS, "regions", page::regions),
        shown(&answer.call_sites, MOST_ROWS, "call sites", page::call_sites),
        shown(&answer.message_sizes, MOST_ROWS, "sizes", page::sizes),
        shown(&answer.matrix, MOST_PAIRS, "pairs", |_| page::largest_pairs(&answer.matrix, MOST_PAIRS)),
        match next {
            true => format!(
                "Who waits for whom, and why: straggler trace waits {trace}\nWhat a change would gain: straggler \
                 whatif {trace} --search\n"
            ),
            false => String::new(),
        },
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn paused(answer: &trace_show::ShowAnswer) -> String {
    match answer.paused_seconds > 0.0 {
        true => format!(
            " The program paused recording for {} of all ranks' time; the tables do not include it.",
            seconds(answer.paused_seconds)
        ),
        false => String::new(),
    }
}

/// The first rows of a table, and their total number; empty if there are none.
fn shown<R>(rows: &[R], most: usize, what: &str, table: impl FnOnce(&[R]) -> Table) -> String {
    if rows.is_empty() {
        return String::new();
    }
    format!("{}{}", table(&rows[..rows.len().min(most)]), rest(rows.len(), most, what))
}

fn rank_times(answer: &trace_show::ShowAnswer) -> String {
    let mut table = page::ranks(&answer.ranks[..answer.ranks.len().min(MOST_RANKS)]);
    table.row(page::all_ranks(answer));
    table.to_string() + &rest(answer.ranks.len(), MOST_RANKS, "ranks")
}

fn functions(answer: &trace_show::ShowAnswer) -> String {
    let table = page::functions(&answer.functions[..answer.functions.len().min(MOST_ROWS)]);
    table.to_string() + &rest(answer.functions.len(), MOST_ROWS, "functions")
}
