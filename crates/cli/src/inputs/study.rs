//! Studies: their files, and the folders of their results.

mod about;

pub use about::{About, FittedAnswer};

use crate::exit::{Failure, Outcome, Wanted, mistaken, unreadable};
use std::path::Path;
use straggler_analysis::study::{Results, Study};
use straggler_report::study_results;

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
