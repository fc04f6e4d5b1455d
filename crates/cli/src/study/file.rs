//! Studies: their files, and the folders of their results.
//! Also what a study needs (`study check`), and its results as a file for other programs (`study export`).

use crate::kernel::exit::{Wanted, mistaken};
use crate::kernel::memory::{Demand, available_bytes, free_disk_bytes, in_words, seconds_for};
use crate::kernel::prelude::*;
use crate::study::work::{plan_of, refuse_too_large, top_not_run};
use crate::study::{Export, Run};
use crate::{args::Common, kernel::devices::threads, network::NetworkAnswer};
use std::fmt::Write;
use straggler_analysis::study::{Fitted, Results, Series, Study, Summary, Sweep, series};
use straggler_report::numbers::rounded;
use straggler_report::study_results::{self, Format, csv_place};
use straggler_schedule::collectives::Choice;

pub const RESULTS: &str = "results.parquet";
pub const PAGE: &str = "study.page";
pub const JOURNAL: &str = "journal";
pub const STUDY: &str = "study.toml";
pub const PROVENANCE: &str = "provenance.json";

/// The study of a file.
pub fn read_study(file: &Path) -> Outcome<Study> {
    let name = file.display();
    let wrong = || mistaken(file, Wanted::Study);
    let text =
        std::fs::read_to_string(file).map_err(|fault| wrong().unwrap_or_else(|| unreadable(file, &fault)))?;
    Study::parse(&text)
        .map_err(|fault| wrong().unwrap_or_else(|| Failure::bad_input(format!("{name}: {fault}"))))
}

/// The results of a folder or a file, the name of the study, and facts about it.
pub fn read_results(path: &Path) -> Outcome<(String, Results, About)> {
    let file = if path.is_dir() { path.join(RESULTS) } else { path.to_path_buf() };
    if !file.exists() && path.join(JOURNAL).exists() {
        return Err(Failure::bad_input(format!(
            "{}: the study is not finished: `straggler study run` resumes it",
            path.display()
        )));
    }
    if path.is_dir() && !file.exists() {
        return Err(Failure::bad_input(format!(
            "{} holds no results of a study ({RESULTS}): give the folder DIR of `straggler study run … -o DIR`",
            path.display()
        )));
    }
    let results = study_results::read(&file)?;
    let about = About::read(file.parent().unwrap_or(Path::new("")));
    let name = about.name().map_or_else(|| path.display().to_string(), String::from);
    Ok((name, results, about))
}

#[derive(Debug, Default)]
pub struct About {
    study: Option<Study>,
    pub fitted: Vec<FittedAnswer>,
}

/// A network that was fitted from a trace.
#[derive(Debug, Serialize, Deserialize)]
pub struct FittedAnswer {
    /// As the study names it.
    pub trace: String,
    pub network: NetworkAnswer,
}

impl FittedAnswer {
    pub fn new(fitted: &Fitted) -> FittedAnswer {
        FittedAnswer { trace: fitted.trace.clone(), network: NetworkAnswer::new(&fitted.network) }
    }

    /// "Network fitted to the trace run: L=1.20us,…".
    pub fn sentence(&self) -> String {
        format!("Network fitted to the trace {}: {}", self.trace, self.network.parameters())
    }
}

/// The part of the provenance that is read again.
#[derive(Default, Deserialize)]
struct Kept {
    #[serde(default)]
    fitted: Vec<FittedAnswer>,
}

impl About {
    /// Empty if the file is missing: results can be read without it.
    pub fn read(folder: &Path) -> About {
        let kept = std::fs::read(folder.join(PROVENANCE)).ok();
        let kept: Kept = kept.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        About { study: read_study(&folder.join(STUDY)).ok(), fitted: kept.fitted }
    }

    pub fn name(&self) -> Option<&str> {
        self.study.as_ref().map(|study| study.name.as_str())
    }

    /// What a run is, if all repeat a collective, or none does.
    pub fn repetition(&self, series: &[&Series]) -> Option<&'static str> {
        let sweep = |series: &&Series| {
            let at = series.coordinates().filter(|at| at.workload.parse::<Choice>().is_ok())?;
            self.study.iter().flat_map(|study| &study.sweeps).find(|sweep| sweep.name == at.sweep)
        };
        let all: Vec<&Sweep> = series.iter().map(sweep).collect::<Option<_>>()?;
        match () {
            () if all.is_empty() => None,
            () if all.iter().all(|sweep| sweep.cycles == 1 && sweep.compute == Time::ZERO) => Some(
                "Each run is one collective that starts at a random moment. To see what a program pays that repeats it, set \
                 cycles and compute in the study.",
            ),
            () if all.iter().all(|sweep| sweep.cycles > 1) => {
                Some("Each run is a program that repeats the collective.")
            }
            () => None,
        }
    }

    /// Numbers of copies of a trace, one per point of the series; empty for other workloads.
    pub fn copies(&self, series: &Series) -> &[u32] {
        let sweeps = self.study.iter().flat_map(|study| &study.sweeps);
        let found = series.coordinates().and_then(|at| {
            let mut mine = sweeps.filter(|sweep| sweep.name == at.sweep);
            mine.find(|sweep| sweep.traces.contains(&at.workload))
        });
        // Points and copies are both in ascending order.
        let copies = found.map_or(&[][..], |sweep| &sweep.copies);
        if copies.len() == series.points.len() { copies } else { &[] }
    }
}

/// The names of the sweeps of a study, the top level of the file first.
fn names<'a>(study: &'a Study) -> Vec<&'a str> {
    let name = |sweep: &'a Sweep| if sweep.name.is_empty() { "the top level" } else { &*sweep.name };
    study.sweeps.iter().map(name).collect()
}

/// Which parts of the file are run, if it has sweeps.
fn sweeps(study: &Study) -> String {
    let base = top_not_run(study).map(|text| text + "\n");
    let several = study.sweeps.len() > 1 || base.is_some();
    let named = several.then(|| format!("Run: {}.\n", names(study).join(", ")));
    named.into_iter().chain(base).collect()
}

pub fn check(file: &Path, common: &Common, console: &Console) -> Outcome<()> {
    let study = read_study(file)?;
    let plan = plan_of(&study, Some(file))?;
    let needs = plan.needs();
    plan.warnings.iter().for_each(|warning| console.warn(warning));
    let threads = threads(common.threads.map(Into::into));
    let time = seconds_for(needs.messages as f64, threads);
    // Reported at the end, after the numbers that explain it.
    let fits = refuse_too_large(&needs, available_bytes(), free_disk_bytes(Path::new(".")));
    if console.json {
        console.print_json(&serde_json::json!({
            "name": plan.name, "sweeps": names(&study), "points": needs.points, "runs": plan.tasks.len(), "rows": needs.rows,
            "messages": needs.messages, "memory_bytes": needs.memory_bytes, "disk_bytes": needs.disk_bytes,
            "largest_processes": needs.largest_processes, "estimated_seconds": time, "fits": fits.is_ok(),
        }))?;
        return fits;
    }
    let mut table = Table::new("", &["", "#"]);
    table.row(["points".into(), grouped(needs.points as u64)]);
    table.row(["rows of results, at most (one per point and replica)".into(), grouped(needs.rows)]);
    table.row(["messages, at most".into(), rounded(needs.messages as f64)]);
    table.row([format!("time on {}, roughly", counted(threads as u64, "thread", "threads")), in_words(time)]);
    table.row(["memory, at least".into(), memory(needs.memory_bytes)]);
    table.row(["disk".into(), memory(needs.disk_bytes)]);
    let points = counted(plan.points.len() as u64, "point", "points");
    let settings = match plan.points.iter().filter(|point| point.task != point.quiet).count() {
        0 => format!("{points} without noise"),
        noisy if noisy == plan.points.len() => format!("{points}, each with and without noise"),
        noisy => format!("{points}, {} of them with and without noise", grouped(noisy as u64)),
    };
    let verdict = if fits.is_ok() { " This machine has enough memory and disk." } else { "" };
    let sweeps = sweeps(&study);
    console.print(&format!("{}: {settings}.{verdict}\n{sweeps}{table}", plan.name))?;
    fits
}

/// Reads and checks the study like `study check`, but ignores the memory of this machine. Runs are not divided: every
/// rank must hold the largest one.
pub fn demand(typed: &Run, console: &Console) -> Outcome<Demand> {
    typed.check()?;
    let study = read_study(&typed.file)?;
    let folder = typed.folder();
    let plan = plan_of(&study, Some(&typed.file))?;
    plan.warnings.iter().for_each(|warning| console.warn(warning));
    let needs = plan.needs();
    let there = folder.ancestors().find(|place| place.is_dir()).unwrap_or(Path::new("."));
    refuse_too_large(&needs, None, free_disk_bytes(there))?;
    Ok(Demand { spread_bytes: 0, each_bytes: needs.memory_bytes })
}

pub fn export(typed: &Export, console: &Console) -> Outcome<()> {
    let format = typed.format()?;
    let (_, results, _) = read_results(&typed.study)?;
    let _orderly = Orderly::begin();
    let rows = if typed.summary {
        let all = series(&results, typed.threshold);
        let text = match format {
            Format::Csv => csv(&all),
            Format::Json => to_json(&all)?,
            Format::Parquet => return Err(Failure::usage("--summary is written as .csv or .json")),
        };
        replace_file(&typed.output, |out| out.write_all(text.as_bytes()))?;
        results.points.len()
    } else {
        study_results::write(&typed.output, format, &results)?;
        results.points.iter().map(|point| point.makespans.len()).sum()
    };
    if console.json {
        return console.print_json(&serde_json::json!({ "output": typed.output, "rows": rows }));
    }
    let each = if typed.summary { "one for each point" } else { "one for each point and replica" };
    console.note(&format!("{} in {}: {each}", counted(rows as u64, "row", "rows"), typed.output.display()));
    Ok(())
}

const HEADER: &str = "sweep,workload,size,processes,network,network_scale,noise,cosched,seed,replicas,quiet_ps,median_ps,\
    median_low_ps,median_high_ps,q1_ps,q3_ps,whisker_low_ps,whisker_high_ps,min_ps,max_ps,outliers,slowdown,slowdown_low,\
    slowdown_high,slowdown_max,is_inflection";

fn csv(all: &[Series]) -> String {
    let mut text = format!("{HEADER}\n");
    for series in all {
        for summary in &series.points {
            let inflection = series.inflection == Some(summary.point.processes);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{},{inflection}", row(summary));
        }
    }
    text
}

fn row(summary: &Summary) -> String {
    fn or_empty(value: Option<impl ToString>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
    let times = &summary.times;
    let median = summary.median_interval;
    let slowdown = summary.slowdown;
    [
        csv_place(&summary.point),
        times.count.to_string(),
        summary.quiet_ps.to_string(),
        times.median.to_string(),
        or_empty(median.map(|median| median.low)),
        or_empty(median.map(|median| median.high)),
        times.q1.to_string(),
        times.q3.to_string(),
        times.low.to_string(),
        times.high.to_string(),
        times.min.to_string(),
        times.max.to_string(),
        times.outliers.len().to_string(),
        summary.median_slowdown.to_string(),
        or_empty(slowdown.map(|slowdown| slowdown.low)),
        or_empty(slowdown.map(|slowdown| slowdown.high)),
        summary.largest_slowdown.to_string(),
    ]
    .join(",")
}
