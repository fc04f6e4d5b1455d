//! The folder of an assessment, besides the measurement.

use super::{Json, Report, page};
use crate::commands::assess::Finding;
use crate::commands::{make_folder, report};
use crate::console::to_json;
use crate::exit::{Failure, Outcome};
use crate::interrupt;
use std::io::ErrorKind;
use std::path::Path;
use straggler_report::replace_file;

const JSON: &str = "assess.json";
const PAGES: [&str; 2] = ["assess.page", "report.html"];

/// Removes what an older assessment left: it is not of this measurement.
pub fn clear(folder: &Path) -> Outcome<()> {
    for name in PAGES.into_iter().chain([JSON]) {
        let path = folder.join(name);
        match std::fs::remove_file(&path) {
            Err(fault) if fault.kind() != ErrorKind::NotFound => {
                return Err(Failure::bad_input(format!(
                    "{} of an older assessment cannot be removed: {fault}; give another -o",
                    path.display()
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Writes everything and gives the names.
pub fn write(folder: &Path, report: &Report, findings: &[Finding], json: &Json<'_>) -> Outcome<Vec<String>> {
    make_folder(folder)?;
    let text = to_json(json)?;
    interrupt::or_interrupted(replace_file(&folder.join(JSON), |out| out.write_all(text.as_bytes())))?;
    let page = page::page(report, findings);
    for name in PAGES {
        report::write(&folder.join(name), &page)?;
    }
    Ok([JSON].into_iter().chain(PAGES).map(String::from).collect())
}
