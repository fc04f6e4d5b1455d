//! What a file is that was given in place of a trace.

use crate::exit::Failure;
use std::io::Read;
use std::path::Path;
use straggler_model::noise::format;
use straggler_schedule::goal;
use straggler_trace::Trace;

/// So much of a file tells what it is.
const START: u64 = 4096;

/// Why a file is no trace, and what takes it; nothing where that cannot be told.
pub fn mistaken(path: &Path) -> Option<Failure> {
    let mut start = Vec::new();
    std::fs::File::open(path).ok()?.take(START).read_to_end(&mut start).ok()?;
    let (what, taken) = kind(path, &start)?;
    Some(Failure::bad_input(format!("{} is {what}, not a trace: {taken}", path.display())))
}

/// What it is, and which command or option takes it.
fn kind(path: &Path, start: &[u8]) -> Option<(&'static str, &'static str)> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "toml" => {
            return Some(("a TOML file", "a study is for `straggler study run`, a network for --network"));
        }
        "parquet" => return Some(("a table of results", "`straggler study show` takes those of a study")),
        "html" | "page" => return Some(("a report", "`straggler report` puts reports together")),
        _ => {}
    }
    if is_goal(start) {
        let taken =
            "`straggler simulate` takes it as FILE, `straggler assess` with --goal, a study as `goal`";
        return Some(("a GOAL schedule", taken));
    }
    if ending == "csv" || is_table(start) {
        return Some((
            "a CSV table",
            "give what `straggler trace -o DIR -- mpirun …` recorded: the folder DIR",
        ));
    }
    let taken = "give it with --noise, or `straggler assess` as its FILE";
    format::detect(start).filter(|_| is_measured(start)).map(|_| ("a recording of noise", taken))
}

/// Whether it begins as recordings of noise do: with a comment, numbers, or bytes that are no text.
fn is_measured(start: &[u8]) -> bool {
    let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
    first.is_some_and(|first| *first == b'#' || first.is_ascii_digit() || !first.is_ascii())
        || std::str::from_utf8(start).is_err()
}

fn is_goal(start: &[u8]) -> bool {
    let first_words =
        || String::from_utf8_lossy(start).lines().any(|line| line.trim_start().starts_with("num_ranks"));
    goal::Format::of(start) == Some(goal::Format::Binary) || first_words()
}

/// Whether two lines have the same number of commas, and any.
fn is_table(start: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(start) else { return false };
    let mut commas = text.lines().map(|line| line.matches(',').count());
    matches!((commas.next(), commas.next()), (Some(first), Some(second)) if first > 0 && first == second)
}

/// The stream of a rank alone, where others lie beside it, cannot be replayed.
pub fn refuse_one_of_many(path: &Path, trace: &Trace) -> Result<(), Failure> {
    let there = trace.ranks.iter().filter(|rank| !rank.calls.is_empty()).count();
    let folder = path.parent().filter(|_| path.is_file() && there == 1 && trace.processes() > 1);
    let Some(folder) = folder.filter(|folder| straggler_trace::format::directory::is_trace(folder)) else {
        return Ok(());
    };
    Err(Failure::bad_input(format!(
        "{} is the stream of one rank of {}: give the folder with all of them, {}",
        path.display(),
        trace.processes(),
        folder.display()
    )))
}
