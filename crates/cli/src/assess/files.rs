//! The output folder of an assessment: numbers, charts and the recording.

use crate::assess::{Json, Report, page, programs};
use crate::kernel::pages::{Finding, make_folder, refuse_foreign, remove_outdated};
use crate::kernel::prelude::*;
use crate::noise::page as noise_page;
use straggler_model::provenance::Origin;
use straggler_report::charts::{self, Heading, Picture};

/// The recording.
const NOISE: &str = "node.noise";

/// Written first and removed last, so that a folder with results of an assessment holds it.
const JSON: &str = "assess.json";

/// All other files that an assessment writes.
const RESULTS: [&str; 11] = [
    "assess.page",
    "report.html",
    "programs.svg",
    "programs.png",
    "slowdown.svg",
    "slowdown.png",
    "sources.svg",
    "sources.png",
    "detours.svg",
    "detours.png",
    JSON,
];

/// Fails if there are files of others where the results are to be.
pub fn check(folder: &Path) -> Outcome<()> {
    refuse_foreign(folder, &RESULTS, JSON)
}

/// Whether the folder holds the results of an earlier assessment.
pub fn has_report(folder: &Path) -> bool {
    folder.join(JSON).exists()
}

/// Writes the recording, and removes the results of an earlier assessment, which had other noise.
pub fn keep(folder: &Path, bytes: &[u8]) -> Outcome<PathBuf> {
    make_folder(folder)?;
    remove_outdated(folder, &RESULTS)?;
    let path = folder.join(NOISE);
    interrupt::or_interrupted(replace_file(&path, |out| out.write_all(bytes)))?;
    Ok(path)
}

/// A recording in the folder that is neither this measurement nor the input. It stays, because it may be the only copy.
pub fn earlier_recording(folder: &Path, report: &Report) -> Option<PathBuf> {
    let path = folder.join(NOISE);
    let own = report.noise_file.as_ref().and_then(|own| own.canonicalize().ok());
    let there = path.canonicalize().ok()?;
    (Some(there) != own).then_some(path)
}

/// Writes all files and returns their names.
pub fn write(folder: &Path, report: &Report, findings: &[Finding], json: &Json<'_>) -> Outcome<Vec<String>> {
    make_folder(folder)?;
    remove_outdated(folder, &RESULTS)?;
    let mut names = Vec::new();
    names.extend(report.subject.measured_here.then(|| NOISE.to_string()));
    let mut put = |name: &str, bytes: &[u8]| -> Outcome<()> {
        interrupt::or_interrupted(replace_file(&folder.join(name), |out| out.write_all(bytes)))?;
        names.push(name.to_string());
        Ok(())
    };
    put(JSON, to_json(json)?.as_bytes())?;
    for (name, picture) in pictures(report) {
        for ending in ["svg", "png"] {
            let name = format!("{name}.{ending}");
            charts::save(&folder.join(&name), &picture)?;
            names.push(name);
        }
    }
    let page = page::page(report, findings, is_synthetic(report));
    for name in ["assess.page", "report.html"] {
        pages::write(&folder.join(name), &page)?;
        names.push(name.to_string());
    }
    Ok(names)
}

/// The charts that are also saved as pictures.
fn pictures(report: &Report) -> Vec<(&'static str, Picture)> {
    let mut charts: Vec<(&str, Chart, Option<String>)> = Vec::new();
    charts.extend(programs::chart(report).map(|chart| ("programs", chart, None)));
    charts.push(("slowdown", page::slowdowns(report), None));
    let ranking = report.answer.rankings.last();
    charts.extend(ranking.map(|ranking| ("sources", page::gains(report, ranking), None)));
    charts.extend(report.subject.recording.as_ref().map(|recording| {
        let title = "What interrupted the cores, and for how long";
        let chart = Chart::new(title, "", noise_page::scatter(recording));
        ("detours", chart, report.subject.batches.and_then(|batches| batches.joined()))
    }));
    let draw = |(name, chart, more): (&'static str, Chart, Option<String>)| {
        let mut heading = heading(report, &chart.title);
        heading.subtitle.extend(more.map(|more| format!("\n{more}")));
        (name, chart.draw(&heading))
    };
    charts.into_iter().map(draw).collect()
}

fn heading(report: &Report, title: &str) -> Heading {
    Heading {
        title: title.into(),
        subtitle: report.subject.sentence(),
        footer: format!("straggler {} · {}", env!("CARGO_PKG_VERSION"), command_line()),
        synthetic: is_synthetic(report),
    }
}

fn is_synthetic(report: &Report) -> bool {
    if report.program.as_ref().is_some_and(|program| program.synthetic) {
        return true;
    }
    match &report.subject.recording {
        Some(recording) => matches!(recording.origin, Origin::Synthetic { .. }),
        None => true,
    }
}
