//! `straggler study check`: the resources that a study needs.

use crate::args::Common;
use crate::kernel::console::Console;
use crate::kernel::devices::threads;
use crate::kernel::exit::Outcome;
use crate::kernel::memory::{Demand, available_bytes, free_disk_bytes, in_words, seconds_for};
use crate::kernel::valid::Check;
use crate::study::args::Run;
use crate::study::file::read_study;
use crate::study::work::{plan_of, refuse_too_large, top_not_run};
use std::path::Path;
use straggler_analysis::study::{Study, Sweep};
use straggler_report::Table;
use straggler_report::numbers::{counted, grouped, memory, rounded};

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

pub fn run(file: &Path, common: &Common, console: &Console) -> Outcome<()> {
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
