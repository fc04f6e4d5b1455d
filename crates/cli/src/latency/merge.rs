//! `straggler latency merge`: merges several files of measured latencies.

use crate::kernel::console::Console;
use crate::kernel::exit::{Failure, Outcome};
use crate::latency::file;
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use straggler_model::latency::{LatencyError, Measurement, write};
use straggler_model::units::TimeUnit;
use straggler_report::numbers::counted;

const EXAMPLES: &str = "\
EXAMPLES
  Merge two synthetic measurements of the same kernel:
  straggler latency merge fixtures/latency/before.lat \\
      fixtures/latency/after.lat -o both.lat

All files must have the same kernel, bins and placement. For others use
`straggler latency compare`. Every file is a run, and the merged file keeps its
runs apart: `straggler latency compare` sees how much they vary.";

/// Merge several measurements of the same latencies into one file
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Merge {
    /// Measured latencies, two or more: .lat files, or text with one time per line
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    pub files: Vec<PathBuf>,
    /// Unit of plain numbers in text files: ns, us, ms, …
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<TimeUnit>,
    /// Write the merged measurement to a file
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

pub fn run(typed: &Merge, console: &Console) -> Outcome<()> {
    let mut merged: Option<Measurement> = None;
    for path in &typed.files {
        let mut next = file::read(path, typed.unit)?.measurement.as_runs();
        merged = Some(match merged {
            None => next,
            Some(mut all) => {
                refuse_same_run(path, &all, &next)?;
                file::append_cycles(&all, &mut next);
                refuse_other_ranks(path, &all, &next)?;
                all.merge(&next).map_err(|fault| LatencyError::Merge { path: path.clone(), fault })?;
                all
            }
        });
    }
    let merged = merged.unwrap_or_default();
    write(&typed.output, &merged)?;
    let answer = MergeAnswer::new(typed, &merged);
    if console.json { console.print_json(&answer) } else { console.print(&answer.summary()) }
}

/// Refuses a file that is already part of the merged ones.
fn refuse_same_run(path: &Path, all: &Measurement, next: &Measurement) -> Outcome<()> {
    if !next.runs().any(|run| all.runs().any(|known| known == run)) {
        return Ok(());
    }
    Err(Failure::bad_input(format!(
        "{}: an earlier file has the same run, and its trials would count twice: remove one of the files",
        path.display()
    )))
}

/// Refuses a file with other ranks, which means another placement. A file that describes no processes is not checked.
fn refuse_other_ranks(path: &Path, all: &Measurement, next: &Measurement) -> Outcome<()> {
    if all.processes.is_empty() || next.processes.is_empty() {
        return Ok(());
    }
    let only = |one: &Measurement, other: &Measurement| {
        one.processes.iter().map(|process| process.rank).find(|&rank| other.process(rank).is_none())
    };
    match only(next, all).or_else(|| only(all, next)) {
        None => Ok(()),
        Some(rank) => Err(Failure::bad_input(format!(
            "{}: its processes differ from those of the earlier files: rank {rank} is in only one of them; \
             merge files of the same placement",
            path.display()
        ))),
    }
}

#[derive(Serialize)]
struct MergeAnswer {
    output: String,
    files: u64,
    series: u64,
    trials: u128,
}

impl MergeAnswer {
    fn new(typed: &Merge, merged: &Measurement) -> MergeAnswer {
        MergeAnswer {
            output: typed.output.display().to_string(),
            files: typed.files.len() as u64,
            series: merged.series.len() as u64,
            trials: merged.series.iter().map(|series| u128::from(series.trials.count())).sum(),
        }
    }

    fn summary(&self) -> String {
        format!(
            "{} has the {} of {}, in {}.\n",
            self.output,
            counted(u64::try_from(self.trials).unwrap_or(u64::MAX), "trial", "trials"),
            counted(self.files, "file", "files"),
            counted(self.series, "series", "series"),
        )
    }
}
