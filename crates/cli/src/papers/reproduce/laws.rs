//! How the largest slowdown grows: linearly with the detour, and with the logarithm of the number of processes.

use crate::papers::reproduce::Findings;
use crate::papers::reproduce::comparison::{Comparison, Quantity};
use straggler_analysis::growth::{Fit, straight_line};
use straggler_analysis::study::{Series, Summary};
use straggler_model::Time;
use straggler_noise::{NoiseSpec, Shape, SourceSpec};
use straggler_report::page::{Axis, Chart, Heat, Scale, Unit};

/// One combination of operation, frequency, detour and processes.
struct Cell {
    workload: String,
    hertz: f64,
    detour: f64,
    processes: u32,
    largest: f64,
    /// How many seconds longer than the quiet run the longest run took.
    lost: f64,
}

pub fn add(all: &[Series], findings: &mut Findings, command: &str) {
    let cells: Vec<Cell> = all.iter().flat_map(|series| series.points.iter().filter_map(cell)).collect();
    let mut workloads: Vec<String> = cells.iter().map(|cell| cell.workload.clone()).collect();
    workloads.dedup();
    for workload in &workloads {
        let own: Vec<&Cell> = cells.iter().filter(|cell| cell.workload == *workload).collect();
        findings.section.add(heat(workload, &own, command));
        // At a lower frequency few runs are hit at all, and their maximum is chance.
        let often: Vec<&Cell> = own.into_iter().filter(|cell| cell.hertz >= 999.0).collect();
        findings.comparisons.extend(in_detour(workload, &often));
        findings.comparisons.extend(in_processes(workload, &often));
        findings.comparisons.extend(short_detours(workload, &often));
    }
}

fn cell(point: &Summary) -> Option<Cell> {
    let spec: NoiseSpec = point.point.noise.parse().ok()?;
    let [SourceSpec { shape: Shape::Periodic { period, duration, .. }, .. }] = &spec.sources[..] else {
        return None;
    };
    Some(Cell {
        workload: point.point.workload.clone(),
        hertz: 1.0 / seconds(*period),
        detour: seconds(*duration),
        processes: point.point.processes,
        largest: point.largest_slowdown,
        lost: point.largest_loss().ps() as f64 / 1e12,
    })
}

fn seconds(time: Time) -> f64 {
    time.ps() as f64 / 1e12
}

fn largest_scale(cells: &[&Cell]) -> u32 {
    cells.iter().map(|cell| cell.processes).max().unwrap_or(0)
}

/// The fit over detours, at the largest scale.
fn in_detour(workload: &str, cells: &[&Cell]) -> Option<Comparison> {
    let scale = largest_scale(cells);
    let at: Vec<(f64, f64)> =
        cells.iter().filter(|cell| cell.processes == scale).map(|cell| (cell.detour, cell.largest)).collect();
    let what = format!(
        "{workload}, 1,000 Hz: the slowdown grows linearly with the detour (share of its spread that a line explains)"
    );
    fit(what, &at)
}

/// The fit over the logarithm of processes, with the longest detour.
fn in_processes(workload: &str, cells: &[&Cell]) -> Option<Comparison> {
    let longest = cells.iter().map(|cell| cell.detour).fold(0.0, f64::max);
    let at: Vec<(f64, f64)> = cells
        .iter()
        .filter(|cell| cell.detour == longest)
        .map(|cell| (f64::from(cell.processes).log2(), cell.lost))
        .collect();
    let what = format!(
        "{workload}, 1,000 Hz: the time lost grows with the logarithm of processes (share of its spread that a line explains)"
    );
    fit(what, &at)
}

fn fit(what: String, at: &[(f64, f64)]) -> Option<Comparison> {
    let Fit { explained, .. } = straight_line(at)?;
    Some(Comparison::new(what, Quantity::Fit, Some(1.0), explained).by("law"))
}

/// The paper says of this grid: "A detour of 16 µs does not affect the operation significantly". Compares ours with
/// the longest detour.
fn short_detours(workload: &str, cells: &[&Cell]) -> Option<Comparison> {
    let scale = largest_scale(cells);
    let at = |microseconds: f64| {
        cells.iter().find(|cell| cell.processes == scale && (cell.detour * 1e6 - microseconds).abs() < 0.5)
    };
    let (short, long) = (at(16.0)?, at(200.0)?);
    let what = format!("{workload}, 1,000 Hz: slowdown by 16 µs as a share of that by 200 µs: small");
    Some(Comparison::new(what, Quantity::Share, None, short.largest / long.largest))
}

/// Detours and frequencies at the largest scale.
fn heat(workload: &str, cells: &[&Cell], command: &str) -> Chart {
    let scale = largest_scale(cells);
    let mut xs: Vec<f64> = cells.iter().map(|cell| cell.detour).collect();
    let mut ys: Vec<f64> = cells.iter().map(|cell| cell.hertz).collect();
    for list in [&mut xs, &mut ys] {
        list.sort_unstable_by(f64::total_cmp);
        list.dedup();
    }
    let value = |x: f64, y: f64| {
        let there = |cell: &&&Cell| cell.processes == scale && cell.detour == x && cell.hertz == y;
        cells.iter().find(there).map_or(f64::NAN, |cell| cell.largest)
    };
    let values = ys.iter().flat_map(|&y| xs.iter().map(move |&x| (x, y))).map(|(x, y)| value(x, y)).collect();
    let plot = Heat {
        x: Axis::new("detour", Unit::Seconds, Scale::Log10),
        y: Axis::new("frequency", Unit::Hertz, Scale::Log10),
        value: Axis::linear("largest slowdown", Unit::Slowdown),
        xs,
        ys,
        values,
    };
    Chart::new(format!("{workload}: largest slowdown at {scale} processes"), command, plot)
}
