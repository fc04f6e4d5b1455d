//! The files of an assessment other than the measurement.

use super::{Json, Report, page};
use crate::answers::findings::Finding;
use crate::console::to_json;
use crate::exit::Outcome;
use crate::interrupt;
use crate::pages;
use crate::places::{make_folder, refuse_foreign, remove_outdated};
use std::path::Path;
use straggler_report::replace_file;

const JSON: &str = "assess.json";
const PAGES: [&str; 2] = ["assess.page", "report.html"];

/// Fails if there are files of others where the results are to be.
pub fn check(folder: &Path) -> Outcome<()> {
    refuse_foreign(folder, &PAGES, JSON)
}

/// Removes the files of an earlier assessment, which had another measurement.
pub fn clear(folder: &Path) -> Outcome<()> {
    remove_outdated(folder, &PAGES)?;
    remove_outdated(folder, &[JSON])
}

/// Writes all files and returns their names.
pub fn write(folder: &Path, report: &Report, findings: &[Finding], json: &Json<'_>) -> Outcome<Vec<String>> {
    make_folder(folder)?;
    let text = to_json(json)?;
    interrupt::or_interrupted(replace_file(&folder.join(JSON), |out| out.write_all(text.as_bytes())))?;
    let page = page::page(report, findings);
    for name in PAGES {
        pages::write(&folder.join(name), &page)?;
    }
    Ok([JSON].into_iter().chain(PAGES).map(String::from).collect())
}
