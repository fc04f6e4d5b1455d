//! `straggler study` as typed.

use super::device::DeviceOption;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use straggler_analysis::study::share;

const EXAMPLES: &str = "\
EXAMPLES
  straggler study check examples/studies/allreduce.toml
  straggler study run examples/studies/allreduce.toml -o allreduce
  straggler study show allreduce --quantile 0.9
  straggler study export allreduce -o allreduce.csv

A STUDY is a TOML file. Every key that spans the product takes one value or a list:
  name = \"Allreduce under noise\"
  replicas = 100                          # of each point, at most
  until-ci = \"2%\"                         # fewer where the median is known so well
  processes = \"2..4096\"                   # 2, 4, 8, …; \"4..4096 x4\", 100, [100, 1000]
  collective = \"allreduce:dissemination\"  # or workload = \"pop\", goal = \"ring.goal\",
                                          # trace = \"run\" with copies = [1, 16, 256]
  size = [\"8\", \"1MiB\"]
  network = \"chic\"                        # network-scale = [0.1, 1, 10]
  latency-distribution = \"four.lat\"       # measured; latency-is, latency-size
  noise = \"chic\"                          # as --noise takes it, or a signature's name
  cosched = [false, true]
  seed = 1
  [[sweep]]                               # adds the same with these keys changed; any number
  name = \"Altix\"
  network = \"altix\"
  noise = \"altix\"";

/// Run many simulations of many settings, from one file
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Study {
    #[command(subcommand)]
    pub command: StudyCommand,
}

#[derive(Debug, Subcommand)]
pub enum StudyCommand {
    /// Run a study, or resume one that was interrupted
    Run(Run),
    /// What a study found out
    Show(Show),
    /// The results of a study as another file
    Export(Export),
    /// What a study will run, without running it
    Check(Check),
}

const RUN_EXAMPLES: &str = "\
EXAMPLES
  straggler study run examples/studies/allreduce.toml -o allreduce
  straggler study run examples/studies/co-scheduling.toml -o cosched \\
      --until-ci 5% --csv

What is found is kept as it comes: interrupted or killed, the same command goes on where it was. The
folder then holds report.html to look at, results.parquet (a row for each replica; the same bytes
whenever, wherever and on however many threads it was run), study.page for `straggler report`,
study.toml, provenance.json (when, where and how long), and the journal.";

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub struct Run {
    /// The study
    #[arg(value_name = "FILE.toml")]
    pub file: PathBuf,
    /// The folder for what is found; the name of the file without .toml unless given
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Stop at fewer replicas where the 95 % interval of the median is narrower than this share of it
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    pub until_ci: Option<f64>,
    /// Throw away what an earlier run has found
    #[arg(long)]
    pub fresh: bool,
    /// Noise is the bottleneck where it makes the median slower by more than this
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = share)]
    pub threshold: f64,
    /// Also write results.csv
    #[arg(long)]
    pub csv: bool,
    #[command(flatten)]
    pub device: DeviceOption,
}

const SHOW_EXAMPLES: &str = "\
EXAMPLES
  straggler study run examples/studies/allreduce.toml -o allreduce
  straggler study show allreduce
  straggler study show allreduce/results.parquet --quantile 0.9 --json";

#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub struct Show {
    /// The folder of a study, or its results
    #[arg(value_name = "DIR|results.parquet")]
    pub study: PathBuf,
    /// Also tell these quantiles, with their intervals; needs enough replicas
    #[arg(long, value_name = "Q,…", value_delimiter = ',')]
    pub quantile: Vec<f64>,
    /// Noise is the bottleneck where it makes the median slower by more than this
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = share)]
    pub threshold: f64,
}

const EXPORT_EXAMPLES: &str = "\
EXAMPLES
  straggler study run examples/studies/allreduce.toml -o allreduce
  straggler study export allreduce -o allreduce.csv
  straggler study export allreduce -o summary.json --summary";

#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub struct Export {
    /// The folder of a study, or its results
    #[arg(value_name = "DIR|results.parquet")]
    pub study: PathBuf,
    /// Where to; the ending says what it becomes
    #[arg(short, long, value_name = "OUT.csv|OUT.json|OUT.parquet")]
    pub output: PathBuf,
    /// A row for each point instead of each replica; CSV or JSON
    #[arg(long)]
    pub summary: bool,
    /// Noise is the bottleneck where it makes the median slower by more than this
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = share)]
    pub threshold: f64,
}

const CHECK_EXAMPLES: &str = "\
EXAMPLES
  straggler study check examples/studies/allreduce.toml";

#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct Check {
    /// The study
    #[arg(value_name = "FILE.toml")]
    pub file: PathBuf,
}
