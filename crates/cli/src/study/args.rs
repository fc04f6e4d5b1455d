//! `straggler study` as typed.

use crate::kernel::checks::{ChecksOption, limits_help};
use crate::kernel::devices::DeviceOption;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use straggler_analysis::study::share;

const EXAMPLES: &str = "\
EXAMPLES
  straggler study check examples/studies/allreduce.toml
  straggler study run examples/studies/allreduce.toml -o allreduce
  straggler study show allreduce --quantile 0.9
  straggler study export allreduce -o allreduce.csv

A STUDY is a TOML file. Most keys take one value or a list; a list runs every
combination:
  name = \"Allreduce under noise\"
  replicas = 100                          # of each point, at most
  until-ci = \"2%\"                         # stop earlier at this precision
  processes = \"2..4096\"                   # 2, 4, 8, …; or \"4..4096 x4\",
                                          # 100, [100, 1000]
  collective = \"allreduce:dissemination\"  # or workload = \"pop\",
                                          # goal = \"ring.goal\", trace = \"run\"
                                          # with copies = [1, 16, 256]
  size = [\"8\", \"1MiB\"]
  network = \"chic\"                        # network-scale = [0.1, 1, 10]
  latency-distribution = \"four.lat\"       # measured; latency-is, latency-size
  noise = \"chic\"                          # as in --noise, or a signature
  cosched = [false, true]
  seed = 1
  [[sweep]]                               # repeat with these keys changed
  name = \"Altix\"
  network = \"altix\"
  noise = \"altix\"";

/// Run a parameter study: many simulations, defined in one file
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
    /// Show the results of a study
    Show(Show),
    /// Export the results of a study as CSV, JSON or Parquet
    Export(Export),
    /// Show what a study would run, without running it
    Check(Check),
}

/// The metrics of a study, for `run` and `show`.
macro_rules! study_metrics_help {
    () => {
        "\
METRICS  for --fail-if and --prometheus
  slowdown@P   T/T0 - 1 of the median on P processes, for each series:
               'slowdown[barrier]@1024>50%', 'slowdown@1024>2x'
  inflection   processes from which noise costs more than the threshold:
               'inflection<4096'
"
    };
}

const RUN_EXAMPLES: &str = concat!(
    "\
EXAMPLES
  straggler study run examples/studies/allreduce.toml -o allreduce
  straggler study run examples/studies/co-scheduling.toml -o cosched \\
      --until-ci 5% --csv

Results are saved as they arrive: after an interruption or a kill, the same
command resumes the study. The folder holds report.html, results.parquet (one
row per replica; byte-identical on any machine and any number of threads),
study.page for `straggler report`, study.toml, provenance.json (when, where and
how long), and the journal.

",
    study_metrics_help!(),
    limits_help!()
);

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub struct Run {
    /// The study
    #[arg(value_name = "FILE.toml")]
    pub file: PathBuf,
    /// Folder for the results [default: the name of the file without .toml]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Stop a point early if the 95 % interval of its median is narrower than this share of the median
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    pub until_ci: Option<f64>,
    /// Discard the results of an earlier run
    #[arg(long)]
    pub fresh: bool,
    /// Slowdown of the median above which noise counts as the bottleneck
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = share)]
    pub threshold: f64,
    /// Also write results.csv
    #[arg(long)]
    pub csv: bool,
    #[command(flatten)]
    pub checks: ChecksOption,
    #[command(flatten)]
    pub device: DeviceOption,
}

const SHOW_EXAMPLES: &str = concat!(
    "\
EXAMPLES
  straggler study run examples/studies/allreduce.toml -o allreduce
  straggler study show allreduce
  straggler study show allreduce/results.parquet --quantile 0.9 --json

  A gate on existing results:
  straggler study show allreduce --fail-if 'slowdown@256>50%'

",
    study_metrics_help!(),
    limits_help!()
);

#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub struct Show {
    /// The folder of a study, or its results
    #[arg(value_name = "DIR|results.parquet")]
    pub study: PathBuf,
    /// Also show these quantiles, with their intervals; needs enough replicas
    #[arg(long, value_name = "Q,…", value_delimiter = ',')]
    pub quantile: Vec<f64>,
    /// Slowdown of the median above which noise counts as the bottleneck
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = share)]
    pub threshold: f64,
    #[command(flatten)]
    pub checks: ChecksOption,
}

const EXPORT_EXAMPLES: &str = "\
EXAMPLES
  straggler study run examples/studies/allreduce.toml -o allreduce
  straggler study export allreduce -o allreduce.csv
  straggler study export allreduce -o summary.json --summary";

#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
#[command(
    override_usage = "straggler study export [OPTIONS] --output <OUT.csv|OUT.json|OUT.parquet>\n           <DIR|results.parquet>"
)]
pub struct Export {
    /// The folder of a study, or its results
    #[arg(value_name = "DIR|results.parquet")]
    pub study: PathBuf,
    /// Output file; its extension selects the format
    #[arg(short, long, value_name = "OUT.csv|OUT.json|OUT.parquet")]
    pub output: PathBuf,
    /// One row per point instead of per replica; CSV or JSON
    #[arg(long)]
    pub summary: bool,
    /// Slowdown of the median above which noise counts as the bottleneck
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
