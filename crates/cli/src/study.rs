//! `straggler study`: plans the runs of a study file, runs them, and prints and writes the results.

pub mod answer;
pub mod file;
pub mod page;
pub mod work;

use crate::kernel::gates::{Checked, ChecksOption, LimitAnswer, limits_help, refuse_unknown};
use crate::kernel::metrics::{self, Metric};
use crate::kernel::prelude::*;
pub use crate::study::file::demand;
use crate::study::file::{About, FittedAnswer, PAGE, RESULTS, read_results, read_study};
use crate::{args::Common, kernel::devices::DeviceOption, mpi::cluster, study::work::Options};
use straggler_analysis::study::{Results, Series, Summary, series, share};
use straggler_model::stats::{CONFIDENCE, Quantile};
use straggler_report::study_results::{self, Format};
use straggler_sim::cluster::Cluster;

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
    Check(CheckStudy),
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
pub struct CheckStudy {
    /// The study
    #[arg(value_name = "FILE.toml")]
    pub file: PathBuf,
}

impl Check for StudyCommand {
    fn check(&self) -> Outcome<()> {
        match self {
            StudyCommand::Run(typed) => typed.check(),
            StudyCommand::Show(typed) => refuse_unknown(&typed.checks, metrics::OF_STUDY),
            StudyCommand::Export(typed) => {
                typed.format()?;
                refuse_missing_folder(&typed.output)
            }
            StudyCommand::Check(_) => Ok(()),
        }
    }
}

impl Check for Run {
    fn check(&self) -> Outcome<()> {
        refuse_unknown(&self.checks, metrics::OF_STUDY)?;
        let folder = self.folder();
        // A missing file or a folder is rejected when it is read, with the same message as in other commands.
        if folder == self.file && self.file.is_file() {
            return Err(Failure::usage(
                "the results cannot lie where the study's own file is: give another folder with -o",
            ));
        }
        refuse_unwritable(&folder)
    }
}

impl Run {
    /// The folder for the results.
    pub fn folder(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| self.file.with_extension(""))
    }
}

impl Export {
    /// The format of the file extension. A summary cannot be Parquet, which holds tables of runs.
    pub fn format(&self) -> Outcome<Format> {
        match Format::for_path(&self.output) {
            None => Err(Failure::usage(format!(
                "{}: unknown extension; use .csv, .json or .parquet",
                self.output.display()
            ))),
            Some(Format::Parquet) if self.summary => {
                Err(Failure::usage("--summary is written as .csv or .json"))
            }
            Some(format) => Ok(format),
        }
    }
}

pub fn run(command: &Valid<StudyCommand>, common: &Common, console: &Console) -> Outcome<()> {
    match &**command {
        StudyCommand::Run(typed) => run_study(typed, common, console, None),
        StudyCommand::Show(typed) => show(typed, console),
        StudyCommand::Export(typed) => file::export(typed, console),
        StudyCommand::Check(typed) => file::check(&typed.file, common, console),
    }
}

/// Runs a study, with all members of a cluster if there is one.
pub fn run_study(
    typed: &Run,
    common: &Common,
    console: &Console,
    cluster: Option<&dyn Cluster>,
) -> Outcome<()> {
    let read = || {
        typed.check()?;
        Ok((read_study(&typed.file)?, typed.folder()))
    };
    let (study, folder) = match cluster {
        None => read()?,
        Some(cluster) => cluster::agreed(cluster, read(), std::slice::from_ref(&typed.file))?,
    };
    let options = Options {
        file: Some(typed.file.clone()),
        threads: common.threads.map(Into::into),
        device: typed.device.device,
        fresh: typed.fresh,
        until_ci: typed.until_ci,
    };
    let results = match cluster {
        None => Some(work::run_in(&folder, &study, &options, console)?),
        Some(cluster) => work::run_on(cluster, &folder, &study, &options, console)?,
    };
    // On a cluster, only the first member has the results.
    let Some(results) = results else { return Ok(()) };
    let about = About::read(&folder);
    let all = series(&results, typed.threshold);
    let page = page::page(&study.name, &study.description, &all, &about, typed.threshold, &command_line());
    pages::write(&folder.join("report.html"), &page)?;
    pages::write(&folder.join(PAGE), &page)?;
    let mut written = vec![RESULTS, "report.html", PAGE, "provenance.json"];
    if typed.csv {
        let _orderly = Orderly::begin();
        study_results::write(&folder.join("results.csv"), Format::Csv, &results)?;
        written.push("results.csv");
    }
    let checked = print(&study.name, &results, &about, typed.threshold, &[], &typed.checks, console)?;
    console.note(&format!("The results are in {}: {}", folder.display(), written.join(", ")));
    checked.finish(console)
}

fn show(typed: &Show, console: &Console) -> Outcome<()> {
    let (name, results, about) = read_results(&typed.study)?;
    print(&name, &results, &about, typed.threshold, &typed.quantile, &typed.checks, console)?.finish(console)
}

/// The JSON answer.
#[derive(Serialize)]
struct Json<'a> {
    version: &'static str,
    name: &'a str,
    verdict: Vec<String>,
    threshold: f64,
    confidence: f64,
    /// Networks that were fitted from traces.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    fitted: &'a [FittedAnswer],
    series: Vec<SeriesJson<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    limits: &'a [LimitAnswer],
}

#[derive(Serialize)]
struct SeriesJson<'a> {
    name: String,
    inflection: Option<u32>,
    points: Vec<PointJson<'a>>,
}

#[derive(Serialize)]
struct PointJson<'a> {
    /// Copies of the trace, if the workload is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    copies: Option<u32>,
    #[serde(flatten)]
    summary: &'a Summary,
    quantiles: Vec<QuantileJson>,
}

#[derive(Clone, Serialize)]
pub struct QuantileJson {
    q: f64,
    #[serde(flatten)]
    times_ps: Quantile<u64>,
}

fn print(
    name: &str,
    results: &Results,
    about: &About,
    threshold: f64,
    quantiles: &[f64],
    checks: &ChecksOption,
    console: &Console,
) -> Outcome<Checked> {
    let all = series(results, threshold);
    refuse_unsupported(&all, quantiles)?;
    let checked = Checked::new(checks, metrics(&all))?;
    if !console.json {
        console.print(&answer::summary(name, &all, about, threshold, quantiles))?;
        return Ok(checked);
    }
    let series = all.iter().zip(answer::labels(&all)).map(|(series, name)| SeriesJson {
        name,
        inflection: series.inflection,
        points: points_json(series, about.copies(series), quantiles),
    });
    console.print_json(&Json {
        version: env!("CARGO_PKG_VERSION"),
        name,
        verdict: answer::verdict(&all, about, threshold),
        threshold,
        confidence: CONFIDENCE,
        fitted: &about.fitted,
        series: series.collect(),
        limits: &checked.limits,
    })?;
    Ok(checked)
}

/// Points without noise have no slowdown.
fn metrics(all: &[Series]) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for (series, name) in all.iter().zip(answer::labels(all)) {
        let noisy: Vec<&Summary> =
            series.points.iter().filter(|summary| summary.point.noise != "none").collect();
        let Some(last) = noisy.last() else { continue };
        metrics.extend(noisy.iter().map(|summary| {
            let metric = metrics::metric(&name, summary.point.processes, summary.median_slowdown);
            match &summary.slowdown {
                Some(found) => metric.within(found.low, found.high),
                None => metric,
            }
        }));
        metrics.push(metrics::inflection(&name, series.inflection, last.point.processes));
    }
    metrics
}

fn points_json<'a>(series: &'a Series, copies: &[u32], quantiles: &[f64]) -> Vec<PointJson<'a>> {
    let found = |summary: &Summary| -> Vec<QuantileJson> {
        let each = quantiles.iter().map(|&q| Some(QuantileJson { q, times_ps: summary.quantile(q).ok()? }));
        each.flatten().collect()
    };
    let point = |(index, summary): (usize, &'a Summary)| PointJson {
        copies: copies.get(index).copied(),
        summary,
        quantiles: found(summary),
    };
    series.points.iter().enumerate().map(point).collect()
}

/// A quantile must have an interval at every point with noise.
fn refuse_unsupported(all: &[Series], quantiles: &[f64]) -> Outcome<()> {
    let noisy = all.iter().flat_map(|series| &series.points).filter(|summary| summary.point.noise != "none");
    for summary in noisy {
        for &q in quantiles {
            summary.quantile(q).map_err(|fault| {
                let at = &summary.point;
                Failure::usage(format!("--quantile: {} on {} processes: {fault}", at.workload, at.processes))
            })?;
        }
    }
    Ok(())
}
