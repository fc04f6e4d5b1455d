//! `straggler study`: plans the runs of a study file, runs them, and prints and writes the results.

pub mod answer;
pub mod args;
pub mod check;
pub mod export;
pub mod file;
pub mod page;
pub mod plan;
pub mod work;

use crate::args::Common;
use crate::kernel::checks::ChecksOption;
use crate::kernel::console::Console;
use crate::kernel::exit::{Failure, Outcome};
use crate::kernel::gates::{Checked, LimitAnswer, Metric};
use crate::kernel::interrupt::Orderly;
use crate::kernel::invocation::command_line;
use crate::kernel::valid::{Check, Valid};
use crate::kernel::{gates, pages};
use crate::mpi::cluster;
use crate::study::args::{Run, Show, StudyCommand};
pub use crate::study::check::demand;
use crate::study::file::{About, FittedAnswer, PAGE, RESULTS, read_results, read_study};
use crate::study::work::Options;
use serde::Serialize;
use straggler_analysis::study::{Results, Series, Summary, series};
use straggler_model::stats::{CONFIDENCE, Quantile};
use straggler_report::study_results;
use straggler_report::study_results::Format;
use straggler_sim::cluster::Cluster;

pub fn run(command: &Valid<StudyCommand>, common: &Common, console: &Console) -> Outcome<()> {
    match &**command {
        StudyCommand::Run(typed) => run_study(typed, common, console, None),
        StudyCommand::Show(typed) => show(typed, console),
        StudyCommand::Export(typed) => export::run(typed, console),
        StudyCommand::Check(typed) => check::run(&typed.file, common, console),
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
            let metric = gates::metric(&name, summary.point.processes, summary.median_slowdown);
            match &summary.slowdown {
                Some(found) => metric.within(found.low, found.high),
                None => metric,
            }
        }));
        metrics.push(gates::inflection(&name, series.inflection, last.point.processes));
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
