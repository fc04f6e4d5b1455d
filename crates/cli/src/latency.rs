//! Latencies: measuring, showing, merging, comparing and diagnosing them, and drawing them in simulations.

pub mod compare;
pub mod diagnose;
pub mod drawn;
pub mod file;
pub mod measure;
pub mod page;
pub mod words;

use crate::kernel::prelude::*;
use crate::latency::measure::{Measure, MeasureLatencyAnswer};
use crate::{latency::compare::Compare, latency::diagnose::Diagnose, papers::resample::Resample};
use straggler_model::latency::{LatencyError, Measurement, write};
use straggler_model::units::TimeUnit;

const EXAMPLES: &str = "\
EXAMPLES
  Round trips over TCP, measured and shown again:
  straggler latency measure --kernel tcp --trials 1000 -o tcp.lat
  straggler latency show tcp.lat

  Did an update make them slower?
  straggler latency compare fixtures/latency/before.lat \\
      fixtures/latency/after.lat

Between the processes of an MPI job: `straggler mpi latency` and, for the
parameters of a network, `straggler mpi loggp`.";

/// Measure, show, compare and diagnose latencies
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Latency {
    #[command(subcommand)]
    pub command: LatencyCommand,
}

#[derive(Debug, Subcommand)]
pub enum LatencyCommand {
    /// Measure the latency distribution of communication, system calls or a command
    Measure(Box<Measure>),
    /// Show the distributions in a file of measured latencies
    Show(Show),
    /// Compare measured latencies: where they differ, by how much, and with what confidence
    Compare(Box<Compare>),
    /// Find likely causes in the distribution of measured latencies, with the evidence
    Diagnose(Box<Diagnose>),
    /// Merge several measurements of the same latencies into one file
    Merge(Merge),
    /// Resample measured exchange times to all-to-alls on more processors
    Resample(Box<Resample>),
}

impl Check for LatencyCommand {
    fn check(&self) -> Outcome<()> {
        match self {
            LatencyCommand::Compare(typed) => typed.check(),
            LatencyCommand::Diagnose(typed) => typed.check(),
            LatencyCommand::Merge(typed) => typed.check(),
            LatencyCommand::Show(_) => Ok(()),
            // They have plans of their own.
            LatencyCommand::Measure(_) | LatencyCommand::Resample(_) => Ok(()),
        }
    }
}

pub fn run(command: &Valid<LatencyCommand>, seed: u64, console: &Console) -> Outcome<()> {
    match &**command {
        LatencyCommand::Show(typed) => show(typed, console),
        LatencyCommand::Compare(typed) => compare::run(typed, seed, console),
        LatencyCommand::Diagnose(typed) => diagnose::run(typed, console),
        LatencyCommand::Merge(typed) => merge(typed, console),
        // They have plans of their own.
        LatencyCommand::Measure(_) | LatencyCommand::Resample(_) => Ok(()),
    }
}

const SHOW_EXAMPLES: &str = "\
EXAMPLES
  straggler latency show fixtures/latency/before.lat
  straggler latency show fixtures/latency/before.lat --json
  straggler latency show fixtures/latency/synthetic.txt";

/// Show the distributions in a file of measured latencies
#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub struct Show {
    /// Measured latencies: a .lat file, or text with one time per line
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Unit of plain numbers in a text file: ns, us, ms, …
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<TimeUnit>,
}

pub fn show(typed: &Show, console: &Console) -> Outcome<()> {
    let file = file::read(&typed.file, typed.unit)?;
    if console.json {
        return console.print_json(&MeasureLatencyAnswer::new(&file.measurement));
    }
    file.warnings.iter().for_each(|warning| console.warn(warning));
    console.print(&words::summary(&file.measurement))
}

const MERGE_EXAMPLES: &str = "\
EXAMPLES
  Merge two synthetic measurements of the same kernel:
  straggler latency merge fixtures/latency/before.lat \\
      fixtures/latency/after.lat -o both.lat

All files must have the same kernel, bins and placement. For others use
`straggler latency compare`. Every file is a run, and the merged file keeps its
runs apart: `straggler latency compare` sees how much they vary.";

/// Merge several measurements of the same latencies into one file
#[derive(Debug, Args)]
#[command(after_help = MERGE_EXAMPLES)]
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

fn merge(typed: &Merge, console: &Console) -> Outcome<()> {
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
