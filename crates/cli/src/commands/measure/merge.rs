//! `straggler measure merge`: several files of measured latencies become one.

use crate::args::measure::Merge;
use crate::commands::refuse_missing_folder;
use crate::console::Console;
use crate::exit::{Failure, Outcome, Wanted, mistaken};
use serde::Serialize;
use std::path::Path;
use straggler_model::latency::{LatencyError, Measurement, Series, read, write};
use straggler_report::numbers::counted;

pub fn run(typed: &Merge, console: &Console) -> Outcome<()> {
    refuse_missing_folder(&typed.output)?;
    refuse_same_files(typed)?;
    let mut merged: Option<Measurement> = None;
    for path in &typed.files {
        let next = one(path)?;
        merged = Some(match merged {
            None => next,
            Some(mut all) => {
                refuse_same_cycles(path, &all, &next)?;
                refuse_other_ranks(path, &all, &next)?;
                all.merge(&next).map_err(|fault| LatencyError::Merge { path: path.clone(), fault })?;
                all
            }
        });
    }
    let merged = merged.unwrap_or_default();
    write(&typed.output, &merged)?;
    let answer = Answer::of(typed, &merged);
    if console.json { console.print_json(&answer) } else { console.print(&answer.say()) }
}

/// Trials that are there twice would count twice, and a file that is written over is lost.
fn refuse_same_files(typed: &Merge) -> Outcome<()> {
    let place = |path: &Path| path.canonicalize().ok();
    for (number, path) in typed.files.iter().enumerate() {
        let is_this = |other: &Path| place(other).is_some() && place(other) == place(path);
        if typed.files[..number].iter().any(|other| is_this(other)) {
            return Err(Failure::usage(format!(
                "{}: it is given twice, and its trials would count twice: give it once",
                path.display()
            )));
        }
        if is_this(&typed.output) {
            return Err(Failure::usage(format!(
                "-o {}: this is one of the files that are merged, and it would be written over: choose another name",
                typed.output.display()
            )));
        }
    }
    Ok(())
}

/// A file that was merged before is part of another one. Two cycles of one series do not begin in the same nanosecond.
fn refuse_same_cycles(path: &Path, all: &Measurement, next: &Measurement) -> Outcome<()> {
    let is_there = |series: &Series| {
        all.find(&series.labels).is_some_and(|known| {
            series
                .cycles
                .iter()
                .any(|cycle| cycle.started_ns > 0 && known.cycles.binary_search(cycle).is_ok())
        })
    };
    match next.series.iter().find(|series| is_there(series)) {
        None => Ok(()),
        Some(series) => Err(Failure::bad_input(format!(
            "{}: {}: its cycles are in a file before it as well, and their trials would count twice: leave one of the files out",
            path.display(),
            series.labels
        ))),
    }
}

/// Other ranks are another placement. Whether processes that no file describes ran elsewhere is not known.
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
            "{}: its processes are not those of the files before it: rank {rank} is in one of them only; merge files of the same \
             placement",
            path.display()
        ))),
    }
}

fn one(path: &Path) -> Outcome<Measurement> {
    read(path).map_err(|fault| mistaken(path, Wanted::Latencies).unwrap_or_else(|| fault.into()))
}

#[derive(Serialize)]
struct Answer {
    output: String,
    files: u64,
    series: u64,
    trials: u128,
}

impl Answer {
    fn of(typed: &Merge, merged: &Measurement) -> Answer {
        Answer {
            output: typed.output.display().to_string(),
            files: typed.files.len() as u64,
            series: merged.series.len() as u64,
            trials: merged.series.iter().map(|series| u128::from(series.trials.count())).sum(),
        }
    }

    fn say(&self) -> String {
        format!(
            "{} has the {} of {}, in {}.\n",
            self.output,
            counted(u64::try_from(self.trials).unwrap_or(u64::MAX), "trial", "trials"),
            counted(self.files, "file", "files"),
            counted(self.series, "series", "series"),
        )
    }
}
