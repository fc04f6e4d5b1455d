//! `straggler measure merge`: several files of measured latencies become one.

use crate::args::measure::Merge;
use crate::commands::refuse_missing_folder;
use crate::console::Console;
use crate::exit::{Outcome, Wanted, mistaken};
use serde::Serialize;
use std::path::Path;
use straggler_model::latency::{LatencyError, Measurement, read, write};
use straggler_report::numbers::counted;

pub fn run(typed: &Merge, console: &Console) -> Outcome<()> {
    refuse_missing_folder(&typed.output)?;
    let mut merged: Option<Measurement> = None;
    for path in &typed.files {
        let next = one(path)?;
        merged = Some(match merged {
            None => next,
            Some(mut all) => {
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
