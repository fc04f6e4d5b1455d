//! The folder of an assessment: numbers, pictures and the recording.

use super::findings::{Finding, title};
use super::{Json, Report, page};
use crate::commands::measure::Batches;
use crate::commands::{command_line, make_folder, report};
use crate::console::to_json;
use crate::exit::{Failure, Outcome};
use crate::interrupt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use straggler_analysis::assess;
use straggler_model::noise::recording::Origin;
use straggler_report::charts::{
    self, Bar, Curve, CurvePoint, Heading, Ranking, Scatter, SlowdownCurves, Unit,
};
use straggler_report::numbers::grouped;
use straggler_report::replace_file;

/// The recording.
const NOISE: &str = "node.noise";

/// Everything else that an assessment writes.
const RESULTS: [&str; 9] = [
    "assess.json",
    "assess.page",
    "report.html",
    "slowdown.svg",
    "slowdown.png",
    "sources.svg",
    "sources.png",
    "detours.svg",
    "detours.png",
];

/// Writes the recording, and removes what an older assessment left: its results are not of this noise.
pub fn keep(folder: &Path, bytes: &[u8]) -> Outcome<PathBuf> {
    make_folder(folder)?;
    clear(folder)?;
    let path = folder.join(NOISE);
    interrupt::or_interrupted(replace_file(&path, |out| out.write_all(bytes)))?;
    Ok(path)
}

fn clear(folder: &Path) -> Outcome<()> {
    RESULTS.iter().try_for_each(|name| remove(&folder.join(name)))
}

fn remove(path: &Path) -> Outcome<()> {
    match std::fs::remove_file(path) {
        Err(fault) if fault.kind() != ErrorKind::NotFound => Err(Failure::bad_input(format!(
            "{} of an older assessment cannot be removed: {fault}; give another -o",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// A recording beside an older assessment that is neither this measurement nor what was read belongs to that.
fn clear_recording(folder: &Path, report: &Report) -> Outcome<()> {
    if !folder.join("assess.json").exists() {
        return Ok(());
    }
    let path = folder.join(NOISE);
    let own = report.noise_file.as_ref().and_then(|own| own.canonicalize().ok());
    match path.canonicalize() {
        Ok(old) if Some(&old) != own.as_ref() => remove(&path),
        _ => Ok(()),
    }
}

/// Writes everything and gives the names.
pub fn write(folder: &Path, report: &Report, findings: &[Finding], json: &Json<'_>) -> Outcome<Vec<String>> {
    make_folder(folder)?;
    clear_recording(folder, report)?;
    clear(folder)?;
    let mut names = Vec::new();
    names.extend(report.subject.measured_here.then(|| NOISE.to_string()));
    let mut put = |name: &str, bytes: &[u8]| -> Outcome<()> {
        interrupt::or_interrupted(replace_file(&folder.join(name), |out| out.write_all(bytes)))?;
        names.push(name.to_string());
        Ok(())
    };
    put("assess.json", to_json(json)?.as_bytes())?;
    for (name, svg) in pictures(report) {
        for ending in ["svg", "png"] {
            let name = format!("{name}.{ending}");
            charts::save(&folder.join(&name), &svg)?;
            names.push(name);
        }
    }
    let page = page::page(report, findings, is_synthetic(report));
    for name in ["assess.page", "report.html"] {
        report::write(&folder.join(name), &page)?;
        names.push(name.to_string());
    }
    Ok(names)
}

fn pictures(report: &Report) -> Vec<(&'static str, String)> {
    let mut pictures = vec![("slowdown", slowdown(report))];
    pictures.extend(report.answer.rankings.last().map(|ranking| ("sources", sources(report, ranking))));
    if let Some(recording) = &report.subject.recording {
        let mut heading = heading(report, "What interrupted the cores, and for how long");
        heading.subtitle.extend(joined(report.subject.batches));
        pictures.push(("detours", Scatter::of_recording(recording).draw(&heading).svg));
    }
    pictures
}

/// A line on what the axis of time does not show.
fn joined(batches: Option<Batches>) -> Option<String> {
    let done = batches?.done;
    (done > 1).then(|| format!("\n{done} batches are joined: the pauses between them are left out."))
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

fn slowdown(report: &Report) -> String {
    let curve = |curve: &assess::Curve| Curve {
        name: curve.name.clone(),
        points: curve.points.iter().map(point).collect(),
        inflection: curve.inflection.map(f64::from),
    };
    let separate = report.answer.curves.iter().filter(|curve| curve.same_as.is_none());
    let mut curves: Vec<Curve> = separate.map(curve).collect();
    for twin in &report.answer.curves {
        if let Some(drawn) = curves.iter_mut().find(|curve| Some(&curve.name) == twin.same_as.as_ref()) {
            drawn.name = format!("{} and {}", drawn.name, twin.name);
        }
    }
    let title = title(report);
    SlowdownCurves { curves, ..SlowdownCurves::default() }.draw(&heading(report, &title))
}

/// The chart has T / T0.
fn point(point: &assess::Point) -> CurvePoint {
    let slowdown = point.slowdown;
    CurvePoint {
        processes: point.processes.into(),
        median: 1.0 + slowdown.median,
        low: 1.0 + slowdown.low,
        high: 1.0 + slowdown.high,
    }
}

fn sources(report: &Report, ranking: &assess::Ranking) -> String {
    let bar = |removal: &assess::Removal| Bar {
        name: removal.cause.clone(),
        value: removal.gain,
        low: removal.gain_low,
        high: removal.gain_high,
    };
    let title = format!("What the removal of each source gives at {} processes", grouped(ranking.processes));
    Ranking {
        bars: ranking.removals.iter().map(bar).collect(),
        what: "the slowdown T / T0 - 1 falls by".into(),
        unit: Unit::Count,
    }
    .draw(&heading(report, &title))
}
