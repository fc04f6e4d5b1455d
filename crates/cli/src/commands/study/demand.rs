//! What a study takes where it is not run here.

use super::driver::{plan_of, refuse_too_large};
use super::{folder_of, read_study};
use crate::args::study::Run;
use crate::console::Console;
use crate::exit::Outcome;
use crate::memory::{Demand, free_disk_bytes};
use std::path::Path;

/// Reads and checks the study as `study check` does, but for this machine's own memory. Runs are not divided: every rank
/// must hold the largest.
pub fn demand(typed: &Run, console: &Console) -> Outcome<Demand> {
    let study = read_study(&typed.file)?;
    let folder = folder_of(typed)?;
    let plan = plan_of(&study, Some(&typed.file))?;
    plan.warnings.iter().for_each(|warning| console.warn(warning));
    let needs = plan.needs();
    let there = folder.ancestors().find(|place| place.is_dir()).unwrap_or(Path::new("."));
    refuse_too_large(&needs, None, free_disk_bytes(there))?;
    Ok(Demand { spread_bytes: 0, each_bytes: needs.memory_bytes })
}
