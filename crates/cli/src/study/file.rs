//! Studies: their files, and the folders of their results.

use crate::kernel::exit::{Failure, Outcome, Wanted, mistaken, unreadable};
use crate::network::file::NetworkAnswer;
use serde::{Deserialize, Serialize};
use std::path::Path;
use straggler_analysis::study::{Fitted, Results, Series, Study, Sweep};
use straggler_model::Time;
use straggler_report::study_results;
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
