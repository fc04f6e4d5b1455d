//! `straggler study`: a file becomes a plan, the plan's runs become results, results become words and files.

pub mod about;
mod check;
mod demand;
pub mod driver;
mod export;
mod label;
pub mod page;
mod provenance;
mod words;

use crate::args::Common;
use crate::args::study::{Run, Show, StudyCommand};
use crate::commands::{command_line, refuse_unwritable, report};
use crate::console::Console;
use crate::exit::{Failure, Outcome, Wanted, mistaken, unreadable};
use crate::interrupt::Orderly;
use crate::on_cluster;
use about::{About, FittedAnswer};
pub use demand::demand;
use driver::Options;
use serde::Serialize;
use std::path::{Path, PathBuf};
use straggler_analysis::inflection::THRESHOLD;
use straggler_analysis::study::{Results, Series, Study, Summary, series};
use straggler_model::stats::CONFIDENCE;
use straggler_model::stats::Quantile;
use straggler_report::page::Page;
use straggler_report::study_results::{self, Format};
use straggler_sim::cluster::Cluster;

pub const RESULTS: &str = "results.parquet";
pub const PAGE: &str = "study.page";

pub fn run(command: &StudyCommand, common: &Common, console: &Console) -> Outcome<()> {
    match command {
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
    let read = || Ok((read_study(&typed.file)?, folder_of(typed)?));
    let (study, folder) = match cluster {
        None => read()?,
        Some(cluster) => on_cluster::agreed(cluster, read(), std::slice::from_ref(&typed.file))?,
    };
    let options = Options {
        file: Some(typed.file.clone()),
        threads: common.threads.map(Into::into),
        device: typed.device.device,
        fresh: typed.fresh,
        until_ci: typed.until_ci,
    };
    let results = match cluster {
        None => Some(driver::run_in(&folder, &study, &options, console)?),
        Some(cluster) => driver::run_on(cluster, &folder, &study, &options, console)?,
    };
    // Of a cluster, the first member has them.
    let Some(results) = results else { return Ok(()) };
    let about = About::read(&folder);
    let all = series(&results, typed.threshold);
    let page = page::page(&study.name, &study.description, &all, &about, typed.threshold, &command_line());
    report::write(&folder.join("report.html"), &page)?;
    report::write(&folder.join(PAGE), &page)?;
    let mut written = vec![RESULTS, "report.html", PAGE, "provenance.json"];
    if typed.csv {
        let _orderly = Orderly::begin();
        study_results::write(&folder.join("results.csv"), Format::Csv, &results)?;
        written.push("results.csv");
    }
    tell(&study.name, &results, &about, typed.threshold, &[], console)?;
    console.note(&format!("The results are in {}: {}", folder.display(), written.join(", ")));
    Ok(())
}

/// Where the results go, if they can.
fn folder_of(typed: &Run) -> Outcome<PathBuf> {
    let folder = typed.output.clone().unwrap_or_else(|| typed.file.with_extension(""));
    if folder == typed.file {
        return Err(Failure::usage(
            "the results cannot lie where the study's own file is: give another folder with -o",
        ));
    }
    refuse_unwritable(&folder)?;
    Ok(folder)
}

fn show(typed: &Show, console: &Console) -> Outcome<()> {
    let (name, results, about) = read_results(&typed.study)?;
    tell(&name, &results, &about, typed.threshold, &typed.quantile, console)
}

/// The study of a file.
pub fn read_study(file: &Path) -> Outcome<Study> {
    let name = file.display();
    let wrong = || mistaken(file, Wanted::Study);
    let text =
        std::fs::read_to_string(file).map_err(|fault| wrong().unwrap_or_else(|| unreadable(file, &fault)))?;
    Study::parse(&text)
        .map_err(|fault| wrong().unwrap_or_else(|| Failure::bad_input(format!("{name}: {fault}"))))
}

/// The results of a folder or a file, what the study is called, and what is known besides.
pub fn read_results(path: &Path) -> Outcome<(String, Results, About)> {
    let file = if path.is_dir() { path.join(RESULTS) } else { path.to_path_buf() };
    if !file.exists() && path.join(driver::JOURNAL).exists() {
        return Err(Failure::bad_input(format!(
            "{}: the study is not finished: `straggler study run` goes on with it",
            path.display()
        )));
    }
    let results = study_results::read(&file)?;
    let about = About::read(file.parent().unwrap_or(Path::new("")));
    let name = about.name().map_or_else(|| path.display().to_string(), String::from);
    Ok((name, results, about))
}

/// The page of results that were found without theirs.
pub fn page_of_results(path: &Path) -> Outcome<Page> {
    let (name, results, about) = read_results(path)?;
    Ok(page::page(&name, "", &series(&results, THRESHOLD), &about, THRESHOLD, &command_line()))
}

/// The answer for programs.
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
}

#[derive(Serialize)]
struct SeriesJson<'a> {
    name: String,
    inflection: Option<u32>,
    points: Vec<PointJson<'a>>,
}

#[derive(Serialize)]
struct PointJson<'a> {
    /// Of a trace.
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

fn tell(
    name: &str,
    results: &Results,
    about: &About,
    threshold: f64,
    quantiles: &[f64],
    console: &Console,
) -> Outcome<()> {
    let all = series(results, threshold);
    refuse_unsupported(&all, quantiles)?;
    if !console.json {
        return console.print(&words::say(name, &all, about, threshold, quantiles));
    }
    let series = all.iter().zip(label::labels(&all)).map(|(series, name)| SeriesJson {
        name,
        inflection: series.inflection,
        points: points_json(series, about.copies(series), quantiles),
    });
    console.print_json(&Json {
        version: env!("CARGO_PKG_VERSION"),
        name,
        verdict: words::verdict(&all, threshold),
        threshold,
        confidence: CONFIDENCE,
        fitted: &about.fitted,
        series: series.collect(),
    })
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

/// A quantile must have its interval at every point that has noise.
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
