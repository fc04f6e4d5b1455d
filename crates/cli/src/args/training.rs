//! `straggler training` as typed.

mod whatif;

pub use whatif::WhatIf;

use super::report::ReportOption;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::str::FromStr;
use straggler_training::synthetic::What;

const EXAMPLES: &str = "\
EXAMPLES
  straggler training generate --slow 2/1:1.6@5 -o job.csv
  straggler training show job.csv
  straggler training whatif job.csv --mend 6";

/// Who holds up a training job on many GPUs, and what mending it would win
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Training {
    #[command(subcommand)]
    pub command: TrainingCommand,
}

#[derive(Debug, Subcommand)]
pub enum TrainingCommand {
    /// How much longer the steps take than they could, who is to blame, and what each cause costs
    Show(Box<Show>),
    /// What slow or lost workers, slow links and noise would cost the job, or what mending would win
    #[command(name = "whatif")]
    WhatIf(Box<WhatIf>),
    /// Write a job as a trace, for timelines, what-ifs, and simulation with noise and on more ranks
    Convert(Box<Convert>),
    /// Write a synthetic job with known faults, to try the analysis on
    Generate(Box<Generate>),
}

const SHOW_EXAMPLES: &str = "\
EXAMPLES
  straggler training show fixtures/training/slow-worker.csv
  straggler training show fixtures/training/slow-worker.csv --report job.html
  straggler training show fixtures/training/last-stage.csv --layers 32
  straggler training show fixtures/training/last-stage.csv \\
      --method published --json

WHAT IS READ
  a table of operations  Parquet or CSV, one file or one a rank; see docs/guide/training.md
  PyTorch profiler       one .json or .json.gz a rank, or their folder
  Chakra, PyTorch execution traces, NCCL Inspector";

#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub struct Show {
    /// The recording of a job: a table of operations, files of a profiler, one a rank, or their folder
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The description of the job beside its table: dp_size, pp_size, tp_size and so on
    #[arg(long, value_name = "META.yaml")]
    pub meta: Option<PathBuf>,
    /// How the job is analysed
    #[arg(long, value_enum, default_value = "exact")]
    pub method: Method,
    /// The layers of the model, or those of every stage (8,8,8,6): tells which split would be best
    #[arg(long, value_name = "LAYERS", value_delimiter = ',')]
    pub layers: Vec<u32>,
    #[command(flatten)]
    pub report: ReportOption,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Method {
    /// A graph for every worker and step, and ideal times that one worker cannot move
    Exact,
    /// As Lin et al. (OSDI 2025) published it: one graph for all, means and medians over everything
    Published,
}

const CONVERT_EXAMPLES: &str = "\
EXAMPLES
  straggler training convert fixtures/training/last-stage.csv -o last-stage
  straggler training convert fixtures/training/slow-worker.csv -o slow \\
      --activations 32MiB --gradients 2GiB

The trace is one of `straggler trace`: see it with `straggler trace show`, change it with `straggler whatif`,
simulate it with `straggler simulate DIR --copies 256 --network NAME --noise …`. Copies extend the
data-parallel dimension: its collectives, and those of all ranks, grow with them";

#[derive(Debug, Args)]
#[command(after_help = CONVERT_EXAMPLES)]
pub struct Convert {
    /// A table of operations, or those of a folder
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Where the trace goes: a folder that does not exist yet
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// What a microbatch sends from stage to stage; guessed from how long that took, at 25 GB/s
    #[arg(long, value_name = "BYTES", value_parser = straggler_model::units::bytes)]
    pub activations: Option<u64>,
    /// The gradients of a stage; guessed likewise
    #[arg(long, value_name = "BYTES", value_parser = straggler_model::units::bytes)]
    pub gradients: Option<u64>,
}

const GENERATE_EXAMPLES: &str = "\
EXAMPLES
  straggler training generate -o healthy.csv
  straggler training generate --dp 8 --pp 2 --slow 3/0:1.5@10 -o slow.csv
  straggler training generate --lengths 0.3 --last-stage 0.2 -o uneven.csv
  straggler training generate --slow 2/1:1.6@5 --to kineto -o profiled

FAULTS  DP/STAGE:HOW_MUCH[@STEP]: data-parallel rank and stage of a worker, how much, and since which step";

#[derive(Debug, Args)]
#[command(after_help = GENERATE_EXAMPLES)]
pub struct Generate {
    /// Where the job goes: a file for a table, a folder for the files of a profiler
    #[arg(short, long, value_name = "OUT.csv|DIR")]
    pub output: PathBuf,
    /// What is written
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "table")]
    pub to: JobFormat,
    /// Data-parallel ranks
    #[arg(long, value_name = "COUNT", default_value = "4", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub dp: u32,
    /// Stages of the pipeline
    #[arg(long, value_name = "COUNT", default_value = "4", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub pp: u32,
    /// Microbatches of a step
    #[arg(long, value_name = "COUNT", default_value = "8", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub microbatches: u32,
    #[arg(long, value_name = "COUNT", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=100_000), help = "Steps")]
    pub steps: u32,
    /// How much longer the last stage computes, as a share
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    pub last_stage: f64,
    /// How much microbatches differ in length: the standard deviation, as a share
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    pub lengths: f64,
    /// How much computing differs by chance: the standard deviation, as a share
    #[arg(long, value_name = "SHARE", default_value = "0.01", value_parser = share)]
    pub jitter: f64,
    /// A worker that computes so many times as long
    #[arg(long, value_name = "DP/STAGE:TIMES[@STEP]")]
    pub slow: Vec<WorkerFault>,
    /// A worker whose transfers take so many times as long
    #[arg(long, value_name = "DP/STAGE:TIMES[@STEP]")]
    pub link: Vec<WorkerFault>,
    /// A worker whose host is late by so many seconds, once a step
    #[arg(long, value_name = "DP/STAGE:SECONDS[@STEP]")]
    pub stall: Vec<WorkerFault>,
}

/// What a job is written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum JobFormat {
    /// One row for every operation, as CSV
    Table,
    /// What the PyTorch profiler would have written: rank-0.json and so on
    Kineto,
    /// The same, compressed: rank-0.json.gz and so on
    KinetoGz,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=10.0).contains(&share) => Ok(share),
        _ => Err("give a number from 0 to 10: 0.2 is 20 %".into()),
    }
}

/// A fault of a worker, of a kind that the option says.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WorkerFault {
    pub dp_rank: u32,
    pub stage: u32,
    pub how_much: f64,
    pub from_step: u32,
}

impl WorkerFault {
    pub fn fault(self, what: impl Fn(f64) -> What) -> straggler_training::synthetic::Fault {
        let WorkerFault { dp_rank, stage, how_much, from_step } = self;
        straggler_training::synthetic::Fault { dp_rank, stage, from_step, what: what(how_much) }
    }
}

impl FromStr for WorkerFault {
    type Err = String;

    fn from_str(text: &str) -> Result<WorkerFault, String> {
        let wrong = || "give DP/STAGE:HOW_MUCH or DP/STAGE:HOW_MUCH@STEP, such as 3/0:1.5@10".to_string();
        let (place, rest) = text.split_once(':').ok_or_else(wrong)?;
        let (dp_rank, stage) = place.split_once('/').ok_or_else(wrong)?;
        let (how_much, from_step) = rest.split_once('@').unwrap_or((rest, "0"));
        let how_much: f64 = how_much.parse().map_err(|_| wrong())?;
        Ok(WorkerFault {
            dp_rank: dp_rank.parse().map_err(|_| wrong())?,
            stage: stage.parse().map_err(|_| wrong())?,
            how_much,
            from_step: from_step.parse().map_err(|_| wrong())?,
        })
    }
}
