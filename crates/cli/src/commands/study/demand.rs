//! Resources of a study that runs in a job.

use crate::args::study::Run;
use crate::console::Console;
use crate::exit::Outcome;
use crate::inputs::study::read_study;
use crate::memory::{Demand, free_disk_bytes};
use crate::plan::valid::Check;
use crate::work::study::{plan_of, refuse_too_large};
use std::path::Path;

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
