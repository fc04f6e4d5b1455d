//! The files of an assessment other than the measurement.

use super::{Json, Report, page};
use crate::answers::findings::Finding;
use crate::console::to_json;
use crate::exit::{Failure, Outcome};
use crate::interrupt;
use crate::pages;
use crate::places::make_folder;
use std::io::ErrorKind;
use std::path::Path;
use straggler_report::replace_file;

const JSON: &str = "assess.json";
const PAGES: [&str; 2] = ["assess.page", "report.html"];

/// Removes the files of an earlier assessment, which had another measurement.
pub fn clear(folder: &Path) -> Outcome<()> {
    for name in PAGES.into_iter().chain([JSON]) {
        let path = folder.join(name);
        match std::fs::remove_file(&path) {
            Err(fault) if fault.kind() != ErrorKind::NotFound => {
                return Err(Failure::bad_input(format!(
                    "cannot remove {} of an older assessment: {fault}; use another -o",
                    path.display()
                )));
            }
            _ => {}
        }
    }
    Ok(())
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
